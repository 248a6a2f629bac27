//! Completing a blob file whose writer was cut off.
//!
//! ```text
//! header | record | record | record, to|              what a crash or a failed append leaves
//! header | record | record | footer                   complete: whole records, as many as there are from the start
//! ```
//!
//! - Behind a crash the file is completed in place. A second crash on the way leaves one that can be completed.
//! - While the database is open a file that failed is copied, for of bytes that a failed sync was to make durable none
//!   is known to be on the disk. Records keep their places, so references hold for both.
//!
//! A record behind damage can be whole: the system writes pages in any order. Where a reference to such a record is
//! kept, by a recovery that passes over damage, nothing is cut away.

use super::DirectPlace;
use super::file_reader::{BlobFileReader, FooterRule};
use ferrock_base::file_checksum::generator_for;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::blob_file::{BLOB_FILE_HEADER_SIZE, BlobFileFooter};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_vfs::{FileSystem, RandomAccessOptions, WritableOptions, WritePurpose, summed};
use std::path::Path;

const HEADER: u64 = BLOB_FILE_HEADER_SIZE as u64;

/// How a file is written anew, or its end.
pub(super) fn writable_options() -> WritableOptions {
    WritableOptions::for_purpose(WritePurpose::Table)
}

/// Appends the footer of a file to `bytes`, and tells what the MANIFEST is to know of it.
pub(super) fn footer(number: FileNumber, count: u64, record_bytes: u64) -> (Vec<u8>, BlobFileAddition) {
    let footer = BlobFileFooter { blob_count: count, expiration_range: (0, 0) };
    let addition = BlobFileAddition {
        number,
        total_blob_count: count,
        total_blob_bytes: record_bytes,
        ..BlobFileAddition::default()
    };
    (footer.encode(), addition)
}

/// Completes a file in place that a crash has left without footer. References to it end at `needed_end` at most.
///
/// # Errors
/// Of the file system; `Corruption` when the header is damaged.
pub fn complete_file(
    file_system: &dyn FileSystem,
    directory: &Path,
    number: FileNumber,
    column_family_id: u32,
    needed_end: u64,
) -> Result<BlobFileAddition> {
    let path = directory.join(file_name::blob(number));
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default())?;
    let size = file.size();
    let reader = BlobFileReader::open(file, column_family_id, FooterRule::Absent)?;
    let (whole_end, count) = reader.whole_records()?;
    drop(reader);
    let end = if whole_end < needed_end { size } else { whole_end };
    if end < size {
        file_system.truncate(&path, end)?;
    }
    let (footer, addition) = footer(number, count, end.saturating_sub(HEADER));
    let mut file = file_system.reopen_writable(&path, &writable_options())?;
    file.append(&footer)?;
    file.sync()?;
    file.close()?;
    file_system.sync_dir(directory)?;
    Ok(addition)
}

/// Puts a complete copy of the first `end` bytes of a file in its place.
///
/// # Errors
/// Of the file system; `Corruption` when these bytes are not what was written.
pub(super) fn replace_by_copy(place: &DirectPlace, number: FileNumber, end: u64) -> Result<BlobFileAddition> {
    let temp = place.directory.join(file_name::temp(number));
    let copied = copy_to(place, number, end, &temp);
    if copied.is_err() {
        // It may be what fills the disk.
        let _ = place.file_system.remove_file(&temp);
    }
    copied
}

fn copy_to(place: &DirectPlace, number: FileNumber, end: u64, temp: &Path) -> Result<BlobFileAddition> {
    let file_system = &*place.file_system;
    let path = place.directory.join(file_name::blob(number));
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default())?;
    let reader = BlobFileReader::open(file, place.column_family_id, FooterRule::Absent)?;
    let copy = file_system.create_writable(temp, &writable_options())?;
    let (mut copy, sum) = summed(copy, generator_for(place.checksums.as_ref(), &path));
    let mut count = 0;
    copy.append(&reader.header_bytes())?;
    let mut offset = HEADER;
    while offset < end {
        let record = reader.record_bytes(offset)?;
        copy.append(&record)?;
        offset += record.len() as u64;
        count += 1;
    }
    if offset != end {
        return Err(Error::corruption("a record goes beyond what was written").in_file(&path).at_offset(end));
    }
    let (footer, addition) = footer(number, count, end.saturating_sub(HEADER));
    copy.append(&footer)?;
    copy.sync()?;
    copy.close()?;
    file_system.rename(temp, &path)?;
    file_system.sync_dir(&place.directory)?;
    Ok(addition.with_checksum(sum.finish()))
}
