//! The machine's own files.
//!
//! ```text
//! mod.rs       PosixFileSystem: names, directories, opening
//! read.rs      reads at any offset (buffered, O_DIRECT, mapped) and in sequence
//! write.rs     WritableFile: the choice between the three ways of writing, poisoning after a failure
//! target.rs    state shared by the three ways: the descriptor, positions, reservations, limiter
//! direct.rs    aligned units with O_DIRECT
//! window.rs    a shared mapping over reserved space
//! next_window.rs, reserved.rs   the window that another thread makes ahead; pages of reserved space
//! device.rs    the capabilities of the device and its file system
//! lock.rs      the LOCK file
//! retry.rs     repeating interrupted calls
//! ring.rs      io_uring as the ring of range reads
//! ```
//!
//! Nothing outside this directory makes a system call.
#![expect(clippy::disallowed_methods, reason = "the one place where files are really opened")]

mod append_buffer;
mod device;
mod direct;
mod lock;
mod log_blocks;
mod next_window;
mod read;
mod reserved;
mod retry;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod ring;
mod target;
#[cfg(test)]
mod tests;
mod window;
mod write;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::{Error, Result};

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::file_system::FileSystem;
use crate::io_stats::{IoMetric, timed};
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::{Backend, ReadLayer};
use crate::util::io_error;
use retry::retry;

/// Which backend performs sets of reads, as forced by `FERROCK_IO_BACKEND`.
pub const IO_BACKEND_VARIABLE: &str = "FERROCK_IO_BACKEND";

/// The operating system's files.
///
/// The backend for sets of reads is chosen when the value is made: io_uring where a probe shows that a ring works,
/// else `pread`. `FERROCK_IO_BACKEND=pread|io_uring` forces one; when the forced one is not available, every open
/// fails and says so.
#[derive(Debug)]
pub struct PosixFileSystem {
    counters: Arc<IoCounters>,
    layer: Arc<ReadLayer>,
    /// Whether reads go through io_uring, or why nothing can be read.
    has_ring: Result<bool>,
    window_thread: Arc<next_window::WindowThread>,
}

/// The backend that is forced, or the best that works.
fn choose(forced: Option<&str>) -> Result<Backend> {
    match forced {
        None => Ok(probe().unwrap_or(Backend::Threads)),
        Some("pread") => Ok(Backend::Threads),
        Some("io_uring") => probe().map_err(|error| {
            Error::not_supported(format!(
                "{IO_BACKEND_VARIABLE}=io_uring, but no ring can be used here ({error}); unset it or set pread"
            ))
        }),
        Some(other) => Err(Error::invalid_argument(format!(
            "{IO_BACKEND_VARIABLE}={other} is not a backend; it may be pread or io_uring"
        ))),
    }
}

#[cfg(all(target_os = "linux", feature = "io-uring"))]
fn probe() -> io::Result<Backend> {
    ring::probe()?;
    Ok(Backend::Ring(|ring_use| Ok(Box::new(ring::UringDevice::open(ring_use)?))))
}

