//! The blob files of one memtable whose values are written at once (`enable_blob_direct_write`).
//!
//! ```text
//! write group     values from min_blob_size on --> records of the open files, partition by partition, in turn
//!                 one append to each file that got any; then the log, which has references in their place
//! synced write    open files and their names, then the log
//! blob_file_size  the file is completed and synced, another one begins
//! flush           all files are completed and synced; the edit that adds the table adds them, with what no entry of
//!                 the table refers to as garbage
//! ```
//!
//! Invariants
//! - A reference is handed out only for a record that the operating system gets before the log or the memtable gets the
//!   reference. So a log never refers to less than there is, unless the machine stops: then recovery takes a record
//!   whose value is missing for the end of the log.
//! - A file that failed takes no more records. Its records stay readable, and the flush copies them.
//! - A file lives as long as the memtable, whatever versions have it or have let it go: readers of an older
//!   SuperVersion find its values by the memtable's entries.
//! - A file has its own name from the start: the log refers to it. Without footer no clean-up removes it.

use super::cut_off::{footer, replace_by_copy, writable_options};
use super::file_writer::BlobEncoder;
use super::{BlobCache, DirectPlace};
use ferrock_base::file_checksum::generator_for;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::blob_file::{BLOB_FILE_HEADER_SIZE, BlobFileHeader, BlobRecordHeader};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_memtable::Companion;
use ferrock_options::ColumnFamilySettings;
use ferrock_vfs::{FileSum, WritableFile, WritableOptions, summed};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of records from which on they do not wait for the end of their group.
const MOST_PENDING_BYTES: usize = 1 << 20;

/// How values are written.
#[derive(Debug)]
pub struct DirectOptions<'a> {
    /// Those of the family.
    pub settings: &'a ColumnFamilySettings,
    /// That of the database.
    pub bytes_per_sync: u64,
    /// Whether what was started before is waited for then.
    pub strict_bytes_per_sync: bool,
    /// Takes what is written: `prepopulate_blob_cache`.
    pub warmed: Option<&'a BlobCache>,
    /// The file among those of the memtable: any number, of which the remainder by their number counts.
    pub partition: u64,
}

/// The blob files of one memtable, and what is written to them.
#[derive(Debug)]
pub struct DirectBlobs {
    place: DirectPlace,
    is_abandoned: AtomicBool,
    /// Files that no version will have.
    unused: Mutex<Vec<FileNumber>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How often a partition was asked for: they take turns.
    turns: u64,
    open: BTreeMap<u64, DirectFile>,
    /// Files that take no more records.
    full: Vec<FullFile>,
    numbers: Vec<FileNumber>,
    /// A name is not durable yet.
    has_new_name: bool,
    encoder: Option<(CompressionType, CompressionOptions, BlobEncoder)>,
}

#[derive(Debug)]
enum FullFile {
    Complete(BlobFileAddition),
    Incomplete(DirectFile),
}

/// One file that is being written.
#[derive(Debug)]
struct DirectFile {
    number: FileNumber,
    compression: CompressionType,
    writer: Box<dyn WritableFile>,
    /// Of the bytes that were handed to the writer.
    sum: Option<FileSum>,
    /// Bytes that the operating system has.
    written: u64,
    /// Records that it is about to get.
    pending: Vec<u8>,
    pending_count: u64,
    count: u64,
    is_synced: bool,
    has_failed: bool,
}

impl DirectFile {
    fn create(
        place: &DirectPlace,
        options: &WritableOptions,
        number: FileNumber,
        kind: CompressionType,
    ) -> Result<Self> {
        let path = place.directory.join(file_name::blob(number));
        let writer = place.file_system.create_writable(&path, options)?;
        let (writer, sum) = summed(writer, generator_for(place.checksums.as_ref(), &path));
        let header = BlobFileHeader {
            column_family_id: place.column_family_id,
            has_ttl: false,
            compression: kind.as_u8(),
            expiration_range: (0, 0),
        };
        Ok(Self {
            number,
            compression: kind,
            writer,
            sum: Some(sum),
            written: 0,
            pending: header.encode(),
            pending_count: 0,
            count: 0,
            is_synced: false,
            has_failed: false,
        })
    }

    fn size(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn add(&mut self, user_key: &[u8], stored_value: &[u8]) -> BlobReference {
        self.pending.extend(BlobRecordHeader::new(user_key, stored_value).encode());
        self.pending.extend_from_slice(user_key);
        let offset = self.size();
        self.pending.extend_from_slice(stored_value);
        self.pending_count += 1;
        BlobReference {
            file_number: self.number,
            offset,
            size_bytes: stored_value.len() as u64,
            compression: self.compression.as_u8(),
        }
    }

    fn check(&self) -> Result<()> {
        if !self.has_failed {
            return Ok(());
        }
        let what = "the blob file failed earlier and takes no more records; resume writes its values anew";
        Err(Error::new(ErrorKind::Io, what).in_file(self.writer.path()))
    }

    /// Hands what waits to the operating system.
    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.check()?;
        self.is_synced = false;
        let result = self.writer.append(&self.pending).and_then(|()| self.writer.flush());
        self.has_failed = result.is_err();
        if result.is_ok() {
            self.written += self.pending.len() as u64;
            self.count += self.pending_count;
        }
        self.forget_pending();
        result
    }

