//! The rules between the files of a tree.
//!
//! RocksDB checks the same rules (`force_consistency_checks`). When they are broken in the MANIFEST that it opens, it
//! opens the family *empty* and deletes the tables. Here the open fails with an error that names the files and the
//! keys, and nothing is deleted: the tables are intact, and their data can still be recovered by hand.

use super::FileMetadata;
use super::blob_file::BlobFileMetadata;
use ferrock_base::{Error, FileNumber, InternalComparator, Result};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Order of level 0 by epoch: newest first. Files of one epoch come from one ingestion.
pub(super) fn newest_epoch_first(a: &FileMetadata, b: &FileMetadata) -> Ordering {
    b.epoch_number.cmp(&a.epoch_number).then_with(|| newest_sequence_first(a, b))
}

/// Order of level 0 where epochs are not known: newest first by sequence numbers.
pub(super) fn newest_sequence_first(a: &FileMetadata, b: &FileMetadata) -> Ordering {
    b.largest_seqno.cmp(&a.largest_seqno).then(b.smallest_seqno.cmp(&a.smallest_seqno)).then(b.number.cmp(&a.number))
}

/// Checks one level whose files are in order.
pub(super) fn check_level(comparator: &InternalComparator, level: usize, files: &[Arc<FileMetadata>]) -> Result<()> {
    for pair in files.windows(2) {
        let (left, right) = (&pair[0], &pair[1]);
        if level == 0 {
            let is_same_epoch = left.epoch_number.is_some() && left.epoch_number == right.epoch_number;
            if is_same_epoch && overlap(comparator, left, right) {
                return Err(broken("level 0 has files of the same epoch number with overlapping ranges", left, right));
            }
        } else if comparator.compare(&left.largest, &right.smallest) != Ordering::Less {
            return Err(broken(&format!("level {level} has files with overlapping ranges"), left, right));
        }
    }
    Ok(())
}

/// Checks the blob files against the tables.
pub(super) fn check_blob_files(
    blob_files: &BTreeMap<FileNumber, Arc<BlobFileMetadata>>,
    linked: &HashSet<FileNumber>,
) -> Result<()> {
    for (number, blob_file) in blob_files {
        if blob_file.is_all_garbage() && linked.contains(number) {
            return Err(Error::corruption(format!(
                "blob file #{number} consists entirely of garbage, but a table refers to it"
            )));
        }
    }
    Ok(())
}

fn overlap(comparator: &InternalComparator, a: &FileMetadata, b: &FileMetadata) -> bool {
    comparator.compare(&a.smallest, &b.largest).is_le() && comparator.compare(&b.smallest, &a.largest).is_le()
}

fn broken(what: &str, left: &FileMetadata, right: &FileMetadata) -> Error {
    let describe = |file: &FileMetadata| {
        format!(
            "#{} [{} .. {}] epoch {}",
            file.number,
            printable(&file.smallest),
            printable(&file.largest),
            file.epoch_number.map_or_else(|| "unknown".to_owned(), |epoch| epoch.to_string())
        )
    };
    Error::corruption(format!(
        "{what}: {} and {}. No file was changed; open with force_consistency_checks=false to read what is there",
        describe(left),
        describe(right)
    ))
}

/// An internal key for a message: user key as text with escapes, then sequence number and type.
pub(super) fn printable(internal_key: &[u8]) -> String {
    use ferrock_base::internal_key::{trailer, user_key};
    const SHOWN: usize = 64;
    let user_key = user_key(internal_key);
    let shown = user_key[..user_key.len().min(SHOWN)].escape_ascii();
    let more = if user_key.len() > SHOWN { "..." } else { "" };
    let packed = trailer(internal_key);
    format!("{shown}{more}@{}/{}", packed >> 8, packed & 0xFF)
}
