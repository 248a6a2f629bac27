//! What the file system over a store is told, and how its threads wait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

use ferrock_base::{Error, Result};

/// The most bytes of a part, and of a read.
const MAX_BYTES: usize = 1 << 30;

/// Polls a future until it is ready, on the thread that calls it.
pub type BlockOn = Arc<dyn Fn(Pin<&mut dyn Future<Output = ()>>) + Send + Sync>;

/// How objects of a store are written and read.
///
/// Stores of a network need the runtime of tokio. It is the program's, and has more than one thread, or else its one
/// thread is busy in `block_on` itself; a program whose thread is one of tokio's calls the backup engine from
/// `tokio::task::spawn_blocking`.
///
/// ```
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// let handle = runtime.handle().clone();
/// let options = ferrock_vfs::ObjectStoreOptions {
///     block_on: Some(std::sync::Arc::new(move |request| handle.block_on(request))),
///     ..Default::default()
/// };
/// assert!(options.validate().is_ok());
/// ```
#[derive(Clone)]
pub struct ObjectStoreOptions {
    /// Bytes of a part of an upload, up to 1 GiB; each thread that writes has that much in memory (default: 8 MiB).
    /// Files that are not longer are put by one request. S3 refuses parts below 5 MiB, and more than 10 000 of them, so
    /// that this times 10 000 bounds the size of a file.
    pub part_bytes: usize,
    /// Bytes of a read, up to 1 GiB; each thread that reads has that much in memory (default: 4 MiB).
    pub read_bytes: usize,
    /// The file system's locks are objects that are put only if there is none of their names, which most stores can do
    /// (default). False, for those that cannot: locks exclude this file system alone, and the caller sees to it that no
    /// other one writes to the same place.
    pub excludes_writers: bool,
    /// How a thread waits for the store. `None`: it parks itself until it is woken, which is enough for
    /// `object_store`'s stores in memory and in a directory.
    pub block_on: Option<BlockOn>,
}

impl Default for ObjectStoreOptions {
    fn default() -> Self {
        Self { part_bytes: 8 << 20, read_bytes: 4 << 20, excludes_writers: true, block_on: None }
    }
}

impl fmt::Debug for ObjectStoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStoreOptions")
            .field("part_bytes", &self.part_bytes)
            .field("read_bytes", &self.read_bytes)
            .field("excludes_writers", &self.excludes_writers)
            .finish_non_exhaustive()
    }
}

impl ObjectStoreOptions {
    /// Finds every value out of its bounds.
    ///
    /// # Errors
    /// `InvalidArgument` naming each value and its bound.
    pub fn validate(&self) -> Result<()> {
        let values = [("part_bytes", self.part_bytes), ("read_bytes", self.read_bytes)];
        let wrong: Vec<String> = values
            .iter()
            .filter(|(_, bytes)| !(1..=MAX_BYTES).contains(bytes))
            .map(|(name, bytes)| format!("{name} = {bytes}: it must be from 1 to {MAX_BYTES}"))
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("object store: {}", wrong.join("; "))))
    }

    pub(super) fn wait_for(&self, request: Pin<&mut dyn Future<Output = ()>>) {
        match &self.block_on {
            Some(block_on) => block_on(request),
            None => park_until_ready(request),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn park_until_ready(mut request: Pin<&mut dyn Future<Output = ()>>) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    while request.as_mut().poll(&mut context).is_pending() {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_bounds_are_named() {
        ObjectStoreOptions::default().validate().unwrap();
        let options = ObjectStoreOptions { part_bytes: 0, read_bytes: MAX_BYTES + 1, ..Default::default() };
        let error = options.validate().unwrap_err().to_string();
        assert!(error.contains("part_bytes = 0: it must be from 1 to 1073741824"), "{error}");
        assert!(error.contains("read_bytes = 1073741825"), "{error}");
    }
}