    /// Drops what waits: nothing will refer to it. A file without header has nothing, and gets its header again.
    fn forget_pending(&mut self) {
        let kept = if self.written == 0 { BLOB_FILE_HEADER_SIZE } else { 0 };
        self.pending.truncate(kept);
        self.pending.shrink_to(MOST_PENDING_BYTES);
        self.pending_count = 0;
    }

    fn sync(&mut self) -> Result<()> {
        if self.is_synced {
            return Ok(());
        }
        let result = self.check().and_then(|()| self.writer.sync());
        self.has_failed |= result.is_err();
        self.is_synced = result.is_ok();
        result
    }

    /// Completes the file: its bytes are durable when this returns, its name is so after a sync of the directory.
    fn complete(&mut self, place: &DirectPlace) -> Result<BlobFileAddition> {
        if self.has_failed {
            let _ = self.writer.close();
            if self.count == 0 {
                // Nothing refers to it, and without footer no clean-up takes it.
                let _ = place.file_system.remove_file(self.writer.path());
                return Ok(footer(self.number, 0, 0).1);
            }
            return replace_by_copy(place, self.number, self.written);
        }
        self.flush()?;
        let (footer, addition) = footer(self.number, self.count, self.written - BLOB_FILE_HEADER_SIZE as u64);
        let result = self.writer.append(&footer).and_then(|()| self.writer.sync()).and_then(|()| self.writer.close());
        self.has_failed = result.is_err();
        result.map(|()| addition.with_checksum(self.sum.take().and_then(FileSum::finish)))
    }
}

/// The stored form of a value, by an encoder that is made anew when the options change.
fn encode<'a>(
    encoder: &'a mut Option<(CompressionType, CompressionOptions, BlobEncoder)>,
    settings: &ColumnFamilySettings,
    value: &'a [u8],
) -> Result<&'a [u8]> {
    let (kind, options) = (settings.blob_compression_type, &settings.blob_compression_opts.0);
    if encoder.as_ref().is_none_or(|(of, with, _)| *of != kind || with != options) {
        *encoder = Some((kind, options.clone(), BlobEncoder::new(kind, options)?));
    }
    encoder.as_mut().map_or(Ok(value), |(_, _, encoder)| encoder.encode(value))
}

impl State {
    /// Completes the open file of a partition, which takes no more records.
    fn end_file(&mut self, place: &DirectPlace, partition: u64) -> Result<()> {
        let Some(mut file) = self.open.remove(&partition) else { return Ok(()) };
        let completed = file.complete(place);
        self.full.push(match &completed {
            Ok(addition) => FullFile::Complete(addition.clone()),
            Err(_) => FullFile::Incomplete(file),
        });
        completed.map(|_| ())
    }
}

impl DirectBlobs {
    /// No files yet, for a memtable without entries.
    #[must_use]
    pub fn new(place: DirectPlace) -> Self {
        Self { place, is_abandoned: AtomicBool::new(false), unused: Mutex::default(), state: Mutex::default() }
    }

    /// The partition whose turn it is.
    pub fn next_partition(&self) -> u64 {
        let mut state = self.state.lock();
        state.turns += 1;
        state.turns - 1
    }

