//! Bounds of what a codec may produce.

use ferrock_base::{Error, Result};

/// Refuses a claimed size beyond what the payload can hold or the caller accepts.
pub(super) fn check_claimed_size(codec: &str, claimed: u64, bound: usize, max_size: usize) -> Result<usize> {
    match usize::try_from(claimed) {
        Ok(size) if size <= bound && size <= max_size => Ok(size),
        _ => Err(Error::corruption(format!(
            "{codec} block claims {claimed} bytes; its payload holds at most {bound} and {max_size} are accepted"
        ))),
    }
}

pub(super) fn check_exact_size(codec: &str, actual: usize, claimed: usize) -> Result<()> {
    if actual == claimed {
        return Ok(());
    }
    Err(Error::corruption(format!("{codec} block decodes to {actual} bytes, {claimed} are claimed")))
}

/// Makes room after the `produced` bytes of `out`: at first for what an ordinary
/// ratio gives, then twice what there is, never beyond `limit`.
pub(super) fn grow_output(out: &mut Vec<u8>, produced: usize, payload_size: usize, limit: usize) {
    const ORDINARY_RATIO: usize = 8;
    const SMALLEST: usize = 4096;
    if produced < out.len() {
        return;
    }
    let wanted = if out.is_empty() {
        payload_size.saturating_mul(ORDINARY_RATIO).max(SMALLEST)
    } else {
        out.len().saturating_mul(2)
    };
    out.resize(wanted.min(limit).max(produced), 0);
}
