//! Files in memory that remember what was synced, so that a test can cut the power.
//!
//! ```text
//! mod.rs       MemoryFileSystem: the FileSystem trait, operation counter, hook, trace
//! tree.rs      directories and their entries, and which of their changes are durable
//! node.rs      the bytes of a file, and which of their changes are durable
//! handles.rs   open files
//! crash.rs     the state after a crash: CrashPolicy, crash clones
//! ```
//!
//! Operations are the calls that change a file or directory: `create`, `append`, `sync`, `truncate`, `remove`,
//! `rename`, `link`, `create-dir`, `remove-dir`, `sync-dir`, `lock`. Each gets the next number, starting at 1, before
//! it is performed. To visit every crash point, run the workload once for its [`operation_count`], then again for each
//! `n` with [`power_off_at`]`(n)` and look at a [`crash_clone`]; or take clones from the
//! [hook](MemoryFileSystem::set_operation_hook).
//!
//! Reads at an offset are counted as on a simulated device: a file opened `direct` has a
//! [unit](MemoryFileSystem::set_direct_unit), requests are counted as a device would see them, and can be
//! [recorded](MemoryFileSystem::set_read_logging), as can [what is asked for ahead](MemoryFileSystem::set_prefetching).
//!
//! A directory that was created is an entry of its parent like any other: a database whose directory is new survives
//! only if the parent was synced too.
//!
//! [`operation_count`]: MemoryFileSystem::operation_count
//! [`power_off_at`]: MemoryFileSystem::power_off_at
//! [`crash_clone`]: MemoryFileSystem::crash_clone

mod crash;
mod handles;
mod node;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::{Error, Result};
use parking_lot::Mutex;

pub use crash::CrashPolicy;
use handles::{MemoryFileLock, MemoryRandomAccessFile, MemorySequentialFile, MemoryWritableFile};
use node::FileNode;
use tree::Tree;

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::file_system::FileSystem;
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::{Backend, ReadClass, ReadLayer};
use crate::util::{held_by_this_process, io_error};

/// The unit of direct I/O of most devices.
const DEFAULT_DIRECT_UNIT: usize = 512;

/// Called before an operation with its number and its trace line.
pub type OperationHook = Arc<dyn Fn(u64, &str) + Send + Sync>;

/// A file system in memory. Clones of the value are handles of the same files; [`crash_clone`](Self::crash_clone)
/// makes new ones.
#[derive(Clone, Debug, Default)]
pub struct MemoryFileSystem {
    shared: Arc<Shared>,
}

struct Shared {
    tree: Mutex<Tree>,
    layer: ReadLayer,
    /// The alignment unit of files opened `direct`.
    direct_unit: AtomicUsize,
    reads: Mutex<ReadLog>,
    read_only: AtomicBool,
    unix_seconds: AtomicU64,
    log: Mutex<OperationLog>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            tree: Mutex::default(),
            layer: ReadLayer::new(SystemClock::shared(), Backend::AtOnce),
            direct_unit: AtomicUsize::new(DEFAULT_DIRECT_UNIT),
            reads: Mutex::default(),
            read_only: AtomicBool::default(),
            unix_seconds: AtomicU64::default(),
            log: Mutex::default(),
        }
    }
}

/// A request as a device would have received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRead {
    /// The file that was read.
    pub path: PathBuf,
    /// File offset; aligned for a file opened `direct`.
    pub offset: u64,
    /// Length in bytes; aligned for a file opened `direct`.
    pub length: u64,
    /// What the bytes were for.
    pub class: ReadClass,
}

#[derive(Default)]
struct ReadLog {
    logging: bool,
    reads: Vec<LoggedRead>,
    /// `None` while prefetching is off.
    prefetches: Option<Vec<(PathBuf, Range<u64>)>>,
}

#[derive(Default)]
struct OperationLog {
    count: u64,
    /// Operations beyond this number fail.
    power_off_at: Option<u64>,
    scheduled: Vec<(u64, CrashPolicy)>,
    clones: Vec<MemoryFileSystem>,
    tracing: bool,
    trace: Vec<String>,
    hook: Option<OperationHook>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryFileSystem").field("operations", &self.log.lock().count).finish_non_exhaustive()
    }
}