#[cfg(not(all(target_os = "linux", feature = "io-uring")))]
fn probe() -> io::Result<Backend> {
    let what = if cfg!(target_os = "linux") { "build with the feature `io-uring`" } else { "it is Linux's" };
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

impl Default for PosixFileSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl PosixFileSystem {
    /// The machine's files, with the backend the environment asks for or the machine allows.
    #[must_use]
    pub fn new() -> Self {
        match std::env::var(IO_BACKEND_VARIABLE) {
            Ok(forced) if !forced.is_empty() => Self::with_backend(Some(&forced)),
            _ => Self::with_backend(None),
        }
    }

    /// As [`new`](Self::new), with the backend named by the caller instead of the environment.
    #[must_use]
    pub fn with_backend(forced: Option<&str>) -> Self {
        Self::with_backend_and_clock(forced, SystemClock::shared())
    }

    /// As [`with_backend`](Self::with_backend); `clock` measures the deadlines of reads.
    #[must_use]
    pub fn with_backend_and_clock(forced: Option<&str>, clock: Arc<dyn Clock>) -> Self {
        let backend = choose(forced);
        let has_ring = backend.as_ref().map(|backend| matches!(backend, Backend::Ring(_))).map_err(Clone::clone);
        let layer = Arc::new(ReadLayer::new(clock, backend.unwrap_or(Backend::Threads)));
        Self { counters: Arc::clone(layer.counters()), layer, has_ring, window_thread: Arc::default() }
    }

    fn check_backend(&self) -> Result<()> {
        self.has_ring.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn open_appending(&self, path: &Path, options: &WritableOptions, fresh: bool) -> Result<Box<dyn WritableFile>> {
        self.check_backend()?;
        let what = if fresh { "create for appending" } else { "reopen for appending" };
        // Readable, too: direct and mapped appends read the last page of an existing file.
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(fresh).truncate(fresh);
        if options.direct {
            device::request_direct(&mut open);
        }
        let file = retry(|| open.open(path)).map_err(|error| device::open_error(what, path, error, options.direct))?;
        device::finish_open(&file, path, options.direct)?;
        self.counters.create(options.purpose);
        let target = target::Target::new(file, path, options, Arc::clone(&self.counters))?;
        Ok(Box::new(write::PosixWritableFile::new(target, options, &self.window_thread)?))
    }
}

impl FileSystem for PosixFileSystem {
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        self.check_backend()?;
        self.counters.open();
        timed(IoMetric::OpenNanos, || read::open_random_access(path, options, Arc::clone(&self.layer)))
    }

    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        self.check_backend()?;
        self.counters.open();
        timed(IoMetric::OpenNanos, || read::open_sequential(path, options, Arc::clone(&self.counters)))
    }

    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        timed(IoMetric::OpenNanos, || self.open_appending(path, options, true))
    }

    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        timed(IoMetric::OpenNanos, || self.open_appending(path, options, false))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.counters.remove();
        retry(|| fs::remove_file(path)).map_err(|error| io_error("remove file", path, error))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.counters.rename();
        retry(|| fs::rename(from, to)).map_err(|error| io_error(&format!("rename to {}", to.display()), from, error))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.counters.link();
        // Of what a symbolic link points to: a name of the link would be gone with the other's directory.
        let link =
            || rustix::fs::linkat(rustix::fs::CWD, from, rustix::fs::CWD, to, rustix::fs::AtFlags::SYMLINK_FOLLOW);
        retry(|| link().map_err(io::Error::from))
            .map_err(|error| io_error(&format!("link as {}", to.display()), from, error))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.counters.metadata();
        match retry(|| fs::metadata(path)) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(io_error("look up", path, error)),
        }
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        self.counters.metadata();
        let metadata = retry(|| fs::metadata(path)).map_err(|error| io_error("get size", path, error))?;
        Ok(metadata.len())
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.counters.metadata();
        let modified =
            retry(|| fs::metadata(path)?.modified()).map_err(|error| io_error("get modification time", path, error))?;
        Ok(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()> {
        self.counters.truncate();
        retry(|| OpenOptions::new().write(true).open(path)?.set_len(length_bytes))
            .map_err(|error| io_error("truncate", path, error))
    }

    #[cfg(unix)]
    fn link_count(&self, path: &Path) -> Result<u64> {
        use std::os::unix::fs::MetadataExt;
        self.counters.metadata();
        retry(|| fs::metadata(path)).map(|found| found.nlink()).map_err(|error| io_error("count links", path, error))
    }

    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        self.counters.dir_list();
        let failed = |error| io_error("list directory", dir, error);
        let mut names = Vec::new();
        for entry in retry(|| fs::read_dir(dir)).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.check_backend()?;
        self.counters.metadata();
        retry(|| fs::create_dir_all(dir)).map_err(|error| io_error("create directory", dir, error))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.counters.remove();
        retry(|| fs::remove_dir(dir)).map_err(|error| io_error("remove directory", dir, error))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.counters.dir_sync();
        // The parent of a bare name is the empty path, which means here.
        let opened = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        retry(|| fs::File::open(opened)?.sync_all()).map_err(|error| io_error("sync directory", dir, error))
    }

    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.check_backend()?;
        self.counters.metadata();
        Ok(Box::new(lock::PosixFileLock::acquire(path)?))
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        self.counters.metadata();
        let stat = device::stat_volume(path).map_err(|error| io_error("get free space", path, error))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn is_read_only(&self, dir: &Path) -> Result<bool> {
        self.counters.metadata();
        let stat = device::stat_volume(dir).map_err(|error| io_error("get mount flags", dir, error))?;
        Ok(stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        Some(&self.layer)
    }

    fn counters(&self) -> &IoCounters {
        &self.counters
    }

    fn open_file_limit(&self) -> Option<u64> {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current
    }

    fn io_backend(&self) -> &str {
        match &self.has_ring {
            Ok(true) => "io_uring",
            Ok(false) => "pread",
            Err(_) => "unavailable",
        }
    }
}
