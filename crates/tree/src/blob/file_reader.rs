//! One open blob file.
//!
//! A reference comes from another file, so it is checked against this one before anything is read or allocated: its
//! range must lie between header and footer and leave room for record header and key. Then the record must match the
//! reference and the key: sizes, key bytes, checksums.
//!
//! A lookup may know the key by other bytes than those it was written with, where the order calls them equal. Then the
//! record is [searched](BlobFileReader::read_by_order) backward from the value, for it has no other beginning.

use crate::file_counts::BlobReadCounts;
use ferrock_base::{Comparator, Error, FileNumber, Result};
use ferrock_format::blob_file::{
    BLOB_COMPRESSION_FORMAT_VERSION, BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE, BLOB_RECORD_HEADER_SIZE,
    BlobFileFooter, BlobFileHeader, BlobRecordHeader,
};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compression::{CompressionType, decompress};
use ferrock_statistics::{Histogram, MeasureTimer, PerfMetric, PerfTimer};
use ferrock_vfs::{RandomAccessFile, ReadClass, ReadContext, ReadLabel, read_owned};
use std::borrow::Cow;
use std::sync::Arc;

/// Largest value: sizes in batches and tables have 32 bits.
const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// Bytes before a value in which its record's header is searched first.
const FIRST_SEARCH_BYTES: u64 = 4096;

const HEADER: u64 = BLOB_FILE_HEADER_SIZE as u64;
const FOOTER: u64 = BLOB_FILE_FOOTER_SIZE as u64;
const RECORD_HEADER: u64 = BLOB_RECORD_HEADER_SIZE as u64;

/// Whether a file must have a footer to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FooterRule {
    /// The MANIFEST has the file: it was closed properly.
    Required,
    /// The MANIFEST does not have it: its writer may have crashed, or is still writing.
    Absent,
}

/// The range of the file that is read for one value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlobExtent {
    pub(super) offset: u64,
    pub(super) length: usize,
    /// Bytes before the value: the record's header and key.
    before: usize,
}

/// Reads the values of one file.
#[derive(Debug)]
pub struct BlobFileReader {
    file: Arc<dyn RandomAccessFile>,
    header: BlobFileHeader,
    compression: CompressionType,
    /// Where the records end, or ended when the file was opened.
    end: u64,
    /// It was opened as one that may have no footer yet.
    may_grow: bool,
    /// Where reads of values are counted.
    counts: Option<BlobReadCounts>,
}

impl BlobFileReader {
    /// Checks header and footer. Errors name the file.
    pub(crate) fn open(file: Arc<dyn RandomAccessFile>, column_family_id: u32, rule: FooterRule) -> Result<Self> {
        Self::open_unnamed(&file, column_family_id, rule).map_err(|error| error.in_file(file.path()))
    }

    fn open_unnamed(file: &Arc<dyn RandomAccessFile>, column_family_id: u32, rule: FooterRule) -> Result<Self> {
        let size = file.size();
        let mut bytes = [0; BLOB_FILE_HEADER_SIZE];
        read_exact(&**file, 0, &mut bytes)?;
        let header = BlobFileHeader::decode(&bytes)?;
        if header.has_ttl || header.expiration_range != (0, 0) {
            return Err(Error::not_supported("blob file with expirations (written by the stacked BlobDB)"));
        }
        if header.column_family_id != column_family_id {
            return Err(Error::corruption(format!(
                "blob file of column family {}, not {column_family_id}",
                header.column_family_id
            ))
            .at_offset(8));
        }
        let compression = CompressionType::try_from(header.compression).map_err(|error| error.at_offset(13))?;
        let end = match rule {
            FooterRule::Required => {
                read_footer(&**file)?;
                size - FOOTER
            }
            // A value may look like a footer.
            FooterRule::Absent => size,
        };
        Ok(Self {
            file: Arc::clone(file),
            header,
            compression,
            end,
            may_grow: rule == FooterRule::Absent,
            counts: None,
        })
    }

    /// The same, whose reads of values are counted.
    pub(super) fn with_counts(self, counts: Option<BlobReadCounts>) -> Self {
        Self { counts, ..self }
    }

    /// Where reads of values are counted.
    pub(super) fn counts(&self) -> Option<&BlobReadCounts> {
        self.counts.as_ref()
    }

    /// False when the file was opened before the value was written.
    #[must_use]
    pub fn covers(&self, reference: &BlobReference) -> bool {
        !self.may_grow || reference.offset.saturating_add(reference.size_bytes) <= self.end
    }