impl MemoryFileSystem {
    /// An empty file system: a root directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty file system that does not remember what was synced, for databases that live in memory: a change is
    /// durable at once, takes no memory but its bytes, and is read where they lie as if it were mapped.
    /// [`crash_clone`](Self::crash_clone) is a copy of what is there, whatever the policy.
    #[must_use]
    pub fn without_crashes() -> Self {
        let tree = Tree { records: false, ..Tree::default() };
        Self { shared: Arc::new(Shared { tree: Mutex::new(tree), ..Shared::default() }) }
    }

    /// An empty file system; `clock` measures the deadlines of reads.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::new(Shared { layer: ReadLayer::new(clock, Backend::AtOnce), ..Shared::default() }) }
    }

    /// Sets the unit of files that are opened `direct` from now on, as a device would: a power of two, at first 512.
    pub fn set_direct_unit(&self, bytes: usize) {
        self.shared.direct_unit.store(bytes.max(1).next_power_of_two(), Ordering::Relaxed);
    }

    /// Starts or stops recording the requests that reads at an offset make; starting clears earlier records.
    pub fn set_read_logging(&self, logging: bool) {
        let mut log = self.shared.reads.lock();
        log.logging = logging;
        if logging {
            log.reads.clear();
        }
    }

    /// The requests recorded since the last call, in the order in which they were performed.
    #[must_use]
    pub fn take_read_log(&self) -> Vec<LoggedRead> {
        std::mem::take(&mut self.shared.reads.lock().reads)
    }

    /// Turns prefetching on or off (at first off). While it is on, [`prefetches`](RandomAccessFile::prefetches) of a
    /// buffered file is true, and ranges of [`prefetch`](RandomAccessFile::prefetch) are recorded.
    pub fn set_prefetching(&self, prefetching: bool) {
        self.shared.reads.lock().prefetches = prefetching.then(Vec::new);
    }

    /// The ranges that were prefetched since the last call, each with its file.
    #[must_use]
    pub fn take_prefetches(&self) -> Vec<(PathBuf, Range<u64>)> {
        self.shared.reads.lock().prefetches.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn prefetches(&self) -> bool {
        self.shared.reads.lock().prefetches.is_some()
    }

    fn log_prefetch(&self, path: &Path, range: Range<u64>) {
        if let Some(prefetches) = &mut self.shared.reads.lock().prefetches {
            prefetches.push((path.to_path_buf(), range));
        }
    }

    fn log_read(&self, path: &Path, offset: u64, length: u64, class: ReadClass) {
        let mut log = self.shared.reads.lock();
        if log.logging {
            log.reads.push(LoggedRead { path: path.to_path_buf(), offset, length, class });
        }
    }

    fn from_tree(tree: Tree, unix_seconds: u64) -> Self {
        let shared = Shared { tree: Mutex::new(tree), unix_seconds: unix_seconds.into(), ..Shared::default() };
        Self { shared: Arc::new(shared) }
    }

    /// A copy as a crash now would leave it. The clone has no locks and no trace, and everything in it is durable.
    #[must_use]
    pub fn crash_clone(&self, policy: CrashPolicy) -> Self {
        let tree = self.shared.tree.lock();
        Self::from_tree(crash::after_crash(&tree, policy), self.shared.unix_seconds.load(Ordering::Relaxed))
    }

    /// Operations begun so far.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.shared.log.lock().count
    }

    /// Lets the first `count` operations of this file system's life happen and fails all later ones, as if the power
    /// went: with [`crash_clone`](Self::crash_clone) afterwards, the crash comes right after operation `count`.
    pub fn power_off_at(&self, count: u64) {
        self.shared.log.lock().power_off_at = Some(count);
    }

    /// Takes a crash clone right after operation `count` (when the next one begins) without stopping anything; the
    /// clones are fetched by [`take_crash_clones`](Self::take_crash_clones).
    pub fn crash_at(&self, count: u64, policy: CrashPolicy) {
        self.shared.log.lock().scheduled.push((count, policy));
    }

    /// The clones that [`crash_at`](Self::crash_at) asked for and that came due, in order.
    #[must_use]
    pub fn take_crash_clones(&self) -> Vec<Self> {
        std::mem::take(&mut self.shared.log.lock().clones)
    }

    /// Calls `hook` before every operation, from the thread that performs it and without a lock held, so that it may
    /// take crash clones or read files.
    pub fn set_operation_hook(&self, hook: Option<OperationHook>) {
        self.shared.log.lock().hook = hook;
    }

    /// Starts or stops recording operations; starting clears earlier records.
    pub fn set_tracing(&self, tracing: bool) {
        let mut log = self.shared.log.lock();
        log.tracing = tracing;
        if tracing {
            log.trace.clear();
        }
    }

    /// The operations recorded, one line each: the verb and the last component of each path, as in
    /// `append 000004.log 120` or `rename 000005.dbtmp CURRENT`.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.shared.log.lock().trace.clone()
    }

    /// Makes every operation fail as on a read-only mount.
    pub fn set_read_only(&self, read_only: bool) {
        self.shared.read_only.store(read_only, Ordering::Relaxed);
    }

    /// Sets the time that files written from now on carry.
    pub fn set_unix_seconds(&self, seconds: u64) {
        self.shared.unix_seconds.store(seconds, Ordering::Relaxed);
    }

    /// Counts an operation, unless the power is off or the mount is read-only.
    fn begin(&self, path: &Path, verb: &str, line: impl FnOnce() -> String) -> Result<()> {
        if self.shared.read_only.load(Ordering::Relaxed) {
            return Err(io_error(verb, path, io::ErrorKind::ReadOnlyFilesystem.into()));
        }
        let mut log = self.shared.log.lock();
        self.take_scheduled(&mut log);
        if log.power_off_at.is_some_and(|count| log.count >= count) {
            return Err(io_error(verb, path, io::Error::other("the power is off")));
        }
        log.count += 1;
        let number = log.count;
        let hook = log.hook.clone();
        if !log.tracing && hook.is_none() {
            return Ok(());
        }
        let line = line();
        if log.tracing {
            log.trace.push(line.clone());
        }
        drop(log);
        if let Some(hook) = hook {
            hook(number, &line);
        }
        Ok(())
    }

    fn take_scheduled(&self, log: &mut OperationLog) {
        let count = log.count;
        while let Some(due) = log.scheduled.iter().position(|&(at, _)| at <= count) {
            let (_, policy) = log.scheduled.remove(due);
            log.clones.push(self.crash_clone(policy));
        }
    }

    fn find_file(&self, path: &Path, verb: &str) -> Result<Arc<FileNode>> {
        self.shared.tree.lock().file(path).map_err(|error| io_error(verb, path, error))
    }

    fn open_appending(&self, path: &Path, options: &WritableOptions, fresh: bool) -> Result<Box<dyn WritableFile>> {
        let verb = if fresh { "create" } else { "reopen" };
        self.begin(path, verb, || format!("{verb} {}", name(path)))?;
        let failed = |error| io_error(&format!("{verb} for appending"), path, error);
        let node = {
            let mut tree = self.shared.tree.lock();
            if fresh { tree.create_file(path) } else { tree.file(path) }.map_err(failed)?
        };
        if fresh {
            node.truncate(0);
        }
        node.touch(self.shared.unix_seconds.load(Ordering::Relaxed));
        self.shared.layer.counters().create(options.purpose);
        Ok(Box::new(MemoryWritableFile::new(self.clone(), node, path.to_path_buf(), options)))
    }

    fn count_metadata(&self) {
        self.shared.layer.counters().metadata();
    }
}

