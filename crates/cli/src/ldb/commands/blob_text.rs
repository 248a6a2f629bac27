//! A blob file, record by record, as RocksDB's tools print it.
//!
//! ```text
//! Blob log header: ...      version, family, compression
//! Blob log footer: ...      or that there is none
//! Read record with offset 0x1e (30): ...
//! Summary: ...
//! ```

use crate::Result;
use ferrock::Error;
use ferrock::options::CompressionType;
use ferrock_format::blob_file::{
    BLOB_COMPRESSION_FORMAT_VERSION, BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE, BLOB_FILE_VERSION,
    BLOB_RECORD_HEADER_SIZE, BlobFileFooter, BlobFileHeader, BlobRecordHeader, ExpirationRange,
};
use ferrock_format::compression::decompress;
use ferrock_vfs::{RandomAccessFile, RandomAccessOptions, ReadContext, default_file_system, read_owned};
use std::io::Write;
use std::path::Path;

/// Values of this size at most are decompressed: what a claimed size may make the tool reserve.
const MOST_VALUE_BYTES: usize = 1 << 32;

#[derive(Debug, Default)]
struct Sums {
    records: u64,
    key_bytes: u64,
    stored_bytes: u64,
    raw_bytes: u64,
}

/// Prints the file. With `is_raw` values are decompressed.
pub(super) fn print(path: &Path, is_raw: bool, out: &mut dyn Write) -> Result<()> {
    let file = default_file_system().open_random_access(path, &RandomAccessOptions::default())?;
    let read = |offset: u64, length: usize| read_owned(&*file, offset, length, &ReadContext::default());
    let header = BlobFileHeader::decode(&read(0, BLOB_FILE_HEADER_SIZE)?).map_err(|error| error.in_file(path))?;
    print_header(&header, out)?;
    let end = print_footer(&*file, out)?;
    let mut sums = Sums::default();
    let mut offset = BLOB_FILE_HEADER_SIZE as u64;
    while offset < end {
        let at = |error: Error| error.offset_by(offset).in_file(path);
        let record = BlobRecordHeader::decode(&read(offset, BLOB_RECORD_HEADER_SIZE)?).map_err(at)?;
        let next = record.record_size().and_then(|size| offset.checked_add(size)).filter(|next| *next <= end);
        let Some(next) = next else {
            return Err(at(Error::corruption("blob record goes beyond the end of the records")).into());
        };
        writeln!(out, "Read record with offset 0x{offset:x} ({offset}):")?;
        writeln!(out, "  key size   : {}\n  value size : {}", record.key_size, record.value_size)?;
        writeln!(out, "  expiration : {}", record.expiration_secs)?;
        let body_offset = offset + BLOB_RECORD_HEADER_SIZE as u64;
        let body = read(body_offset, usize::try_from(next - body_offset).unwrap_or(usize::MAX))?;
        let key_size = usize::try_from(record.key_size).unwrap_or(usize::MAX);
        let Some((key, stored)) = body.split_at_checked(key_size) else {
            return Err(at(Error::corruption("the file ends within a blob record")).into());
        };
        print_bytes("  key        : ", key, out)?;
        let raw = raw_value(header.compression, stored).map_err(at)?;
        match &raw {
            Some(raw) if is_raw => print_bytes("  raw blob   : ", raw, out)?,
            _ if is_raw => print_bytes("  raw blob   : ", stored, out)?,
            _ => print_bytes("  blob       : ", stored, out)?,
        }
        sums.records += 1;
        sums.key_bytes += record.key_size;
        sums.stored_bytes += record.value_size;
        sums.raw_bytes += raw.map_or(record.value_size, |raw| raw.len() as u64);
        offset = next;
    }
    writeln!(out, "Summary:\n  total records: {}\n  total key size: {}", sums.records, sums.key_bytes)?;
    writeln!(out, "  total blob size: {}", sums.stored_bytes)?;
    if header.compression != CompressionType::NoCompression.as_u8() {
        writeln!(out, "  total raw blob size: {}", sums.raw_bytes)?;
    }
    Ok(())
}

fn range(range: ExpirationRange) -> String {
    if range == (0, 0) { "nil".to_owned() } else { format!("({}, {})", range.0, range.1) }
}

fn print_header(header: &BlobFileHeader, out: &mut dyn Write) -> Result<()> {
    let compression = CompressionType::try_from(header.compression).map(CompressionType::option_name);
    let compression = compression.map_or_else(|_| format!("unknown ({})", header.compression), str::to_owned);
    writeln!(out, "Blob log header:\n  Version          : {BLOB_FILE_VERSION}")?;
    writeln!(out, "  Column Family ID : {}\n  Compression      : {compression}", header.column_family_id)?;
    writeln!(out, "  Expiration range : {}", range(header.expiration_range))?;
    Ok(())
}

/// Where the records end.
fn print_footer(file: &dyn RandomAccessFile, out: &mut dyn Write) -> Result<u64> {
    let around = (BLOB_FILE_HEADER_SIZE + BLOB_FILE_FOOTER_SIZE) as u64;
    let size = file.size();
    let footer = match size >= around {
        true => {
            let begin = size - BLOB_FILE_FOOTER_SIZE as u64;
            let bytes = read_owned(file, begin, BLOB_FILE_FOOTER_SIZE, &ReadContext::default())?;
            BlobFileFooter::decode(&bytes).ok().map(|footer| (footer, begin))
        }
        false => None,
    };
    let Some((footer, begin)) = footer else {
        writeln!(out, "No blob log footer.")?;
        return Ok(size);
    };
    writeln!(out, "Blob log footer:\n  Blob count       : {}", footer.blob_count)?;
    writeln!(out, "  Expiration Range : {}", range(footer.expiration_range))?;
    Ok(begin)
}

fn print_bytes(title: &str, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
    out.write_all(title.as_bytes())?;
    out.write_all(bytes)?;
    writeln!(out)?;
    Ok(())
}

/// The value of a file of compressed values; `None` where values are as they are.
fn raw_value(compression: u8, stored: &[u8]) -> ferrock::Result<Option<Vec<u8>>> {
    let compression = CompressionType::try_from(compression)?;
    if compression == CompressionType::NoCompression {
        return Ok(None);
    }
    decompress(compression, stored, BLOB_COMPRESSION_FORMAT_VERSION, None, MOST_VALUE_BYTES).map(Some)
}
