//! A file system that tells an observer of every operation on its files.
//!
//! ```text
//! open_random_access, open_sequential ---> read                            create_writable, reopen_writable
//! truncate                                                                   ---> append, flush, sync, close
//! ```
//!
//! The wrapper hands out no descriptor, so a ring reads its files through [`RandomAccessFile::read_at`], and each read
//! is seen where it is made. Bytes of a mapping are read without a call, and not seen. Nor is what the file system
//! below does within an operation, as the write-back that `bytes_per_sync` asks for. Opens, removals, renames and
//! directories are no operations on a file.
//!
//! The observer is called on the thread of the operation, behind it, with whatever locks that thread holds.

use std::fmt::{self, Debug};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ferrock_base::clock::Clock;
use ferrock_base::{Error, Result, Temperature};

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::file_system::{FileEntry, FileSystem};
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::{ReadLabel, ReadLayer};
use crate::rate_limiter::{IoPriority, RateLimiter};

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileOperationKind {
    /// Bytes are read.
    Read,
    /// Bytes are added at the end.
    Append,
    /// Bytes in a buffer go to the operating system.
    Flush,
    /// All bytes are made durable.
    Sync,
    /// The file is closed.
    Close,
    /// The file gets another length.
    Truncate,
}

/// An operation that ended.
#[derive(Clone, Copy, Debug)]
pub struct FileOperation<'a> {
    /// What was done.
    pub kind: FileOperationKind,
    /// The file.
    pub path: &'a Path,
    /// The temperature that it was opened with.
    pub temperature: Temperature,
    /// Where it began, in bytes; 0 for a flush, a sync and a close.
    pub offset: u64,
    /// How many bytes it was about: those that were read, those to be added, the new length.
    pub length: u64,
    /// When it began, in microseconds since 1970.
    pub start_unix_us: u64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Why it failed.
    pub error: Option<&'a Error>,
}

/// Is told of operations on files.
pub trait FileObserver: Send + Sync {
    /// An operation ended.
    fn on_operation(&self, operation: &FileOperation<'_>);
}

struct Watch {
    observer: Arc<dyn FileObserver>,
    clock: Arc<dyn Clock>,
}

impl Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// The file and the part of it that an operation is about.
#[derive(Clone, Copy)]
struct About<'a> {
    kind: FileOperationKind,
    path: &'a Path,
    temperature: Temperature,
    offset: u64,
    length: u64,
}

impl Watch {
    /// Performs an operation; `done` tells how many bytes it was about, where that is known only then.
    fn see<T>(&self, about: About<'_>, perform: impl FnOnce() -> Result<T>, done: impl FnOnce(&T) -> u64) -> Result<T> {
        let (start_unix_us, start) = (self.clock.unix_us(), self.clock.monotonic_us());
        let result = perform();
        let duration_us = self.clock.monotonic_us().saturating_sub(start);
        let About { kind, path, temperature, offset, length } = about;
        let length = result.as_ref().map_or(length, done);
        let error = result.as_ref().err();
        let operation = FileOperation { kind, path, temperature, offset, length, start_unix_us, duration_us, error };
        self.observer.on_operation(&operation);
        result
    }
}

/// A file system whose files are those of another one, and which tells an observer of every operation on them.
#[derive(Debug)]
pub struct ObservedFileSystem {
    inner: Arc<dyn FileSystem>,
    watch: Arc<Watch>,
}

impl ObservedFileSystem {
    /// The files of `inner`, whose operations `observer` is told of, with times of `clock`.
    #[must_use]
    pub fn new(inner: Arc<dyn FileSystem>, observer: Arc<dyn FileObserver>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, watch: Arc::new(Watch { observer, clock }) }
    }

    fn writable(&self, file: Box<dyn WritableFile>, temperature: Temperature) -> Box<dyn WritableFile> {
        let path = file.path().to_path_buf();
        Box::new(ObservedWritableFile { inner: file, path, temperature, watch: Arc::clone(&self.watch) })
    }
}

impl FileSystem for ObservedFileSystem {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let inner = self.inner.open_random_access(path, options)?;
        let watch = Arc::clone(&self.watch);
        Ok(Arc::new(ObservedRandomAccessFile { inner, temperature: options.temperature, watch }))
    }

    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        let inner = self.inner.open_sequential(path, options)?;
        let path = path.to_path_buf();
        Ok(Box::new(ObservedSequentialFile { inner, path, offset: 0, watch: Arc::clone(&self.watch) }))
    }

    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        Ok(self.writable(self.inner.create_writable(path, options)?, options.temperature))
    }

    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        Ok(self.writable(self.inner.reopen_writable(path, options)?, options.temperature))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.inner.remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.inner.hard_link(from, to)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.inner.exists(path)
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        self.inner.file_size(path)
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.inner.modified_unix_seconds(path)
    }

    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()> {
        let kind = FileOperationKind::Truncate;
        let about = About { kind, path, temperature: Temperature::Unknown, offset: 0, length: length_bytes };
        self.watch.see(about, || self.inner.truncate(path, length_bytes), |()| length_bytes)
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        self.inner.link_count(path)
    }

    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.inner.children(dir)
    }

    fn list_files(&self, dir: &Path) -> Result<Option<Vec<FileEntry>>> {
        self.inner.list_files(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.inner.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.inner.sync_dir(dir)
    }

    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.inner.lock_file(path)
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        self.inner.free_space(path)
    }

    fn is_read_only(&self, dir: &Path) -> Result<bool> {
        self.inner.is_read_only(dir)
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        self.inner.read_layer()
    }

    fn creates_whole_files(&self) -> bool {
        self.inner.creates_whole_files()
    }

    fn counters(&self) -> &IoCounters {
        self.inner.counters()
    }

    fn open_file_limit(&self) -> Option<u64> {
        self.inner.open_file_limit()
    }

    fn copy_of_now(&self) -> Option<Arc<dyn FileSystem>> {
        self.inner.copy_of_now()
    }

    fn io_backend(&self) -> &str {
        self.inner.io_backend()
    }
}

