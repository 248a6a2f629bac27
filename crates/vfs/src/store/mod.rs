//! Objects of a store (S3, GCS, Azure, a directory, memory) as the files of a directory of backups.
//!
//! ```text
//! path    backups/db/meta/7  --> key backups/db/meta/7     the first slash and dots go, nothing is escaped
//! write   append --> a part is full --> put_part, put_part ..    sync or close --> complete: the object is there
//!                `-- it never is    --> sync or close --> put: the object is there
//!         dropped before --> abort: there never was an object
//! read    head (the size) --> get of a range, get of the next ..
//! lock    put of PATH.held, if there is none --> removed when the guard is dropped
//! ```
//!
//! | file | is |
//! |---|---|
//! | `options.rs` | what the file system is told, and how threads wait for the store |
//! | `files.rs` | open files |
//! | `lock.rs` | the object that excludes other writers |
//!
//! Invariants:
//! - An object appears under its name when all of its bytes are in the store, and not before
//!   ([`FileSystem::creates_whole_files`]). So nothing is renamed, which stores do by a copy, and large objects not at
//!   all.
//! - What a store has acknowledged is durable: syncing a directory asks it for nothing.
//! - A directory is there as long as an object is below it. One that was made is empty, not missing, for this file
//!   system alone.
//! - Of other operations there are none: renaming, linking, cutting, appending to what is there and reading at any
//!   offset are refused.
//!
//! The store's methods are futures. The thread that asks waits for each, by parking itself or by a function of the
//! program ([`ObjectStoreOptions::block_on`]); what runs at the same time are the threads of the caller.
//!
//! Tried and lost: a file that is copied to its name behind an upload under another one, as a directory of backups has
//! them. It moves every byte twice, and S3 copies no object above 5 GiB by one request.

mod files;
mod lock;
mod options;

pub use options::{BlockOn, ObjectStoreOptions};

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use ferrock_base::random::Random;
use ferrock_base::{Error, Result};
use object_store::path::Path as Key;
use object_store::{ListResult, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::file_system::{FileEntry, FileSystem};
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::sync::Mutex;

/// The objects of a store as files: what directories of backups need, and no more.
///
/// ```
/// use ferrock_vfs::object_store::memory::InMemory;
/// use ferrock_vfs::{FileSystem, ObjectStoreFileSystem, ObjectStoreOptions, WritableOptions, read_file};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// # fn main() -> ferrock_base::Result<()> {
/// let files = ObjectStoreFileSystem::new(Arc::new(InMemory::new()), ObjectStoreOptions::default())?;
/// let path = Path::new("backups/db/meta/1");
/// let mut file = files.create_writable(path, &WritableOptions::default())?;
/// file.append(b"text")?;
/// assert!(!files.exists(path)?);
/// file.close()?;
/// assert_eq!(read_file(&files, path)?, b"text");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ObjectStoreFileSystem {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn ObjectStore>,
    options: ObjectStoreOptions,
    /// What this file system writes into the objects by which it excludes others.
    token: String,
    /// Locks that guards of this file system hold.
    held: Mutex<HashSet<Key>>,
    /// Directories that were made.
    made: Mutex<HashSet<Key>>,
    counters: IoCounters,
}

impl ObjectStoreFileSystem {
    /// The objects of `store`. Asks it for nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for options out of their bounds.
    pub fn new(store: Arc<dyn ObjectStore>, options: ObjectStoreOptions) -> Result<Self> {
        options.validate()?;
        let token = format!("ferrock {:016x}\n", Random::from_entropy().next_u64());
        let shared = Shared {
            store,
            options,
            token,
            held: Mutex::default(),
            made: Mutex::default(),
            counters: IoCounters::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    fn head(&self, operation: &str, path: &Path) -> Result<ObjectMeta> {
        let key = key_of(path)?;
        self.shared.counters.metadata();
        self.shared.ask(operation, path, self.shared.store.head(&key))
    }

    /// What is in a directory.
    fn list(&self, dir: &Path) -> Result<ListResult> {
        let key = key_of(dir)?;
        self.shared.counters.dir_list();
        let prefix = Some(&key).filter(|key| !key.is_root());
        let listed = self.shared.ask("list", dir, self.shared.store.list_with_delimiter(prefix))?;
        let is_empty = listed.objects.is_empty() && listed.common_prefixes.is_empty();
        if is_empty && !key.is_root() && !self.shared.made.lock().contains(&key) {
            return Err(Error::io("list", dir, io::Error::from(io::ErrorKind::NotFound)));
        }
        Ok(listed)
    }
}

impl Shared {
    /// Waits for the store's answer.
    fn ask<T>(
        &self,
        operation: &str,
        path: &Path,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        self.wait(path, request)?.map_err(|error| store_error(operation, path, error))
    }

    fn wait<T>(&self, path: &Path, request: impl Future<Output = T>) -> Result<T> {
        let mut answer = None;
        {
            let request = std::pin::pin!(async { answer = Some(request.await) });
            self.options.wait_for(request);
        }
        answer.ok_or_else(|| {
            let what = "block_on returned before the store's answer: it must poll the future until it is ready";
            Error::invalid_argument(what).in_file(path)
        })
    }
}

/// The key of a path: its parts below the root.
fn key_of(path: &Path) -> Result<Key> {
    let refused = |what: &str| {
        let what = format!("{what}: name objects by plain parts of UTF-8, such as backups/db");
        Error::invalid_argument(what).in_file(path)
    };
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_str().ok_or_else(|| refused("no key of an object"))?),
            Component::ParentDir | Component::Prefix(_) => {
                return Err(refused("an object store has no such directory"));
            }
        }
    }
    Key::parse(parts.join("/")).map_err(|error| refused(&error.to_string()))
}

