//! Makes checksums right, so that a mutation reaches what lies behind them.

use ferrock_base::checksum::{crc32c, mask_crc};

const BLOCK_SIZE_BYTES: usize = 32 << 10;

/// Gives every physical record of a log or MANIFEST the checksum of what it holds.
pub fn log_checksums(log: &mut [u8]) {
    for block in log.chunks_mut(BLOCK_SIZE_BYTES) {
        let mut at = 0;
        while at + 7 <= block.len() {
            let length = usize::from(u16::from_le_bytes([block[at + 4], block[at + 5]]));
            let kind = block[at + 6];
            // Recyclable records have the number of their log in the header.
            let header = if matches!(kind, 5..=8 | 11 | 131) { 11 } else { 7 };
            let end = at + header + length;
            if end > block.len() {
                break;
            }
            if kind != 0 || length != 0 {
                let checksum = mask_crc(crc32c(&block[at + 6..end])).to_le_bytes();
                block[at..at + 4].copy_from_slice(&checksum);
            }
            at = end;
        }
    }
}

/// Says in the footer of a block-based table of format_version 1 to 5 that blocks have no checksums.
pub fn no_table_checksums(table: &mut [u8]) {
    const FOOTER_SIZE: usize = 53;
    let Some(footer_at) = table.len().checked_sub(FOOTER_SIZE) else { return };
    let footer = &mut table[footer_at..];
    if matches!(footer[FOOTER_SIZE - 12..FOOTER_SIZE - 8], [1..=5, 0, 0, 0]) {
        footer[0] = 0;
    }
}