    /// True for a file that was opened as one that may have no footer yet.
    pub(super) fn may_grow(&self) -> bool {
        self.may_grow
    }

    /// The bytes of the header.
    pub(super) fn header_bytes(&self) -> Vec<u8> {
        self.header.encode()
    }

    /// How far the records go that are whole, from the first one on, and how many they are.
    pub(super) fn whole_records(&self) -> Result<(u64, u64)> {
        let (mut offset, mut count) = (HEADER, 0);
        while offset < self.end {
            match self.verify_record(offset) {
                Ok(end) => (offset, count) = (end, count + 1),
                Err(error) if error.is_corruption() => break,
                Err(error) => return Err(self.in_file(error)),
            }
        }
        Ok((offset, count))
    }

    /// The record at an offset, verified.
    pub(super) fn record_bytes(&self, offset: u64) -> Result<Vec<u8>> {
        let end = self.verify_record(offset).map_err(|error| self.in_file(error))?;
        self.read_range(offset, end - offset, &ReadContext::default()).map_err(|error| self.in_file(error))
    }

    /// The value that `reference` refers to, stored for `user_key`. Errors name file and offset.
    pub(crate) fn read(
        &self,
        user_key: &[u8],
        reference: &BlobReference,
        verify_checksums: bool,
        context: &ReadContext,
    ) -> Result<Vec<u8>> {
        let extent = self.extent(user_key, reference, verify_checksums)?;
        let read = || read_owned(&*self.file, extent.offset, extent.length, context);
        let bytes = BlobReadCounts::around(self.counts.as_ref(), extent.length, read);
        let bytes = bytes.map_err(|error| self.in_file(error))?;
        self.value(user_key, reference, extent, Cow::Owned(bytes))
    }

    /// As [`read`](Self::read), for a key that `order` may call equal to the stored one, though its bytes differ.
    pub(crate) fn read_by_order(
        &self,
        user_key: &[u8],
        reference: &BlobReference,
        verify_checksums: bool,
        context: &ReadContext,
        order: &Comparator,
    ) -> Result<Vec<u8>> {
        let read = self.read(user_key, reference, verify_checksums, context);
        self.retry_by_order(read, user_key, reference, verify_checksums, context, order)
    }

    /// The outcome of a read that took the bytes of `user_key` for those of the stored key; of another one, if it has
    /// to be.
    pub(super) fn retry_by_order(
        &self,
        read: Result<Vec<u8>>,
        user_key: &[u8],
        reference: &BlobReference,
        verify_checksums: bool,
        context: &ReadContext,
        order: &Comparator,
    ) -> Result<Vec<u8>> {
        match read {
            Err(error) if error.is_corruption() && order.can_keys_with_different_bytes_be_equal() => {
                match self.stored_key(reference, context) {
                    Ok(Some(key)) if key != user_key && order.equal(&key, user_key) => {
                        self.read(&key, reference, verify_checksums, context)
                    }
                    _ => Err(error),
                }
            }
            read => read,
        }
    }

    /// The key of the record whose value is at the reference: the record's header is searched for, with the only sizes
    /// that it can have at each place, and its checksum.
    #[cold]
    fn stored_key(&self, reference: &BlobReference, context: &ReadContext) -> Result<Option<Vec<u8>>> {
        let limit = reference.offset.min(self.end).saturating_sub(HEADER);
        let mut length = FIRST_SEARCH_BYTES.min(limit);
        loop {
            let before = self.read_range(reference.offset.min(self.end) - length, length, context)?;
            for start in (0..(before.len() + 1).saturating_sub(BLOB_RECORD_HEADER_SIZE)).rev() {
                let key = &before[start + BLOB_RECORD_HEADER_SIZE..];
                let sizes = [key.len() as u64, reference.size_bytes];
                if before[start..start + 16].chunks(8).zip(sizes).all(|(bytes, size)| bytes == size.to_le_bytes())
                    && BlobRecordHeader::decode(&before[start..]).is_ok()
                {
                    return Ok(Some(key.to_vec()));
                }
            }
            if length == limit {
                return Ok(None);
            }
            length = length.saturating_mul(16).min(limit);
        }
    }

    /// The file, for a caller that reads the [`extent`](Self::extent) itself.
    pub(crate) fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    pub(super) fn in_file(&self, error: Error) -> Error {
        error.in_file(self.file.path())
    }