fn store_error(operation: &str, path: &Path, error: object_store::Error) -> Error {
    use object_store::Error as Store;
    let (kind, remedy) = match &error {
        Store::NotFound { .. } => (io::ErrorKind::NotFound, None),
        Store::AlreadyExists { .. } => (io::ErrorKind::AlreadyExists, None),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, Some("not permitted: check the credentials and the rights of the store"))
        }
        Store::NotSupported { .. } | Store::NotImplemented { .. } => {
            return Error::not_supported(format!("{operation}: {error}: use another store")).in_file(path);
        }
        _ => (io::ErrorKind::Other, None),
    };
    let error = Error::io(operation, path, io::Error::new(kind, error));
    match remedy {
        Some(remedy) => error.context(remedy),
        None => error,
    }
}

fn has_none<T>(what: &str, path: &Path) -> Result<T> {
    let what = format!("an object store does not {what}, and backups do without: keep other files in a directory");
    Err(Error::not_supported(what).in_file(path))
}

impl FileSystem for ObjectStoreFileSystem {
    fn open_random_access(&self, path: &Path, _: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>> {
        has_none("open files for reads at any offset", path)
    }

    fn open_sequential(&self, path: &Path, _: &SequentialOptions) -> Result<Box<dyn SequentialFile>> {
        let size = self.head("open", path)?.size;
        self.shared.counters.open();
        Ok(Box::new(files::StoreSequentialFile::new(Arc::clone(&self.shared), path, key_of(path)?, size)))
    }

    /// Asks the store for nothing before a part is full, or the file is synced or closed.
    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        let key = key_of(path)?;
        if key.is_root() {
            return Err(Error::invalid_argument("the root of a store is no file").in_file(path));
        }
        self.shared.counters.create(options.purpose);
        Ok(Box::new(files::StoreWritableFile::new(Arc::clone(&self.shared), path, key, options.purpose)))
    }

    fn reopen_writable(&self, path: &Path, _: &WritableOptions) -> Result<Box<dyn WritableFile>> {
        has_none("append to what is there", path)
    }

    /// Stores that do not tell whether there was an object say that it is removed.
    fn remove_file(&self, path: &Path) -> Result<()> {
        let key = key_of(path)?;
        self.shared.counters.remove();
        self.shared.ask("remove", path, self.shared.store.delete(&key))
    }

    fn rename(&self, from: &Path, _: &Path) -> Result<()> {
        has_none("rename", from)
    }

    fn hard_link(&self, from: &Path, _: &Path) -> Result<()> {
        has_none("give files second names", from)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        if key_of(path)?.is_root() {
            return Ok(true);
        }
        match self.head("look up", path) {
            Err(error) if error.is_not_found() => match self.list(path) {
                Err(error) if error.is_not_found() => Ok(false),
                listed => listed.map(|_| true),
            },
            found => found.map(|_| true),
        }
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        Ok(self.head("look up", path)?.size)
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        Ok(unix_seconds_of(&self.head("look up", path)?))
    }

    fn truncate(&self, path: &Path, _: u64) -> Result<()> {
        has_none("cut files", path)
    }

    fn children(&self, dir: &Path) -> Result<Vec<String>> {
        let listed = self.list(dir)?;
        let objects = listed.objects.iter().filter_map(|object| object.location.filename());
        let directories = listed.common_prefixes.iter().filter_map(Key::filename);
        let mut names: Vec<String> = objects.chain(directories).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn list_files(&self, dir: &Path) -> Result<Option<Vec<FileEntry>>> {
        let entry = |object: &ObjectMeta| {
            let name = object.location.filename()?.to_owned();
            Some(FileEntry { name, size_bytes: object.size, modified_unix_seconds: unix_seconds_of(object) })
        };
        Ok(Some(self.list(dir)?.objects.iter().filter_map(entry).collect()))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        let mut key = key_of(dir)?;
        let mut made = self.shared.made.lock();
        while made.insert(key.clone()) {
            let Some(parent) = key.parent() else { break };
            key = parent;
        }
        Ok(())
    }

    /// A directory goes with its last object.
    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.shared.made.lock().remove(&key_of(dir)?);
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        lock::lock(&self.shared, path)
    }

    fn free_space(&self, _: &Path) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn is_read_only(&self, _: &Path) -> Result<bool> {
        Ok(false)
    }

    fn creates_whole_files(&self) -> bool {
        true
    }

    fn counters(&self) -> &IoCounters {
        &self.shared.counters
    }

    fn io_backend(&self) -> &str {
        "object store"
    }
}

fn unix_seconds_of(object: &ObjectMeta) -> u64 {
    u64::try_from(object.last_modified.timestamp()).unwrap_or(0)
}
