//! A file system that remembers how files were opened.

use ferrock::Result;
use ferrock_vfs::{
    FileLock, FileSystem, IoCounters, MemoryFileSystem, RandomAccessFile, RandomAccessOptions, ReadLayer,
    SequentialFile, SequentialOptions, WritableFile, WritableOptions,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// What was asked, as `extension: options`.
#[derive(Clone, Debug)]
pub struct RecordingFileSystem {
    pub inner: MemoryFileSystem,
    pub asked: Arc<Mutex<BTreeSet<String>>>,
}

impl RecordingFileSystem {
    pub fn new(inner: MemoryFileSystem) -> Self {
        Self { inner, asked: Arc::default() }
    }

    fn record(&self, path: &Path, options: &dyn std::fmt::Debug) {
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        self.asked.lock().insert(format!("{extension}: {options:?}"));
    }
}

impl FileSystem for RecordingFileSystem {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.record(path, options);
        self.inner.open_random_access(path, options)
    }
    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        self.inner.open_sequential(path, options)
    }
    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.record(path, options);
        self.inner.create_writable(path, options)
    }
    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.inner.reopen_writable(path, options)
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
        self.inner.truncate(path, length_bytes)
    }
    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.inner.children(dir)
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
    fn counters(&self) -> &IoCounters {
        self.inner.counters()
    }
    fn io_backend(&self) -> &str {
        self.inner.io_backend()
    }
}
