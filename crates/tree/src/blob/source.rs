//! The open blob files of a database, and the view that a reader of one version has of them.

use super::async_read::BlobRead;
use super::cache::BlobCache;
use super::file_reader::{BlobFileReader, FooterRule, read_footer};
use super::readahead::BlobReadahead;
use super::{BlobValue, FetchBlob};
use crate::file_counts::BlobReadCounts;
use crate::places::FilePlaces;
use crate::table_cache::OpenTables;
use crate::version::Version;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::blob_file::{BLOB_FILE_FOOTER_SIZE, BLOB_FILE_HEADER_SIZE};
use ferrock_format::blob_index::{BlobIndex, BlobReference};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_table::ReadTier;
use ferrock_vfs::{FileSystem, RandomAccessOptions, RateLimiter, ReadContext, limited};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Files kept open when `max_open_files` sets no bound: blob files are large, so few of them hold a lot.
const UNBOUNDED_OPEN_FILES: usize = 512;

fn capacity(max_open_files: i32) -> usize {
    usize::try_from(max_open_files).unwrap_or(UNBOUNDED_OPEN_FILES).clamp(1, UNBOUNDED_OPEN_FILES)
}

/// Opens blob files and keeps a bounded number of them open. An evicted file that is in use is closed by its last user.
#[derive(Debug)]
pub struct BlobSource {
    file_system: Arc<dyn FileSystem>,
    places: Arc<FilePlaces>,
    options: RandomAccessOptions,
    capacity: AtomicUsize,
    /// Asked by reads of the files whose context has a priority, if it limits reads.
    read_limiter: Option<Arc<dyn RateLimiter>>,
    /// Where reads of values are counted.
    counts: Option<BlobReadCounts>,
    /// Closed where descriptors are wanting.
    open_tables: Arc<OpenTables>,
    open: RwLock<HashMap<FileNumber, OpenBlobFile>>,
}

#[derive(Debug)]
struct OpenBlobFile {
    reader: Arc<BlobFileReader>,
    was_used: AtomicBool,
}

impl BlobSource {
    /// The blob files of a database. At most `max_open_files` are open at once; negative: a fixed default.
    pub fn new(
        file_system: Arc<dyn FileSystem>,
        places: Arc<FilePlaces>,
        options: RandomAccessOptions,
        max_open_files: i32,
        open_tables: Arc<OpenTables>,
    ) -> Self {
        let capacity = AtomicUsize::new(capacity(max_open_files));
        Self {
            file_system,
            places,
            options,
            capacity,
            read_limiter: None,
            counts: None,
            open_tables,
            open: RwLock::default(),
        }
    }

    /// The same, whose reads ask a limiter.
    #[must_use]
    pub fn with_read_limiter(self, read_limiter: Option<Arc<dyn RateLimiter>>) -> Self {
        Self { read_limiter, ..self }
    }

    /// The same, whose reads are counted.
    #[must_use]
    pub fn with_counts(self, counts: Option<BlobReadCounts>) -> Self {
        Self { counts, ..self }
    }

    /// At most so many files are open from now on. What is too many is closed when the next one is opened.
    pub fn set_max_open_files(&self, max_open_files: i32) {
        self.capacity.store(capacity(max_open_files), Ordering::Relaxed);
    }

    /// The file, if it is open and was not opened before the value was written.
    fn get_if_open(&self, reference: &BlobReference) -> Option<Arc<BlobFileReader>> {
        let open = self.open.read();
        let slot = open.get(&reference.file_number).filter(|slot| slot.reader.covers(reference))?;
        slot.was_used.store(true, Ordering::Relaxed);
        Some(Arc::clone(&slot.reader))
    }

