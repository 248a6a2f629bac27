//! Which blob files entries refer to, and how much of them.
//!
//! A compaction that reads `n` references into a file and writes `m` has made `n - m` of its records garbage, whatever
//! happened to each: hidden, deleted, merged over or filtered. So it is enough to count on both sides.

use crate::version::Version;
use ferrock_base::internal_key::user_key;
use ferrock_base::{FileNumber, Result, ValueType};
use ferrock_format::blob_file::BLOB_RECORD_HEADER_SIZE;
use ferrock_format::blob_index::{BlobIndex, BlobReference};
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage};
use ferrock_format::wide_column::decode_entity;
use std::collections::BTreeMap;

/// First byte of entities that can have no references.
const ENTITY_VERSION_WITHOUT_REFERENCES: u8 = 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Referenced {
    records: u64,
    bytes: u64,
}

/// References counted by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFlow {
    files: BTreeMap<FileNumber, Referenced>,
}

/// Calls `visit` with every reference that an entry of this type has.
///
/// # Errors
/// `Corruption` when a reference or an entity cannot be decoded.
#[inline]
pub fn for_each_reference(
    value_type: ValueType,
    value: &[u8],
    visit: impl FnMut(&BlobReference) -> Result<()>,
) -> Result<()> {
    match value_type {
        ValueType::BlobIndex => visit_index(value, visit),
        ValueType::WideColumnEntity if value.first() != Some(&ENTITY_VERSION_WITHOUT_REFERENCES) => {
            visit_entity(value, visit)
        }
        _ => Ok(()),
    }
}

fn visit_index(index: &[u8], mut visit: impl FnMut(&BlobReference) -> Result<()>) -> Result<()> {
    match BlobIndex::decode(index)? {
        BlobIndex::Reference { reference, .. } => visit(&reference),
        BlobIndex::Inlined { .. } => Ok(()),
    }
}

fn visit_entity(entity: &[u8], mut visit: impl FnMut(&BlobReference) -> Result<()>) -> Result<()> {
    let columns = decode_entity(entity)?;
    let mut indexes = columns.iter().filter(|column| column.is_blob_index);
    indexes.try_for_each(|column| visit_index(column.value, &mut visit))
}

impl BlobFlow {
    /// Counts one reference of an entry.
    pub fn add(&mut self, internal_key: &[u8], reference: &BlobReference) {
        let record_bytes = (BLOB_RECORD_HEADER_SIZE + user_key(internal_key).len()) as u64;
        let file = self.files.entry(reference.file_number).or_default();
        file.records += 1;
        file.bytes = file.bytes.saturating_add(record_bytes).saturating_add(reference.size_bytes);
    }

    /// Counts the references of an entry.
    #[inline]
    pub(crate) fn add_entry(&mut self, internal_key: &[u8], value_type: ValueType, value: &[u8]) -> Result<()> {
        for_each_reference(value_type, value, |reference| {
            self.add(internal_key, reference);
            Ok(())
        })
    }

    /// Counts references into a file that another process has counted.
    pub fn add_counted(&mut self, number: FileNumber, records: u64, bytes: u64) {
        let file = self.files.entry(number).or_default();
        file.records = file.records.saturating_add(records);
        file.bytes = file.bytes.saturating_add(bytes);
    }

    /// Each file, with the number of references and the bytes of the records that they refer to.
    pub fn counted(&self) -> impl Iterator<Item = (FileNumber, u64, u64)> {
        self.files.iter().map(|(number, file)| (*number, file.records, file.bytes))
    }

    /// References into one file, and the bytes of the records that they refer to.
    #[must_use]
    pub fn of_file(&self, number: FileNumber) -> (u64, u64) {
        self.files.get(&number).map_or((0, 0), |file| (file.records, file.bytes))
    }

    /// Counts the references of `other` too.
    pub fn absorb(&mut self, other: &Self) {
        for (number, more) in &other.files {
            let file = self.files.entry(*number).or_default();
            file.records = file.records.saturating_add(more.records);
            file.bytes = file.bytes.saturating_add(more.bytes);
        }
    }

    /// The MANIFEST record of a file that the MANIFEST lacks and to which these are all the references; `None` without
    /// any. It counts at least as many records as references, so that later garbage cannot exceed it.
    pub fn adopt(&self, file: &BlobFileAddition) -> Option<(BlobFileAddition, Option<BlobFileGarbage>)> {
        let kept = self.files.get(&file.number).filter(|kept| kept.records > 0)?;
        let total_blob_bytes = file.total_blob_bytes.max(kept.bytes);
        // What damage has left between records counts as one.
        let is_more = u64::from(total_blob_bytes > kept.bytes);
        let addition = BlobFileAddition {
            total_blob_count: file.total_blob_count.max(kept.records + is_more),
            total_blob_bytes,
            ..file.clone()
        };
        let garbage = BlobFileGarbage {
            number: file.number,
            garbage_blob_count: addition.total_blob_count - kept.records,
            garbage_blob_bytes: addition.total_blob_bytes - kept.bytes,
        };
        Some((addition, (garbage.garbage_blob_count > 0).then_some(garbage)))
    }

    /// The garbage of a job that read the references `self` and wrote `written`. Files that the version does not have
    /// are left out, as their contents are unknown.
    pub fn garbage(&self, written: &Self, version: &Version) -> Vec<BlobFileGarbage> {
        let known = self.files.iter().filter(|(number, _)| version.blob_files().contains_key(number));
        let garbage = known.map(|(number, read)| {
            let kept = written.files.get(number).copied().unwrap_or_default();
            BlobFileGarbage {
                number: *number,
                garbage_blob_count: read.records.saturating_sub(kept.records),
                garbage_blob_bytes: read.bytes.saturating_sub(kept.bytes),
            }
        });
        garbage.filter(|garbage| garbage.garbage_blob_count > 0).collect()
    }
}