    /// The range to read for a value, including its record's header and key if these are checked.
    pub(super) fn extent(
        &self,
        user_key: &[u8],
        reference: &BlobReference,
        verify_checksums: bool,
    ) -> Result<BlobExtent> {
        let record_offset = self.check_range(user_key, reference).map_err(|error| self.in_file(error))?;
        let before = if verify_checksums { BLOB_RECORD_HEADER_SIZE + user_key.len() } else { 0 };
        let offset = if verify_checksums { record_offset } else { reference.offset };
        let value = usize::try_from(reference.size_bytes).ok();
        let Some(length) = value.and_then(|value| value.checked_add(before)) else {
            return Err(self.in_file(Error::corruption("blob larger than memory").at_offset(offset)));
        };
        Ok(BlobExtent { offset, length, before })
    }

    /// The bytes of an extent, which lies among the records, and of what follows it: `size` bytes if there are so many.
    pub(super) fn read_ahead(&self, extent: BlobExtent, size: usize, context: &ReadContext) -> Result<Vec<u8>> {
        let records = usize::try_from(self.end.saturating_sub(extent.offset)).unwrap_or(usize::MAX);
        let length = size.min(records).max(extent.length);
        let read = || read_owned(&*self.file, extent.offset, length, context);
        BlobReadCounts::around(self.counts.as_ref(), length, read).map_err(|error| self.in_file(error))
    }

    /// The value in the bytes of its extent.
    pub(super) fn value(
        &self,
        user_key: &[u8],
        reference: &BlobReference,
        extent: BlobExtent,
        bytes: Cow<'_, [u8]>,
    ) -> Result<Vec<u8>> {
        let BlobExtent { offset, length, before } = extent;
        let checked = check_length(offset, bytes.len(), length).and_then(|()| match before {
            0 => Ok(()),
            _ => check_record(&bytes, user_key, reference).map_err(|error| error.offset_by(offset)),
        });
        checked.and_then(|()| self.decode(bytes, before, reference.offset)).map_err(|error| self.in_file(error))
    }

    /// Where the record of a reference begins.
    fn check_range(&self, user_key: &[u8], reference: &BlobReference) -> Result<u64> {
        let BlobReference { offset, size_bytes, .. } = *reference;
        let before = RECORD_HEADER + user_key.len() as u64;
        let record_offset = offset.checked_sub(before).filter(|start| *start >= HEADER);
        let end = offset.checked_add(size_bytes).filter(|end| *end <= self.end);
        let (Some(record_offset), Some(_)) = (record_offset, end) else {
            return Err(Error::corruption(format!(
                "blob reference to {size_bytes} bytes of a file whose records lie in {HEADER}..{}",
                self.end
            ))
            .at_offset(offset));
        };
        if reference.compression != self.header.compression {
            return Err(Error::corruption(format!(
                "blob reference of compression type {} into a file of type {}",
                reference.compression, self.header.compression
            ))
            .at_offset(offset));
        }
        Ok(record_offset)
    }

    /// The value stored behind the first `before` bytes.
    fn decode(&self, bytes: Cow<'_, [u8]>, before: usize, offset: u64) -> Result<Vec<u8>> {
        match (self.compression, bytes) {
            (CompressionType::NoCompression, Cow::Owned(mut bytes)) => {
                bytes.drain(..before);
                Ok(bytes)
            }
            (CompressionType::NoCompression, Cow::Borrowed(bytes)) => Ok(bytes[before..].to_vec()),
            (compression, bytes) => {
                let _perf = PerfTimer::begin(PerfMetric::BlobDecompressTime);
                let recorder = self.counts.as_ref().and_then(BlobReadCounts::recorder);
                let _timer = MeasureTimer::of_micros(recorder, Histogram::BlobDbDecompressionMicros);
                decompress(compression, &bytes[before..], BLOB_COMPRESSION_FORMAT_VERSION, None, MAX_VALUE_BYTES)
                    .map_err(|error| error.offset_by(offset))
            }
        }
    }

    /// Verifies every record.
    pub(crate) fn verify_checksums(&self) -> Result<()> {
        self.verify_all(|_, _| Ok(()))
    }

    /// Verifies every record, and shows key and reference of each.
    pub(crate) fn verify_all(&self, mut show: impl FnMut(&[u8], &BlobReference) -> Result<()>) -> Result<()> {
        let mut offset = HEADER;
        while offset < self.end {
            offset = self.verify_and_show(offset, &mut show).map_err(|error| error.in_file(self.file.path()))?;
        }
        Ok(())
    }