    /// The open file of a reference.
    pub(crate) fn get(
        &self,
        reference: &BlobReference,
        column_family_id: u32,
        rule: FooterRule,
    ) -> Result<Arc<BlobFileReader>> {
        let number = reference.file_number;
        // One that was opened while it was written takes its footer for a record.
        let serves = |reader: &BlobFileReader| {
            reader.covers(reference) && (rule == FooterRule::Absent || reference.size_bytes > 0 || !reader.may_grow())
        };
        if let Some(reader) = self.get_if_open(reference).filter(|reader| serves(reader)) {
            return Ok(reader);
        }
        // Opened without the lock: two readers may both do it, and the first one's is kept.
        let path = self.places.blob(column_family_id, number);
        let file = self.open_tables.make_room(|| {
            loop {
                match self.file_system.open_random_access(&path, &self.options) {
                    Err(error) if error.is_out_of_descriptors() && self.close_one() => {}
                    outcome => return outcome,
                }
            }
        })?;
        let file = limited(file, self.read_limiter.as_ref());
        let reader = BlobFileReader::open(file, column_family_id, rule)?;
        let reader = Arc::new(reader.with_counts(self.counts.clone()));
        let mut open = self.open.write();
        match open.get(&number) {
            Some(slot) if serves(&slot.reader) => return Ok(Arc::clone(&slot.reader)),
            _ => open.remove(&number),
        };
        while open.len() >= self.capacity.load(Ordering::Relaxed) {
            let unused = open.iter().find(|(_, slot)| !slot.was_used.swap(false, Ordering::Relaxed));
            let victim = unused.or_else(|| open.iter().next()).map(|(number, _)| *number);
            victim.and_then(|victim| open.remove(&victim));
        }
        open.insert(number, OpenBlobFile { reader: Arc::clone(&reader), was_used: AtomicBool::new(false) });
        Ok(reader)
    }

    /// Opens a file that the MANIFEST has. With [`set_unbounded`](Self::set_unbounded) it can be read from then on,
    /// whatever becomes of its name.
    ///
    /// # Errors
    /// Those of opening the file, and `Corruption` where it is damaged.
    pub fn open_whole(&self, column_family_id: u32, number: FileNumber) -> Result<()> {
        if self.open.read().get(&number).is_some_and(|slot| !slot.reader.may_grow()) {
            return Ok(());
        }
        let path = self.places.blob(column_family_id, number);
        let file = self.open_tables.make_room(|| self.file_system.open_random_access(&path, &self.options))?;
        let file = limited(file, self.read_limiter.as_ref());
        let reader = BlobFileReader::open(file, column_family_id, FooterRule::Required)?;
        let reader = Arc::new(reader.with_counts(self.counts.clone()));
        self.open.write().insert(number, OpenBlobFile { reader, was_used: AtomicBool::new(false) });
        Ok(())
    }

    /// From now on no file is closed for another, as far as the process may have them open.
    pub fn set_unbounded(&self) {
        self.capacity.store(usize::MAX, Ordering::Relaxed);
    }

    /// Closes the files that `is_needed` does not name.
    pub fn keep_only(&self, is_needed: impl Fn(FileNumber) -> bool) {
        self.open.write().retain(|number, slot| slot.reader.may_grow() || is_needed(*number));
    }

    /// Closes a file that nothing uses; false when there is none.
    fn close_one(&self) -> bool {
        let mut open = self.open.write();
        let unused = open.iter().find(|(_, slot)| Arc::strong_count(&slot.reader) == 1).map(|(number, _)| *number);
        unused.is_some_and(|number| open.remove(&number).is_some())
    }

    /// Removes a file that is to be deleted.
    pub fn evict(&self, number: FileNumber) {
        self.open.write().remove(&number);
    }

    /// Files open now.
    #[cfg(test)]
    pub(super) fn open_files(&self) -> usize {
        self.open.read().len()
    }
}

/// The MANIFEST record of a file that was closed properly. A file that cannot be read counts as one without a footer.
pub fn closed_file(file_system: &dyn FileSystem, directory: &Path, number: FileNumber) -> Option<BlobFileAddition> {
    let path = directory.join(file_name::blob(number));
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).ok()?;
    let footer = read_footer(&*file).ok()?;
    let around_records = (BLOB_FILE_HEADER_SIZE + BLOB_FILE_FOOTER_SIZE) as u64;
    Some(BlobFileAddition {
        number,
        total_blob_count: footer.blob_count,
        total_blob_bytes: file.size().saturating_sub(around_records),
        ..BlobFileAddition::default()
    })
}

