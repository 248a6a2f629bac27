//! Snapshots.

use crate::db::rocksdb_t;
use crate::handle::{give, take};
use ferrock::Snapshot;

/// A moment of a database.
pub struct rocksdb_snapshot_t {
    pub(crate) snapshot: Snapshot,
}

c_functions! {
    /// The present moment, readable until it is released.
    fn rocksdb_create_snapshot(db: *mut rocksdb_t) -> *const rocksdb_snapshot_t {
        // SAFETY: the contract.
        let db = unsafe { db.as_ref() };
        db.map_or(std::ptr::null(), |db| give(rocksdb_snapshot_t { snapshot: db.db.snapshot() }))
    }

    /// Lets a moment go. Read options and iterators that name it keep it until they end.
    fn rocksdb_release_snapshot(_db: *mut rocksdb_t, snapshot: *const rocksdb_snapshot_t) {
        // SAFETY: the contract: the handle is not used again.
        drop(unsafe { take(snapshot.cast_mut()) });
    }

    /// The newest sequence number that a snapshot sees.
    fn rocksdb_snapshot_get_sequence_number(snapshot: *const rocksdb_snapshot_t) -> u64 {
        // SAFETY: the contract.
        unsafe { snapshot.as_ref() }.map_or(0, |snapshot| snapshot.snapshot.sequence().0)
    }
}
