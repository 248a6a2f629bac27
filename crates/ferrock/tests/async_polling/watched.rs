//! A file system that notices which thread reads, and holds up threads that open files.

use crate::common::threads::Gate;
use ferrock_base::Result;
use ferrock_vfs::{
    Descriptor, FileLock, FileSystem, IoCounters, RandomAccessFile, RandomAccessOptions, ReadLabel, ReadLayer,
    SequentialFile, SequentialOptions, WritableFile, WritableOptions,
};
use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, Mutex};

thread_local! {
    static POLLS: Cell<bool> = const { Cell::new(false) };
}

/// Runs what must not block: reads and opens of this thread are noticed meanwhile.
pub fn polling<R>(action: impl FnOnce() -> R) -> R {
    let before = POLLS.with(|polls| polls.replace(true));
    let out = action();
    POLLS.with(|polls| polls.set(before));
    out
}

#[derive(Debug, Default)]
struct Seen {
    /// What was done by threads that poll.
    blocked: Mutex<Vec<String>>,
    /// Files that were opened for reading, in order.
    opened: Mutex<Vec<String>>,
    /// Shut, threads that open files for futures wait.
    gate: Gate,
}

impl Seen {
    fn note(&self, what: &str, path: &Path) {
        if POLLS.with(Cell::get) {
            self.blocked.lock().unwrap().push(format!("{what} {}", path.display()));
        }
    }
}

/// Passes everything on to another file system. Reads of its files take time, wherever the bytes are.
#[derive(Clone, Debug)]
pub struct Watched {
    inner: Arc<dyn FileSystem>,
    seen: Arc<Seen>,
}

impl Watched {
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self { inner, seen: Arc::default() }
    }

    /// What threads that polled did and should not have, since the last call.
    pub fn take_blocked(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.blocked.lock().unwrap())
    }

    /// The names of the files that were opened for reading since the last call.
    pub fn take_opened(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.opened.lock().unwrap())
    }

    /// While it is shut, opening a file for reading takes for ever, but for threads that poll.
    pub fn shut_gate(&self, is_shut: bool) {
        self.seen.gate.set(is_shut);
    }

    /// Returns when a thread waits at the gate.
    pub fn wait_at_gate(&self) {
        self.seen.gate.wait_for(1);
    }
}

#[derive(Debug)]
struct WatchedFile {
    inner: Arc<dyn RandomAccessFile>,
    seen: Arc<Seen>,
}

impl RandomAccessFile for WatchedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        self.seen.note("read", self.inner.path());
        self.inner.read_at(offset, buffer, label)
    }
    fn read_layer(&self) -> Option<&ReadLayer> {
        self.inner.read_layer()
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
    fn direct_alignment(&self) -> Option<usize> {
        self.inner.direct_alignment()
    }
    fn descriptor(&self) -> Option<Descriptor> {
        self.inner.descriptor()
    }
}

impl FileSystem for Watched {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.seen.note("opened", path);
        self.seen.opened.lock().unwrap().push(path.file_name().unwrap().to_string_lossy().into_owned());
        // The polling thread was noticed, and would wait for itself.
        if !POLLS.with(Cell::get) {
            self.seen.gate.pass();
        }
        let inner = self.inner.open_random_access(path, options)?;
        Ok(Arc::new(WatchedFile { inner, seen: Arc::clone(&self.seen) }))
    }
    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        self.seen.note("opened", path);
        self.inner.open_sequential(path, options)
    }
    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
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
        self.seen.note("asked for the size of", path);
        self.inner.file_size(path)
    }
    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.inner.modified_unix_seconds(path)
    }
    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()> {
        self.inner.truncate(path, length_bytes)
    }
    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.seen.note("listed", dir);
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