/// The blob files as a reader of one version sees them. Borrows everything: made anew for every lookup.
#[derive(Clone, Copy, Debug)]
pub struct BlobView<'a> {
    /// The open blob files.
    pub source: &'a BlobSource,
    /// The version whose blob files may be read.
    pub version: &'a Version,
    /// The family of the version.
    pub column_family_id: u32,
    /// Where the family's values are kept in memory.
    pub cache: Option<&'a BlobCache>,
    /// Whether a value that is read goes there.
    pub fill_cache: bool,
    /// Whether values are held against their checksums.
    pub verify_checksums: bool,
    /// How deep a read may go.
    pub read_tier: ReadTier,
    /// How files are asked.
    pub context: ReadContext,
}

/// The place of a value, as its index names it.
#[derive(Debug)]
pub enum BlobPlace {
    /// The value is in the index or in memory.
    Here(BlobValue),
    /// The value is in a blob file that may be read.
    InFile(BlobReference),
}

impl BlobView<'_> {
    /// Follows the index of the value of a key.
    ///
    /// # Errors
    /// `Corruption` naming the key when the index cannot be decoded; `NotSupported` for a value in a blob record of its
    /// own table; `Incomplete` when the read may not touch files and the value is in no cache.
    pub fn follow(&self, user_key: &[u8], index: &[u8]) -> Result<BlobPlace> {
        let of_key = |error: Error| error.context(&format!("value of key {}", user_key.escape_ascii()));
        let reference = match BlobIndex::decode(index).map_err(of_key)? {
            BlobIndex::Inlined { value, .. } => return Ok(BlobPlace::Here(value.to_vec().into())),
            BlobIndex::Reference { reference, .. } => reference,
        };
        if reference.file_number.0 == 0 {
            return Err(Error::not_supported("value in a blob record of its own table"));
        }
        if let Some(value) = self.cache.and_then(|cache| cache.get(&reference)) {
            return Ok(BlobPlace::Here(value));
        }
        if self.read_tier == ReadTier::BlockCacheOnly {
            return Err(Error::new(
                ErrorKind::Incomplete,
                "the value is in a blob file and the read may not touch files",
            ));
        }
        Ok(BlobPlace::InFile(reference))
    }

    /// The file of a reference, if it is open.
    pub fn open_file(&self, reference: &BlobReference) -> Option<Arc<BlobFileReader>> {
        self.source.get_if_open(reference)
    }

    /// The file of a reference, opened if necessary. Other references may share the result: [`explain`](Self::explain)
    /// turns its error into that of this reference.
    ///
    /// # Errors
    /// Those of opening the file: `Io`, and `Corruption` when its header or footer is damaged.
    pub fn file(&self, reference: &BlobReference) -> Result<Arc<BlobFileReader>> {
        let rule = if self.knows(reference) { FooterRule::Required } else { FooterRule::Absent };
        self.source.get(reference, self.column_family_id, rule)
    }

    fn knows(&self, reference: &BlobReference) -> bool {
        self.version.blob_files().contains_key(&reference.file_number)
    }

    /// The value that was read at a reference, kept in the cache where the read fills that.
    ///
    /// # Errors
    /// `MemoryLimit` when the cache is full and says that reads then fail.
    pub fn keep(&self, reference: &BlobReference, value: Vec<u8>) -> Result<BlobValue> {
        match self.cache {
            Some(cache) if self.fill_cache => cache.keep(reference, value),
            _ => Ok(value.into()),
        }
    }

    /// The error of a reference whose file cannot be opened.
    pub fn explain(&self, reference: &BlobReference, error: Error) -> Error {
        if self.knows(reference) || !error.is_not_found() {
            return error;
        }
        Error::corruption("Invalid blob file number: a reference names a file that does not exist")
            .in_file(self.source.places.blob(self.column_family_id, reference.file_number))
            .at_offset(reference.offset)
    }

    /// Begins to read a value, as a future.
    pub fn start(&self, file: Arc<BlobFileReader>, user_key: &[u8], reference: &BlobReference) -> BlobRead {
        let file_system = &*self.source.file_system;
        let order = self.version.comparator().user().clone();
        BlobRead::start(file_system, file, user_key, reference, self.verify_checksums, &self.context, order)
    }

    /// Verifies every record of every file of the version.
    ///
    /// # Errors
    /// `Corruption` naming file and offset of the first record whose checksum does not match; `Io` when a file cannot
    /// be read.
    pub fn verify_all(&self) -> Result<()> {
        let mut numbers = self.version.blob_files().keys();
        numbers.try_for_each(|number| {
            let reference = BlobReference { file_number: *number, offset: 0, size_bytes: 0, compression: 0 };
            self.source.get(&reference, self.column_family_id, FooterRule::Required)?.verify_checksums()
        })
    }
}

