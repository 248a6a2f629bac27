//! The intact records of a blob file.
//!
//! ```text
//! header | record ... | damaged | record ... | footer
//!                       \ byte by byte, up to the next header whose checksum is right
//! ```

use crate::report::{Finding, Problem};
use ferrock_base::Result;
use ferrock_base::hash::hash128;
use ferrock_format::blob_file::{
    BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE, BLOB_RECORD_HEADER_SIZE, BlobFileFooter, BlobFileHeader,
    BlobRecordHeader,
};
use ferrock_format::blob_index::BlobReference;
use ferrock_vfs::{FileSystem, read_file};
use std::collections::BTreeMap;
use std::path::Path;

/// What is known of a blob file.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlobFacts {
    /// Family in the header; `None` when that is damaged.
    pub(crate) family: Option<u32>,
    header: Option<BlobFileHeader>,
    /// Offset of the stored value -> size of the value, size of the record, hash of the key.
    records: BTreeMap<u64, (u64, u64, u64)>,
    pub(crate) findings: Vec<Finding>,
    /// The header has what no header has.
    pub(crate) needs_header: bool,
    /// The footer is damaged or missing.
    pub(crate) needs_footer: bool,
    /// It is another file than the one that was recorded.
    pub(crate) is_foreign: bool,
    /// Where the last intact record ends.
    pub(crate) records_end: u64,
}

impl BlobFacts {
    /// Reads a file; damage is in the result.
    pub(crate) fn read(files: &dyn FileSystem, path: &Path) -> Self {
        match read_file(files, path) {
            Ok(bytes) => Self::of(&bytes),
            Err(error) => Self { findings: vec![Finding::of(&error)], ..Self::default() },
        }
    }

    fn of(bytes: &[u8]) -> Self {
        let mut facts = Self { records_end: BLOB_FILE_HEADER_SIZE as u64, ..Self::default() };
        match BlobFileHeader::decode(bytes) {
            Ok(header) => {
                (facts.family, facts.header) = (Some(header.column_family_id), Some(header));
                if header.has_ttl || header.expiration_range != (0, 0) {
                    let what = "the header has expirations, which only the retired stacked BlobDB wrote";
                    facts.findings.push(Finding::at(Problem::Damaged, 0, what));
                    facts.needs_header = true;
                }
            }
            Err(error) => facts.findings.push(Finding::of(&error)),
        }
        let footer_start = bytes.len().saturating_sub(BLOB_FILE_FOOTER_SIZE).max(BLOB_FILE_HEADER_SIZE);
        let footer = bytes.get(footer_start..).and_then(|bytes| BlobFileFooter::decode(bytes).ok());
        let end = if footer.is_some() { footer_start } else { bytes.len() };
        if footer.is_none() {
            facts.findings.push(Finding::at(Problem::Damaged, footer_start as u64, "no intact footer"));
            facts.needs_footer = true;
        }
        facts.read_records(bytes.get(..end).unwrap_or_default());
        if let Some(footer) = footer
            && footer.blob_count != facts.count()
            && facts.findings.is_empty()
        {
            let what = format!("the footer counts {} records, and {} are there", footer.blob_count, facts.count());
            facts.findings.push(Finding::at(Problem::Damaged, footer_start as u64, what));
        }
        facts
    }

    fn read_records(&mut self, bytes: &[u8]) {
        let (mut position, mut damaged_from) = (BLOB_FILE_HEADER_SIZE, None);
        while position < bytes.len() {
            match record_at(bytes, position) {
                Ok((header, size)) => {
                    if let Some(from) = damaged_from.take() {
                        self.note_damage(from, position);
                    }
                    let value = position + size - header.value_size as usize;
                    let key = &bytes[position + BLOB_RECORD_HEADER_SIZE..value];
                    match header.verify_blob(key, &bytes[value..position + size]) {
                        Ok(()) => {
                            let hash = hash128(key, 0).0;
                            self.records.insert(value as u64, (header.value_size, size as u64, hash));
                            self.records_end = (position + size) as u64;
                        }
                        Err(error) => {
                            let what = error.message().to_owned();
                            self.findings.push(Finding::at(Problem::Damaged, position as u64, what));
                        }
                    }
                    position += size;
                }
                Err(_) => {
                    damaged_from.get_or_insert(position);
                    position += 1;
                }
            }
        }
        if let Some(from) = damaged_from {
            self.note_damage(from, bytes.len());
        }
    }

    fn note_damage(&mut self, from: usize, to: usize) {
        let what = format!("no record begins in these {} bytes", to - from);
        self.findings.push(Finding::at(Problem::Damaged, from as u64, what));
    }

    /// Intact records.
    pub(crate) fn count(&self) -> u64 {
        self.records.len() as u64
    }

    /// Bytes of intact records.
    pub(crate) fn bytes(&self) -> u64 {
        self.records.values().map(|(_, size, _)| size).sum()
    }

    /// False when no read of the database finds a record, intact or not.
    pub(crate) fn opens(&self) -> bool {
        self.header.is_some() && !(self.needs_header || self.needs_footer || self.is_foreign)
    }

    /// True when a file that a family refers to has to be written anew.
    pub(crate) fn needs_mending(&self, family: u32) -> bool {
        self.needs_footer || self.needs_header || self.family != Some(family)
    }

    /// The file with an intact header, and an intact footer behind its last intact record. Offsets of records stay.
    pub(crate) fn mended(&self, mut bytes: Vec<u8>, family: u32) -> Vec<u8> {
        bytes.truncate(usize::try_from(self.records_end).unwrap_or(usize::MAX));
        let compression = self.header.map_or(0, |header| header.compression);
        let header =
            BlobFileHeader { column_family_id: family, has_ttl: false, compression, expiration_range: (0, 0) }.encode();
        if let Some(start) = bytes.get_mut(..header.len()) {
            start.copy_from_slice(&header);
        }
        let footer = BlobFileFooter { blob_count: self.count(), expiration_range: (0, 0) };
        bytes.extend_from_slice(&footer.encode());
        bytes
    }

    /// The size of the record that the reference of a key means, when it is intact.
    pub(crate) fn record_of(&self, key: &[u8], reference: &BlobReference) -> Option<u64> {
        let (value_size, record_size, hash) = self.records.get(&reference.offset)?;
        let is_same = *value_size == reference.size_bytes
            && *hash == hash128(key, 0).0
            && self.header.map(|header| header.compression) == Some(reference.compression);
        is_same.then_some(*record_size)
    }
}

/// The header of the record that begins here, and the size of the whole record.
fn record_at(bytes: &[u8], position: usize) -> Result<(BlobRecordHeader, usize)> {
    let rest = bytes.get(position..).unwrap_or_default();
    let header = BlobRecordHeader::decode(&rest[..rest.len().min(BLOB_RECORD_HEADER_SIZE)])?;
    let size = header.record_size().and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= rest.len());
    let size = size.ok_or_else(|| ferrock_base::Error::corruption("a blob record behind the end of the file"))?;
    Ok((header, size))
}
