//! Databases whose entries expire: RocksDB's DBWithTTL.
//!
//! Every value and every merge operand ends with the time at which it was written. Compactions drop values that are
//! older than the family's time to live; reads take the time away.
//!
//! ```text
//! value   [bytes of the caller][fixed32 unix seconds]
//! ```
//!
//! ```
//! use ferrock::ttl::TtlDb;
//! use std::time::Duration;
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! let mut options = ferrock::DbOptions::default();
//! options.create_if_missing = true;
//! let db = TtlDb::open(directory.path(), options, Some(Duration::from_secs(3600)))?;
//! db.put(b"key", b"value")?;
//! assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! // Flushes, compactions, snapshots and properties are those of the database beneath.
//! db.db().flush()?;
//! # Ok(())
//! # }
//! ```
//!
//! | file | is |
//! |---|---|
//! | `suffix.rs` | the time behind a value: written, checked, taken away; batches with it |
//! | `filter.rs` | the compaction filter that drops what is too old, around that of the caller |
//! | `merge.rs` | the merge operator that takes times away and puts one behind the result, around that of the caller |
//! | `db.rs` | [`TtlDb`] |
//! | `iter.rs` | [`TtlIter`] |
//!
//! Invariants: an entry is dropped by no read and no flush, only by a compaction that rewrites its table, so it may be
//! seen after its time, and never is gone before it. A family without a time to live keeps what it has, and its values
//! have times all the same. What is read as such a database and is none is `Corruption`: its values end with no time
//! that can be one.
#![warn(missing_docs)]

mod db;
mod filter;
mod iter;
mod merge;
mod suffix;

pub use db::{TtlDb, TtlFamily, WeakTtlDb};
pub use iter::TtlIter;