impl FetchBlob for BlobView<'_> {
    #[cold]
    fn fetch(&self, user_key: &[u8], index: &[u8]) -> Result<BlobValue> {
        let reference = match self.follow(user_key, index)? {
            BlobPlace::Here(value) => return Ok(value),
            BlobPlace::InFile(reference) => reference,
        };
        let read = || {
            let file = self.file(&reference).map_err(|error| self.explain(&reference, error))?;
            let order = self.version.comparator().user();
            file.read_by_order(user_key, &reference, self.verify_checksums, &self.context, order)
        };
        match self.cache {
            Some(cache) if self.fill_cache => cache.load(&reference, read),
            _ => read().map(BlobValue::from),
        }
    }

    #[cold]
    fn fetch_in_memory(&self, user_key: &[u8], index: &[u8]) -> Result<Option<BlobValue>> {
        if self.cache.is_none() {
            return Ok(None);
        }
        match self.follow(user_key, index)? {
            BlobPlace::Here(value) => Ok(Some(value)),
            BlobPlace::InFile(_) => Ok(None),
        }
    }
}

/// A [`BlobView`] that owns what it needs, for iterators and compactions.
#[derive(Clone, Debug)]
pub struct OwnedBlobView {
    /// The open blob files.
    pub source: Arc<BlobSource>,
    /// The version whose blob files may be read.
    pub version: Arc<Version>,
    /// The family of the version.
    pub column_family_id: u32,
    /// Where the family's values are kept in memory.
    pub cache: Option<Arc<BlobCache>>,
    /// Whether a value that is read goes there.
    pub fill_cache: bool,
    /// Whether values are held against their checksums.
    pub verify_checksums: bool,
    /// How deep a read may go.
    pub read_tier: ReadTier,
    /// How files are asked.
    pub context: ReadContext,
}

impl OwnedBlobView {
    /// As [`fetch`](FetchBlob::fetch), past the cache and through the buffers of a compaction.
    pub(crate) fn fetch_ahead(
        &self,
        readahead: &mut BlobReadahead,
        user_key: &[u8],
        index: &[u8],
    ) -> Result<BlobValue> {
        let view = BlobView { cache: None, ..self.borrowed() };
        let reference = match view.follow(user_key, index)? {
            BlobPlace::Here(value) => return Ok(value),
            BlobPlace::InFile(reference) => reference,
        };
        let file = view.file(&reference).map_err(|error| view.explain(&reference, error))?;
        let order = self.version.comparator().user();
        readahead.read(&file, user_key, &reference, &self.context, order).map(BlobValue::from)
    }

    fn borrowed(&self) -> BlobView<'_> {
        BlobView {
            source: &self.source,
            version: &self.version,
            column_family_id: self.column_family_id,
            cache: self.cache.as_deref(),
            fill_cache: self.fill_cache,
            verify_checksums: self.verify_checksums,
            read_tier: self.read_tier,
            context: self.context,
        }
    }
}

impl FetchBlob for OwnedBlobView {
    fn fetch(&self, user_key: &[u8], index: &[u8]) -> Result<BlobValue> {
        self.borrowed().fetch(user_key, index)
    }

    fn fetch_in_memory(&self, user_key: &[u8], index: &[u8]) -> Result<Option<BlobValue>> {
        self.borrowed().fetch_in_memory(user_key, index)
    }
}