    /// Takes a value, and returns the reference that the entry gets once [`flush`](Self::flush) was called.
    /// `new_number` gives the number of a file that no clean-up removes from then on.
    ///
    /// # Errors
    /// Of the file system; `InvalidArgument` for a value that its compression cannot take.
    pub fn add(
        &self,
        how: &DirectOptions<'_>,
        user_key: &[u8],
        value: &[u8],
        new_number: impl FnOnce() -> FileNumber,
    ) -> Result<BlobReference> {
        let settings = how.settings;
        let mut state = self.state.lock();
        let state = &mut *state;
        let partition = how.partition % u64::from(settings.blob_direct_write_partitions.max(1));
        if state.open.get(&partition).is_some_and(|file| file.compression != settings.blob_compression_type) {
            state.end_file(&self.place, partition)?;
        }
        let file = match state.open.entry(partition) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(vacant) => {
                let options = WritableOptions {
                    bytes_per_sync: how.bytes_per_sync,
                    strict_bytes_per_sync: how.strict_bytes_per_sync,
                    ..writable_options()
                };
                let number = new_number();
                state.numbers.push(number);
                state.has_new_name = true;
                let created = DirectFile::create(&self.place, &options, number, settings.blob_compression_type);
                vacant.insert(created.inspect_err(|_| self.unused.lock().push(number))?)
            }
        };
        let reference = file.add(user_key, encode(&mut state.encoder, settings, value)?);
        if let Some(cache) = how.warmed {
            cache.warm(&reference, value);
        }
        if file.size() >= settings.blob_file_size {
            state.end_file(&self.place, partition)?;
        } else if file.pending.len() >= MOST_PENDING_BYTES
            && let Err(error) = file.flush()
        {
            state.full.extend(state.open.remove(&partition).map(FullFile::Incomplete));
            return Err(error);
        }
        Ok(reference)
    }

    /// Hands what was added to the operating system. `is_wanted` says that something will refer to it.
    ///
    /// # Errors
    /// Of the file system: then nothing may refer to what was added since the last call.
    pub fn flush(&self, is_wanted: bool) -> Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if !is_wanted {
            // Files that lose something end here: a later value at the same place would be taken for the one that the
            // cache has.
            for (_, mut file) in state.open.extract_if(.., |_, file| !file.pending.is_empty()) {
                file.forget_pending();
                state.full.push(FullFile::Incomplete(file));
            }
            return Ok(());
        }
        let mut failed = Vec::new();
        let mut result = Ok(());
        for (partition, file) in &mut state.open {
            if result.is_ok() {
                result = file.flush();
            } else if !file.pending.is_empty() {
                file.forget_pending();
            } else {
                continue;
            }
            if result.is_err() {
                failed.push(*partition);
            }
        }
        for partition in failed {
            state.full.extend(state.open.remove(&partition).map(FullFile::Incomplete));
        }
        result
    }

    /// Makes everything that was flushed durable, and the names of the files.
    ///
    /// # Errors
    /// Of the file system. What failed once fails until the memtable is flushed.
    pub fn sync(&self) -> Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        for file in &mut state.full {
            if let FullFile::Incomplete(file) = file {
                file.sync()?;
            }
        }
        for file in state.open.values_mut() {
            file.sync()?;
        }
        if state.has_new_name {
            self.place.file_system.sync_dir(&self.place.directory)?;
            state.has_new_name = false;
        }
        Ok(())
    }

    /// Completes all files, for the MANIFEST: they and their names are durable when this returns. The memtable gets no
    /// more entries.
    ///
    /// # Errors
    /// Of the file system. A later call goes on where this one failed.
    pub fn complete(&self) -> Result<Vec<BlobFileAddition>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let open = std::mem::take(&mut state.open);
        state.full.extend(open.into_values().map(FullFile::Incomplete));
        for file in &mut state.full {
            if let FullFile::Incomplete(incomplete) = file {
                *file = FullFile::Complete(incomplete.complete(&self.place)?);
                state.has_new_name = true;
            }
        }
        if state.has_new_name {
            self.place.file_system.sync_dir(&self.place.directory)?;
            state.has_new_name = false;
        }
        let complete = state.full.iter().filter_map(|file| match file {
            FullFile::Complete(addition) => Some(addition.clone()),
            FullFile::Incomplete(_) => None,
        });
        Ok(complete.collect())
    }

    /// Lets go of files that failed, of a memtable without entries: nothing refers to them.
    pub fn forget_failed(&self) {
        let mut state = self.state.lock();
        let mut unused = self.unused.lock();
        let mut is_good = |file: &DirectFile| {
            unused.extend(file.has_failed.then_some(file.number));
            !file.has_failed
        };
        state.open.retain(|_, file| is_good(file));
        state.full.retain(|file| match file {
            FullFile::Complete(_) => true,
            FullFile::Incomplete(file) => is_good(file),
        });
    }

    /// Where a file is.
    #[must_use]
    pub fn path(&self, number: FileNumber) -> PathBuf {
        self.place.directory.join(file_name::blob(number))
    }

    /// True when there are files that only this memtable and the log know.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !self.state.lock().numbers.is_empty()
    }

    /// No version will ever have the files: they go with the memtable.
    pub fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Release);
    }

    /// The memtable is in a table, which refers to none of these files: they go with the memtable.
    pub fn abandon_files(&self, numbers: &[FileNumber]) {
        let state = self.state.lock();
        self.unused.lock().extend(numbers.iter().filter(|number| state.numbers.contains(number)));
    }
}

impl Companion for DirectBlobs {}

impl Drop for DirectBlobs {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        for file in state.open.values_mut() {
            let _ = file.writer.close();
        }
        let (all, unused) = (self.is_abandoned.load(Ordering::Acquire), self.unused.get_mut());
        let (unused, used): (Vec<FileNumber>, Vec<FileNumber>) =
            state.numbers.iter().partition(|number| all || unused.contains(number));
        for (numbers, are_abandoned) in [(used, false), (unused, true)] {
            if !numbers.is_empty() {
                self.place.keeper.let_go(&self.place.directory, &numbers, are_abandoned);
            }
        }
    }
}
