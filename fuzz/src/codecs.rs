//! Decoded blocks beside those of the C libraries: LZ4 and Zstandard.

use ferrock_base::coding::get_varint64;
use ferrock_format::compression::CompressionType;
use zstd_safe::DCtx;

/// Asserts that `ours`, the content of the block or `None` if it was refused, is what C makes of it.
pub fn compare_with_c(
    compression_type: CompressionType,
    payload: &[u8],
    dictionary: &[u8],
    max_size: usize,
    ours: Option<Vec<u8>>,
) {
    let Some((claimed, prefix)) = get_varint64(payload) else { return };
    let Some(claimed) = usize::try_from(claimed).ok().filter(|claimed| *claimed <= max_size) else { return };
    let stream = &payload[prefix..];
    match compression_type {
        // The crate has no function for blocks with a dictionary.
        CompressionType::Lz4 | CompressionType::Lz4Hc if dictionary.is_empty() => {
            let c = lz4(stream, claimed);
            // The one thing that C accepts and we refuse.
            if ours.is_some() || !has_zero_distance(stream) {
                assert!(ours == c, "LZ4: ours {:?}, C's {:?}", ours.map(|ours| ours.len()), c.map(|c| c.len()));
            }
        }
        // C accepts blocks that are larger than the format allows, and more than one frame.
        CompressionType::Zstd => {
            if let Some(ours) = ours {
                let mut c = vec![0; claimed];
                let written = DCtx::create().decompress_using_dict(&mut c[..], stream, dictionary);
                assert!(written == Ok(claimed), "Zstandard: C says {written:?}");
                assert!(ours == c, "Zstandard: other bytes than C's");
            }
        }
        _ => {}
    }
}

fn lz4(block: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut out = vec![0u8; size];
    let accepted = i32::try_from(size).expect("claims are bounded");
    let written = lz4::block::decompress_to_buffer(block, Some(accepted), &mut out).ok()?;
    (written == size).then_some(out)
}

/// True if one of the sequences of a block has the distance 0.
fn has_zero_distance(block: &[u8]) -> bool {
    let mut bytes = block.iter().copied();
    let long = |short: u8, bytes: &mut std::iter::Copied<std::slice::Iter<'_, u8>>| {
        let mut length = usize::from(short);
        let mut goes_on = short == 15;
        while goes_on {
            let Some(more) = bytes.next() else { break };
            length += usize::from(more);
            goes_on = more == 255;
        }
        length
    };
    while let Some(token) = bytes.next() {
        let literals = long(token >> 4, &mut bytes);
        if literals > 0 {
            bytes.nth(literals - 1);
        }
        let (Some(low), Some(high)) = (bytes.next(), bytes.next()) else { return false };
        if (low, high) == (0, 0) {
            return true;
        }
        long(token & 15, &mut bytes);
    }
    false
}