#[derive(Debug)]
struct ObservedRandomAccessFile {
    inner: Arc<dyn RandomAccessFile>,
    temperature: Temperature,
    watch: Arc<Watch>,
}

impl RandomAccessFile for ObservedRandomAccessFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        let (kind, length) = (FileOperationKind::Read, buffer.len() as u64);
        let about = About { kind, path: self.inner.path(), temperature: self.temperature, offset, length };
        self.watch.see(about, || self.inner.read_at(offset, buffer, label), |read| *read as u64)
    }

    fn reads_at_once(&self) -> bool {
        self.inner.reads_at_once()
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        self.inner.read_layer()
    }

    fn mapping(&self) -> Option<&Bytes> {
        self.inner.mapping()
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        self.inner.prefetch(offset, length_bytes);
    }

    fn prefetches(&self) -> bool {
        self.inner.prefetches()
    }

    fn direct_alignment(&self) -> Option<usize> {
        self.inner.direct_alignment()
    }

    fn rate_limiter(&self) -> Option<&dyn RateLimiter> {
        self.inner.rate_limiter()
    }
}

#[derive(Debug)]
struct ObservedSequentialFile {
    inner: Box<dyn SequentialFile>,
    path: std::path::PathBuf,
    offset: u64,
    watch: Arc<Watch>,
}

impl SequentialFile for ObservedSequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Self { inner, path, offset, watch } = self;
        let (kind, length) = (FileOperationKind::Read, buffer.len() as u64);
        let about = About { kind, path, temperature: Temperature::Unknown, offset: *offset, length };
        let read = watch.see(about, || inner.read(buffer), |read| *read as u64)?;
        *offset += read as u64;
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.offset = self.offset.saturating_add(count);
        self.inner.skip(count)
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
struct ObservedWritableFile {
    inner: Box<dyn WritableFile>,
    path: std::path::PathBuf,
    temperature: Temperature,
    watch: Arc<Watch>,
}

impl ObservedWritableFile {
    fn see(
        &mut self,
        kind: FileOperationKind,
        (offset, length): (u64, u64),
        perform: impl FnOnce(&mut dyn WritableFile) -> Result<()>,
    ) -> Result<()> {
        let Self { inner, path, temperature, watch } = self;
        let about = About { kind, path, temperature: *temperature, offset, length };
        watch.see(about, || perform(&mut **inner), |()| length)
    }
}

impl WritableFile for ObservedWritableFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let range = (self.inner.size(), data.len() as u64);
        self.see(FileOperationKind::Append, range, |file| file.append(data))
    }

    fn flush(&mut self) -> Result<()> {
        self.see(FileOperationKind::Flush, (0, 0), |file| file.flush())
    }

    fn sync(&mut self) -> Result<()> {
        self.see(FileOperationKind::Sync, (0, 0), |file| file.sync())
    }

    fn close(&mut self) -> Result<()> {
        self.see(FileOperationKind::Close, (0, 0), |file| file.close())
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.inner.set_rate_limiter(limiter, priority);
    }

    fn append_backend(&self) -> &'static str {
        self.inner.append_backend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFileSystem;
    use ferrock_base::clock::ManualClock;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Seen(Mutex<Vec<(FileOperationKind, u64, u64, bool)>>);

    impl FileObserver for Seen {
        fn on_operation(&self, operation: &FileOperation<'_>) {
            let FileOperation { kind, offset, length, error, .. } = *operation;
            self.0.lock().push((kind, offset, length, error.is_none()));
        }
    }

    #[test]
    fn every_operation_on_a_file_is_told() {
        use FileOperationKind::{Append, Close, Flush, Read, Sync, Truncate};
        let seen = Arc::new(Seen::default());
        let observer = Arc::clone(&seen) as Arc<dyn FileObserver>;
        let inner: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let files = ObservedFileSystem::new(inner, observer, Arc::new(ManualClock::new(7)));
        let path = Path::new("/file");
        let mut writer = files.create_writable(path, &WritableOptions::default()).unwrap();
        writer.append(b"hello").unwrap();
        writer.append(b" world").unwrap();
        writer.flush().unwrap();
        writer.sync().unwrap();
        writer.close().unwrap();
        let reader = files.open_random_access(path, &RandomAccessOptions::default()).unwrap();
        assert!(reader.descriptor().is_none(), "a ring would pass the observer by");
        let mut buffer = [0; 8];
        assert_eq!(reader.read_at(6, &mut buffer, ReadLabel::default()).unwrap(), 5);
        let mut reader = files.open_sequential(path, &SequentialOptions::default()).unwrap();
        reader.skip(3).unwrap();
        assert_eq!(reader.read(&mut buffer).unwrap(), 8);
        files.truncate(path, 2).unwrap();
        assert!(files.truncate(Path::new("/other"), 2).is_err());
        let expected = [
            (Append, 0, 5, true),
            (Append, 5, 6, true),
            (Flush, 0, 0, true),
            (Sync, 0, 0, true),
            (Close, 0, 0, true),
            (Read, 6, 5, true),
            (Read, 3, 8, true),
            (Truncate, 0, 2, true),
            (Truncate, 0, 2, false),
        ];
        assert_eq!(*seen.0.lock(), expected);
    }
}
