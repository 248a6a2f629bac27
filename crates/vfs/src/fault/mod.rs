//! A file system that fails on command.
//!
//! Rules are consulted before each operation, in the order in which they were added; the first that strikes decides.
//! Without rules an operation costs one atomic load more than on the file system underneath.
//!
//! Files opened through it are never mapped and have no descriptor to offer, so that no read goes around the rules.
//!
//! With a [limit of open files](FaultInjectionFileSystem::set_open_file_limit) it is the file system of a process that
//! may have few descriptors: an open beyond the limit fails with `EMFILE` until another file is closed.

mod descriptors;
mod files;
mod rule;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::{Error, Result};
use parking_lot::Mutex;

use descriptors::{CountedLock, Descriptor, Descriptors};
use files::{FaultyRandomAccessFile, FaultySequentialFile, FaultyWritableFile};
use rule::ActiveRule;
pub use rule::{Fault, FaultRule, OperationKind, Trigger};

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::file_system::{FileEntry, FileSystem};
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::ReadLayer;
use crate::util::io_error;

/// Identifies a rule that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FaultRuleId(u64);

/// Wraps a file system and makes chosen operations fail. Clones share their rules.
#[derive(Clone, Debug)]
pub struct FaultInjectionFileSystem {
    inner: Arc<dyn FileSystem>,
    rules: Arc<Rules>,
    descriptors: Arc<Descriptors>,
}

#[derive(Debug)]
struct Rules {
    /// False while there are no rules, so that operations take no lock then.
    any: AtomicBool,
    active: Mutex<ActiveRules>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct ActiveRules {
    rules: Vec<ActiveRule>,
    last_id: u64,
}

impl Rules {
    /// Returns the fault that strikes an operation on any of these paths. Delays are performed here.
    fn consult(&self, operation: OperationKind, paths: &[&Path]) -> Option<Fault> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let fault = {
            let mut active = self.active.lock();
            let concerned = |rule: &ActiveRule| paths.iter().any(|path| rule.rule.concerns(operation, path));
            let rules = active.rules.iter_mut().filter(|rule| concerned(rule));
            rules.into_iter().find_map(|rule| rule.strikes().then_some(rule.rule.fault))
        };
        if let Some(Fault::Delay(duration)) = fault {
            self.clock.sleep(duration);
            return None;
        }
        fault
    }

    /// For operations that can only fail as a whole.
    fn check(&self, operation: OperationKind, what: &str, paths: &[&Path]) -> Result<()> {
        self.consult(operation, paths).map_or(Ok(()), |fault| Err(fault_error(fault, what, paths[0])))
    }
}

fn fault_error(fault: Fault, what: &str, path: &Path) -> Error {
    io_error(what, path, fault.to_io_error())
}

impl FaultInjectionFileSystem {
    /// Wraps a file system, without rules. Delays use the system clock.
    #[must_use]
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self::with_clock(inner, SystemClock::shared())
    }

    /// As [`new`](Self::new); `clock` measures delays.
    #[must_use]
    pub fn with_clock(inner: Arc<dyn FileSystem>, clock: Arc<dyn Clock>) -> Self {
        let rules = Rules { any: AtomicBool::new(false), active: Mutex::default(), clock };
        Self { inner, rules: Arc::new(rules), descriptors: Arc::default() }
    }

    /// At most `limit` files are open at once from now on, locks and files being written among them; an open beyond it
    /// fails with `EMFILE`. It is also what [`open_file_limit`](FileSystem::open_file_limit) answers. `None` leaves
    /// both to the file system underneath.
    pub fn set_open_file_limit(&self, limit: Option<u64>) {
        self.descriptors.set_limit(limit);
    }

    /// Files open now through this file system and its clones.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.descriptors.open_files()
    }

    /// The file system underneath.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn FileSystem> {
        &self.inner
    }

    /// Adds a rule behind the existing ones. Operations in progress are not affected.
    pub fn add_rule(&self, rule: FaultRule) -> FaultRuleId {
        let mut active = self.rules.active.lock();
        active.last_id += 1;
        let id = active.last_id;
        active.rules.push(ActiveRule::new(id, rule));
        self.rules.any.store(true, Ordering::Release);
        FaultRuleId(id)
    }

    /// Removes a rule and returns how often it struck; `None` if it was removed before.
    pub fn remove_rule(&self, id: FaultRuleId) -> Option<u64> {
        let mut active = self.rules.active.lock();
        let position = active.rules.iter().position(|rule| rule.id == id.0)?;
        let removed = active.rules.remove(position);
        self.rules.any.store(!active.rules.is_empty(), Ordering::Release);
        Some(removed.fired)
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.rules.active.lock().rules.clear();
        self.rules.any.store(false, Ordering::Release);
    }

    /// How often a rule struck; `None` if it was removed.
    #[must_use]
    pub fn fired(&self, id: FaultRuleId) -> Option<u64> {
        self.rules.active.lock().rules.iter().find(|rule| rule.id == id.0).map(|rule| rule.fired)
    }

    fn wrap_writable(&self, file: Box<dyn WritableFile>, descriptor: Descriptor) -> Box<dyn WritableFile> {
        Box::new(FaultyWritableFile::new(file, Arc::clone(&self.rules), descriptor))
    }

    /// Takes a descriptor for a file or directory that is opened.
    fn take_descriptor(&self, what: &str, path: &Path) -> Result<Descriptor> {
        Descriptor::take(&self.descriptors).map_err(|error| io_error(what, path, error))
    }
}

