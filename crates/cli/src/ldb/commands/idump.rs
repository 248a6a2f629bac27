//! `idump`: every version of every key, as stored.
//!
//! ```text
//! 'key' seq:N, type:T => value
//! ```

use super::scan::print_stats;
use crate::Result;
use crate::arguments::Request;
use crate::database::open_for_reading;
use crate::text::digits;
use ferrock::{KeyVersion, ValueType};
use ferrock_console::text::blob_reference;
use std::io::Write;

pub(super) fn run(request: &Request, out: &mut dyn Write) -> Result<()> {
    let most = request.count("max_keys")?;
    let (from, to) = request.range()?;
    let opened = open_for_reading(request)?;
    if request.is_set("stats") {
        print_stats(&opened, out)?;
    }
    let mut versions = opened.db.key_versions(&opened.family, from.as_deref(), to.as_deref())?;
    let mut count = 0_u64;
    while count < most {
        let Some(version) = versions.current()? else { break };
        count += 1;
        if !request.is_set("count_only") {
            print(request, &version, out)?;
        }
        versions.advance();
    }
    writeln!(out, "Internal keys in range: {count}")?;
    Ok(())
}

fn print(request: &Request, version: &KeyVersion<'_>, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let show = |bytes: &[u8], is_hex: bool| if is_hex { digits(bytes).into_bytes() } else { bytes.to_vec() };
    out.write_all(b"'")?;
    out.write_all(&show(version.user_key, texts.is_key_hex))?;
    write!(out, "' seq:{}, type:{} => ", version.sequence.0, version.value_type as u8)?;
    if request.is_set("decode_blob_index") && version.value_type == ValueType::BlobIndex {
        writeln!(out, "{}", blob_reference(version.value)?)?;
    } else {
        out.write_all(&show(version.value, texts.is_value_hex))?;
        writeln!(out)?;
    }
    Ok(())
}