    fn verify_record(&self, offset: u64) -> Result<u64> {
        self.verify_and_show(offset, &mut |_, _| Ok(()))
    }

    fn verify_and_show(&self, offset: u64, show: &mut dyn FnMut(&[u8], &BlobReference) -> Result<()>) -> Result<u64> {
        let mut bytes = [0; BLOB_RECORD_HEADER_SIZE];
        read_exact(&*self.file, offset, &mut bytes)?;
        let header = BlobRecordHeader::decode(&bytes).map_err(|error| error.offset_by(offset))?;
        let end = header.record_size().and_then(|size| offset.checked_add(size)).filter(|end| *end <= self.end);
        let Some(end) = end else {
            return Err(Error::corruption("blob record goes beyond the end of the records").at_offset(offset));
        };
        let body = self.read_range(offset + RECORD_HEADER, end - offset - RECORD_HEADER, &ReadContext::default())?;
        // The sum of the sizes fits, so each of them does.
        let (key, stored) = body.split_at(usize::try_from(header.key_size).unwrap_or(0));
        header.verify_blob(key, stored).map_err(|error| error.offset_by(offset))?;
        let reference = BlobReference {
            // Which file this is, is its name's to say.
            file_number: FileNumber::default(),
            offset: offset + RECORD_HEADER + header.key_size,
            size_bytes: header.value_size,
            compression: self.header.compression,
        };
        show(key, &reference)?;
        Ok(end)
    }

    /// Reads a range that is known to lie in the file.
    fn read_range(&self, offset: u64, size: u64, context: &ReadContext) -> Result<Vec<u8>> {
        let size = usize::try_from(size).map_err(|_| Error::corruption("blob larger than memory").at_offset(offset))?;
        let bytes = read_owned(&*self.file, offset, size, context)?;
        check_length(offset, bytes.len(), size)?;
        Ok(bytes)
    }
}

/// Checks that a record is what a reference and a key say it is, and its checksums.
fn check_record(record: &[u8], user_key: &[u8], reference: &BlobReference) -> Result<()> {
    let _timer = PerfTimer::begin(PerfMetric::BlobChecksumTime);
    let (head, stored) = record.split_at(BLOB_RECORD_HEADER_SIZE + user_key.len());
    let (header, key) = head.split_at(BLOB_RECORD_HEADER_SIZE);
    let header = BlobRecordHeader::decode(header)?;
    let sizes = (header.key_size, header.value_size);
    if sizes != (user_key.len() as u64, reference.size_bytes) {
        return Err(Error::corruption(format!(
            "blob record of key and value sizes {sizes:?}, expected {:?}",
            (user_key.len(), reference.size_bytes)
        )));
    }
    header.verify_blob(key, stored)?;
    if key != user_key {
        return Err(Error::corruption(format!(
            "blob record of key {}, expected {}",
            key.escape_ascii(),
            user_key.escape_ascii()
        )));
    }
    Ok(())
}

/// The footer; `Corruption` when the file has none.
pub(super) fn read_footer(file: &dyn RandomAccessFile) -> Result<BlobFileFooter> {
    let Some(offset) = file.size().checked_sub(FOOTER).filter(|offset| *offset >= HEADER) else {
        return Err(Error::corruption(format!("blob file of {} bytes has no room for a footer", file.size())));
    };
    let mut bytes = [0; BLOB_FILE_FOOTER_SIZE];
    read_exact(file, offset, &mut bytes)?;
    let footer = BlobFileFooter::decode(&bytes).map_err(|error| error.offset_by(offset))?;
    if footer.expiration_range != (0, 0) {
        return Err(Error::corruption("blob file without expirations has a range of them").at_offset(offset));
    }
    Ok(footer)
}

fn read_exact(file: &dyn RandomAccessFile, offset: u64, buffer: &mut [u8]) -> Result<()> {
    let label = ReadLabel::whole(ReadClass::Other, buffer.len());
    check_length(offset, file.read_at(offset, buffer, label)?, buffer.len())
}

fn check_length(offset: u64, read: usize, wanted: usize) -> Result<()> {
    if read == wanted {
        return Ok(());
    }
    Err(Error::corruption(format!("the file ends after {read} of {wanted} bytes")).at_offset(offset))
}