impl FileSystem for FaultInjectionFileSystem {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.rules.check(OperationKind::Open, "open for random reads", &[path])?;
        let descriptor = self.take_descriptor("open for random reads", path)?;
        // Options that exclude each other are refused as without the wrapper.
        let mmap = options.mmap && options.direct;
        let file = self.inner.open_random_access(path, &RandomAccessOptions { mmap, ..*options })?;
        Ok(Arc::new(FaultyRandomAccessFile::new(file, Arc::clone(&self.rules), descriptor)))
    }

    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        self.rules.check(OperationKind::Open, "open for sequential reads", &[path])?;
        let descriptor = self.take_descriptor("open for sequential reads", path)?;
        let file = self.inner.open_sequential(path, options)?;
        Ok(Box::new(FaultySequentialFile::new(file, Arc::clone(&self.rules), descriptor)))
    }

    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.rules.check(OperationKind::Create, "create for appending", &[path])?;
        let descriptor = self.take_descriptor("create for appending", path)?;
        Ok(self.wrap_writable(self.inner.create_writable(path, options)?, descriptor))
    }

    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.rules.check(OperationKind::Create, "reopen for appending", &[path])?;
        let descriptor = self.take_descriptor("reopen for appending", path)?;
        Ok(self.wrap_writable(self.inner.reopen_writable(path, options)?, descriptor))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.rules.check(OperationKind::Remove, "remove file", &[path])?;
        self.inner.remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.rules.check(OperationKind::Rename, "rename", &[from, to])?;
        self.inner.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.rules.check(OperationKind::Link, "link", &[from, to])?;
        self.inner.hard_link(from, to)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.rules.check(OperationKind::Metadata, "look up", &[path])?;
        self.inner.exists(path)
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        self.rules.check(OperationKind::Metadata, "get size", &[path])?;
        self.inner.file_size(path)
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        self.rules.check(OperationKind::Metadata, "count links", &[path])?;
        self.inner.link_count(path)
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.rules.check(OperationKind::Metadata, "get modification time", &[path])?;
        self.inner.modified_unix_seconds(path)
    }

    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()> {
        self.rules.check(OperationKind::Truncate, "truncate", &[path])?;
        let _descriptor = self.take_descriptor("truncate", path)?;
        self.inner.truncate(path, length_bytes)
    }

    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.rules.check(OperationKind::List, "list directory", &[dir])?;
        let _descriptor = self.take_descriptor("list directory", dir)?;
        self.inner.children(dir)
    }

    fn list_files(&self, dir: &Path) -> Result<Option<Vec<FileEntry>>> {
        self.rules.check(OperationKind::List, "list files", &[dir])?;
        let _descriptor = self.take_descriptor("list files", dir)?;
        self.inner.list_files(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.rules.check(OperationKind::CreateDir, "create directory", &[dir])?;
        self.inner.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.rules.check(OperationKind::Remove, "remove directory", &[dir])?;
        self.inner.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.rules.check(OperationKind::SyncDir, "sync directory", &[dir])?;
        let _descriptor = self.take_descriptor("sync directory", dir)?;
        self.inner.sync_dir(dir)
    }

    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.rules.check(OperationKind::Lock, "lock", &[path])?;
        let descriptor = self.take_descriptor("lock", path)?;
        Ok(Box::new(CountedLock::new(self.inner.lock_file(path)?, descriptor)))
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        self.rules.check(OperationKind::Metadata, "get free space", &[path])?;
        self.inner.free_space(path)
    }

    fn is_read_only(&self, dir: &Path) -> Result<bool> {
        self.rules.check(OperationKind::Metadata, "get mount flags", &[dir])?;
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
        self.descriptors.limit().or_else(|| self.inner.open_file_limit())
    }

    fn copy_of_now(&self) -> Option<Arc<dyn FileSystem>> {
        self.inner.copy_of_now()
    }

    fn io_backend(&self) -> &str {
        self.inner.io_backend()
    }
}
