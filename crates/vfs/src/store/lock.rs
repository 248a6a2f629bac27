//! An object that excludes other writers.
//!
//! ```text
//! PATH.held   "ferrock <16 hexadecimal digits>\n"      put only if there is no object of the name
//! ```
//!
//! Not `PATH` itself: in a directory, which a store may show, that is a file that stays.
//!
//! Invariants:
//! - A file system that finds its own token holds the lock, if none of its guards does: the store's answer was lost, or
//!   the removal failed.
//! - The object of a program that was killed stays, as a store does not know that it is gone, and no time tells. It has
//!   to be removed by hand, and the error says so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrock_base::{Error, ErrorKind, Result};
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutMode, PutOptions};

use super::{Shared, key_of, store_error};
use crate::file::FileLock;
use crate::util::held_by_this_process;

#[derive(Debug)]
struct StoreLock {
    shared: Arc<Shared>,
    /// As it was named.
    path: PathBuf,
    key: Key,
}

pub(super) fn lock(shared: &Arc<Shared>, path: &Path) -> Result<Box<dyn FileLock>> {
    let mut held = OsString::from(path);
    held.push(".held");
    let held = PathBuf::from(held);
    let key = key_of(&held)?;
    if !shared.held.lock().insert(key.clone()) {
        return Err(held_by_this_process(path));
    }
    if let Err(error) = take(shared, &held, &key) {
        shared.held.lock().remove(&key);
        return Err(error);
    }
    Ok(Box::new(StoreLock { shared: Arc::clone(shared), path: path.to_path_buf(), key }))
}

fn take(shared: &Shared, path: &Path, key: &Key) -> Result<()> {
    if !shared.options.excludes_writers {
        return Ok(());
    }
    let options = PutOptions::from(PutMode::Create);
    match shared.wait(path, shared.store.put_opts(key, shared.token.clone().into(), options))? {
        Ok(_) => Ok(()),
        Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
            let holder = shared.wait(path, async { shared.store.get(key).await?.bytes().await })?;
            match holder {
                Ok(holder) if holder == shared.token.as_bytes() => Ok(()),
                Err(error) if !matches!(error, object_store::Error::NotFound { .. }) => {
                    Err(store_error("read", path, error))
                }
                _ => {
                    let what = "lock: another engine has put this object, or one ended without removing it; if none \
                                writes here now, remove the object and try again";
                    Err(Error::new(ErrorKind::Busy, what).in_file(path))
                }
            }
        }
        Err(error @ (object_store::Error::NotSupported { .. } | object_store::Error::NotImplemented { .. })) => {
            let what = format!(
                "lock: {error}: the store cannot put an object only if there is none; use another store, or set \
                 excludes_writers = false and see to it that one engine writes at a time"
            );
            Err(Error::not_supported(what).in_file(path))
        }
        Err(error) => Err(store_error("lock", path, error)),
    }
}

impl FileLock for StoreLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if self.shared.options.excludes_writers {
            // What stays has our token: this file system takes it again. What has another is another engine's, which
            // took it when ours was removed.
            let read = async { self.shared.store.get(&self.key).await?.bytes().await };
            let is_ours = self
                .shared
                .wait(&self.path, read)
                .is_ok_and(|held| held.is_ok_and(|holder| holder == self.shared.token.as_bytes()));
            if is_ours {
                let _ = self.shared.ask("unlock", &self.path, self.shared.store.delete(&self.key));
            }
        }
        self.shared.held.lock().remove(&self.key);
    }
}
