//! `load`: writes what `dump` printed, line by line: `key ==> value`.

use crate::Result;
use crate::arguments::Request;
use crate::database::open_for_writing;
use crate::text::Texts;
use crate::{Failure, text};
use ferrock::{CompactRangeOptions, FlushOptions, WriteBatch, WriteOptions};
use std::io::{BufRead, Write};

const DELIMITER: &[u8] = b" ==> ";
/// Lines are written together up to so many bytes.
const BATCH_SIZE_BYTES: usize = 1 << 20;

pub(super) fn run(request: &Request, input: &mut dyn BufRead) -> Result<()> {
    let texts = request.texts();
    let is_bulk = request.is_set("bulk_load");
    let opened = open_for_writing(request)?;
    if is_bulk {
        opened.db.set_options_cf(&opened.family, &[("disable_auto_compactions", "true")])?;
    }
    let options = WriteOptions { disable_wal: is_bulk || request.is_set("disable_wal"), ..WriteOptions::default() };
    let mut batch = WriteBatch::new();
    each_entry(texts, input, |key, value| {
        batch.put_cf(opened.family.id(), &key, &value)?;
        if batch.byte_size() >= BATCH_SIZE_BYTES {
            opened.write(std::mem::take(&mut batch), &options)?;
        }
        Ok(())
    })?;
    opened.write(batch, &options)?;
    if options.disable_wal {
        opened.db.flush_cf(&opened.family, &FlushOptions::default())?;
    }
    if is_bulk {
        opened.db.set_options_cf(&opened.family, &[("disable_auto_compactions", "false")])?;
    }
    if request.is_set("compact") {
        opened.db.compact_range_cf(&opened.family, None, None, &CompactRangeOptions::default())?;
    }
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}

/// Shows `visit` key and value of each line; says how many lines have none.
pub(super) fn each_entry(
    texts: Texts,
    input: &mut dyn BufRead,
    mut visit: impl FnMut(Vec<u8>, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let (mut bad_lines, mut line) = (0_u64, Vec::new());
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::NotDone(format!("standard input: {error}")))? == 0 {
            break;
        }
        match entry(line.strip_suffix(b"\n").unwrap_or(&line), texts) {
            Some((key, value)) => visit(key, value)?,
            // The last line of a dump.
            None if line.starts_with(b"Keys in range:") => {}
            None if line.starts_with(b"Created bg thread 0x") => {}
            None => bad_lines += 1,
        }
    }
    if bad_lines > 0 {
        let _ = writeln!(std::io::stderr(), "Warning: {bad_lines} bad lines ignored.");
    }
    Ok(())
}

/// Key and value of a line.
fn entry(line: &[u8], texts: Texts) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = line.windows(DELIMITER.len()).position(|window| window == DELIMITER)?;
    let read = |bytes: &[u8], is_hex: bool| match is_hex {
        true => text::from_hexadecimal(std::str::from_utf8(bytes).ok()?).ok(),
        false => Some(bytes.to_vec()),
    };
    Some((read(&line[..at], texts.is_key_hex)?, read(&line[at + DELIMITER.len()..], texts.is_value_hex)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_dump() {
        let plain = Texts::default();
        let hex = Texts { is_key_hex: true, is_value_hex: true };
        assert_eq!(entry(b"a ==> b", plain), Some((b"a".to_vec(), b"b".to_vec())));
        assert_eq!(entry(b" ==>  ==> ", plain), Some((Vec::new(), b" ==> ".to_vec())), "the first delimiter counts");
        assert_eq!(entry(b"0x61 ==> 0x", hex), Some((b"a".to_vec(), Vec::new())));
        for wrong in [&b"a => b"[..], b"", b"0x61 ==> 62", b"\xff\xff ==> 0x00"] {
            assert_eq!(entry(wrong, hex), None);
        }
    }
}