/// The last component of a path, by which traces name files.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl FileSystem for MemoryFileSystem {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        if options.direct && options.mmap {
            return Err(Error::invalid_argument("a file is read mapped or with direct I/O, not both").in_file(path));
        }
        self.shared.layer.counters().open();
        let node = self.find_file(path, "open for random reads")?;
        let mmap = options.mmap || !options.direct && !self.shared.tree.lock().records;
        let options = RandomAccessOptions { mmap, ..*options };
        Ok(Arc::new(MemoryRandomAccessFile::new(self.clone(), node, path.to_path_buf(), &options)))
    }

    fn open_sequential(&self, path: &Path, _options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        self.shared.layer.counters().open();
        let node = self.find_file(path, "open for sequential reads")?;
        Ok(Box::new(MemorySequentialFile::new(self.clone(), node, path.to_path_buf())))
    }

    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.open_appending(path, options, true)
    }

    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        self.open_appending(path, options, false)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.begin(path, "remove", || format!("remove {}", name(path)))?;
        self.shared.layer.counters().remove();
        self.shared.tree.lock().remove_file(path).map_err(|error| io_error("remove file", path, error))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.begin(from, "rename", || format!("rename {} {}", name(from), name(to)))?;
        self.shared.layer.counters().rename();
        let renamed = self.shared.tree.lock().rename(from, to);
        renamed.map_err(|error| io_error(&format!("rename to {}", to.display()), from, error))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.begin(from, "link", || format!("link {} {}", name(from), name(to)))?;
        self.shared.layer.counters().link();
        let linked = self.shared.tree.lock().hard_link(from, to);
        linked.map_err(|error| io_error(&format!("link as {}", to.display()), from, error))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.count_metadata();
        Ok(self.shared.tree.lock().lookup(path).is_ok())
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        self.count_metadata();
        Ok(self.find_file(path, "get size")?.size())
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        self.count_metadata();
        self.shared.tree.lock().link_count(path).map_err(|error| io_error("count links", path, error))
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.count_metadata();
        Ok(self.find_file(path, "get modification time")?.modified_unix_seconds())
    }

    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()> {
        self.begin(path, "truncate", || format!("truncate {} {length_bytes}", name(path)))?;
        self.shared.layer.counters().truncate();
        self.find_file(path, "truncate")?.truncate(length_bytes);
        Ok(())
    }

    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.shared.layer.counters().dir_list();
        self.shared.tree.lock().children(dir).map_err(|error| io_error("list directory", dir, error))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.count_metadata();
        if self.shared.tree.lock().is_dir(dir) {
            return Ok(());
        }
        self.begin(dir, "create directory", || format!("create-dir {}", name(dir)))?;
        self.shared.tree.lock().create_dir_all(dir).map_err(|error| io_error("create directory", dir, error))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.begin(dir, "remove directory", || format!("remove-dir {}", name(dir)))?;
        self.shared.layer.counters().remove();
        self.shared.tree.lock().remove_dir(dir).map_err(|error| io_error("remove directory", dir, error))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.begin(dir, "sync directory", || format!("sync-dir {}", name(dir)))?;
        self.shared.layer.counters().dir_sync();
        self.shared.tree.lock().sync_dir(dir).map_err(|error| io_error("sync directory", dir, error))
    }

    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.begin(path, "lock", || format!("lock {}", name(path)))?;
        let node = self.shared.tree.lock().create_file(path).map_err(|error| io_error("lock", path, error))?;
        if !node.lock() {
            return Err(held_by_this_process(path));
        }
        Ok(Box::new(MemoryFileLock::new(node, path.to_path_buf())))
    }

    fn free_space(&self, _path: &Path) -> Result<u64> {
        self.count_metadata();
        Ok(1 << 40)
    }

    fn is_read_only(&self, _dir: &Path) -> Result<bool> {
        self.count_metadata();
        Ok(self.shared.read_only.load(Ordering::Relaxed))
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        Some(&self.shared.layer)
    }

    fn counters(&self) -> &IoCounters {
        self.shared.layer.counters()
    }

    fn copy_of_now(&self) -> Option<Arc<dyn FileSystem>> {
        // An operation, so that a test can look on; it changes nothing, so no mount or power keeps it from happening.
        let _ = self.begin(Path::new("/"), "copy", || "copy".to_owned());
        Some(Arc::new(self.crash_clone(CrashPolicy::KeepAll)))
    }

    fn io_backend(&self) -> &str {
        "memory"
    }
}
