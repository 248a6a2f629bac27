//! The LOCK file: an advisory `fcntl` write lock, as RocksDB takes it, so that both engines refuse a database that the
//! other has open.
//!
//! Such a lock belongs to the process, with two consequences. It does not keep the same process from locking twice,
//! so held locks are listed here. And closing *any* descriptor of the file drops it, so a file that is listed is not
//! even opened; it is looked up by device and inode, which sees through symbolic links and second names.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ferrock_base::Result;
use parking_lot::Mutex;
use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType};

use super::retry::retry;
use crate::file::FileLock;
use crate::util::{held_by_this_process, io_error, lock_is_held};

type FileIdentity = (u64, u64);

/// Files this process has locked.
static HELD: Mutex<Vec<FileIdentity>> = Mutex::new(Vec::new());

/// A lock held by this process.
#[derive(Debug)]
pub(super) struct PosixFileLock {
    path: PathBuf,
    identity: FileIdentity,
    file: Option<File>,
}

impl PosixFileLock {
    pub(super) fn acquire(path: &Path) -> Result<Self> {
        let mut held = HELD.lock();
        match retry(|| fs::metadata(path)) {
            Ok(metadata) if held.contains(&(metadata.dev(), metadata.ino())) => {
                return Err(held_by_this_process(path));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("look up lock", path, error)),
        }
        let failed = |error| io_error("lock", path, error);
        let file = retry(|| OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path))
            .map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let identity = (metadata.dev(), metadata.ino());
        let locked =
            retry(|| rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from));
        match locked {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::PermissionDenied) => {
                let system = format!("Resource temporarily unavailable (held by {})", holder(&file));
                return Err(lock_is_held(path, "While lock file", &system));
            }
            Err(error) => return Err(failed(error)),
        }
        held.push(identity);
        Ok(Self { path: path.to_path_buf(), identity, file: Some(file) })
    }
}

fn holder(file: &File) -> String {
    let asked = Flock::from(FlockType::WriteLock);
    match rustix::process::fcntl_getlk(file, &asked) {
        Ok(Some(Flock { pid: Some(pid), .. })) => format!("process {}", pid.as_raw_nonzero()),
        _ => "another process".to_owned(),
    }
}

impl FileLock for PosixFileLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PosixFileLock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        // Closed under the mutex: were it closed later, it would drop the lock of the next opener.
        drop(self.file.take());
        held.retain(|identity| *identity != self.identity);
    }
}
