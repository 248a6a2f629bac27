//! What the reads of a database share besides the SuperVersions of its families: snapshots, the cache of blocks, the
//! open blob files, and the threads that open files for futures.
//!
//! It has no lock of its own: each part has one, which is a leaf and is held for the time of a look-up alone. A read of
//! a key whose blocks are in memory comes to none of them.

use crate::files::openings::{Opening, Openings, helper_threads};
use crate::snapshot::SnapshotList;
use ferrock_base::thread::{Job, Spawner, ThreadPool};
use ferrock_base::{FileNumber, Result};
use ferrock_table::{Table, TableBlockCache};
use ferrock_tree::blob::{BlobCacheSession, BlobFileReader, BlobSource};
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct ReadPath {
    snapshots: Arc<SnapshotList>,
    /// For families that have none of their own.
    block_cache: Arc<TableBlockCache>,
    /// The open blob files of all families.
    blob_source: Arc<BlobSource>,
    /// Of the keys of values in caches.
    blob_session: BlobCacheSession,
    /// Threads for what would block a polling thread.
    helpers: ThreadPool<Job>,
    opening_tables: Openings<Table>,
    opening_blob_files: Openings<BlobFileReader>,
}

impl ReadPath {
    pub(crate) fn new(
        block_cache: Arc<TableBlockCache>,
        blob_source: Arc<BlobSource>,
        blob_session: BlobCacheSession,
        spawner: Arc<dyn Spawner>,
    ) -> Self {
        Self {
            snapshots: Arc::new(SnapshotList::default()),
            block_cache,
            blob_source,
            blob_session,
            helpers: helper_threads(spawner),
            opening_tables: Openings::default(),
            opening_blob_files: Openings::default(),
        }
    }

    #[inline]
    pub(crate) fn snapshots(&self) -> &Arc<SnapshotList> {
        &self.snapshots
    }

    #[inline]
    pub(crate) fn block_cache(&self) -> &Arc<TableBlockCache> {
        &self.block_cache
    }

    #[inline]
    pub(crate) fn blob_source(&self) -> &Arc<BlobSource> {
        &self.blob_source
    }

    pub(crate) fn blob_session(&self) -> BlobCacheSession {
        self.blob_session
    }

    /// Runs what would block a polling thread, or a reader.
    pub(crate) fn run_aside(&self, job: Job) {
        self.helpers.run(job);
    }

    /// A table that `open` opens on a thread of the database, once for all futures that wait for it.
    pub(crate) fn open_table(
        &self,
        number: FileNumber,
        open: impl FnOnce() -> Result<Arc<Table>> + Send + 'static,
    ) -> Opening<Table> {
        self.opening_tables.start(&self.helpers, number, open)
    }

    /// As [`open_table`](Self::open_table), for a blob file.
    pub(crate) fn open_blob_file(
        &self,
        number: FileNumber,
        open: impl FnOnce() -> Result<Arc<BlobFileReader>> + Send + 'static,
    ) -> Opening<BlobFileReader> {
        self.opening_blob_files.start(&self.helpers, number, open)
    }
}
