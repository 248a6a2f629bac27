//! A complete bzip2 stream per block.
//!
//! bzip2 works on blocks of 100 to 900 KB, so the level only bounds memory:
//! RocksDB always writes level 1, and so does this encoder unless told otherwise.

use bzip2::{Action, Compress, Compression, Decompress, Status};
use ferrock_base::{Error, Result};

use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
use super::output;

/// libbz2's default effort before it falls back to the slower, safe sort.
const WORK_FACTOR: u32 = 30;

/// Replaces `out` with the decoded stream. `claimed` is the size prefix, absent in format versions 0 and 1.
pub(super) fn decompress(payload: &[u8], claimed: Option<u64>, max_size: usize, out: &mut Vec<u8>) -> Result<()> {
    let limit = match claimed {
        // Runs are collapsed before the sort, so no useful ratio bounds the output:
        // `grow_output` follows what is produced instead.
        Some(size) => output::check_claimed_size("bzip2", size, usize::MAX, max_size)?,
        None => max_size,
    };
    let mut decoder = Decompress::new(false);
    out.clear();
    let mut consumed = 0;
    let mut produced = 0;
    loop {
        output::grow_output(out, produced, payload.len(), limit);
        let (in_before, out_before) = (decoder.total_in(), decoder.total_out());
        let status = decoder
            .decompress(&payload[consumed..], &mut out[produced..])
            .map_err(|error| Error::corruption(format!("bzip2 block: {error}")))?;
        let read = usize::try_from(decoder.total_in() - in_before).unwrap_or(usize::MAX);
        let written = usize::try_from(decoder.total_out() - out_before).unwrap_or(usize::MAX);
        consumed += read;
        produced += written;
        if status == Status::StreamEnd {
            break;
        }
        if produced == limit && read == 0 && written == 0 {
            return Err(Error::corruption(format!("bzip2 block expands beyond {limit} bytes")));
        }
        if read == 0 && written == 0 {
            return Err(Error::corruption("bzip2 block ends in the middle of its stream"));
        }
    }
    if consumed != payload.len() {
        return Err(Error::corruption(format!("bzip2 block has {} bytes after its stream", payload.len() - consumed)));
    }
    out.truncate(produced);
    match claimed {
        Some(_) => output::check_exact_size("bzip2", produced, limit),
        None => Ok(()),
    }
}

/// bzip2 keeps nothing between blocks but its level.
pub(super) struct Encoder {
    level: u32,
}

impl Encoder {
    pub(super) fn new(options: &CompressionOptions) -> Self {
        let level = match options.level {
            DEFAULT_COMPRESSION_LEVEL => 1,
            level => level.clamp(1, 9).unsigned_abs(),
        };
        Self { level }
    }

    /// Appends the stream if it takes at most `limit` bytes.
    pub(super) fn compress(&mut self, raw: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + limit, 0);
        let mut encoder = Compress::new(Compression::new(self.level), WORK_FACTOR);
        let mut consumed = 0;
        loop {
            let written = usize::try_from(encoder.total_out()).unwrap_or(usize::MAX);
            let status = encoder.compress(&raw[consumed..], &mut out[start + written..], Action::Finish);
            let progressed = encoder.total_out() as usize > written || encoder.total_in() as usize > consumed;
            consumed = usize::try_from(encoder.total_in()).unwrap_or(usize::MAX);
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(_) if progressed => {}
                _ => return false,
            }
        }
        let written = usize::try_from(encoder.total_out()).unwrap_or(usize::MAX);
        out.truncate(start + written);
        true
    }
}
