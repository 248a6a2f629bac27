//! Batches of writes that can be read before they are written: RocksDB's WriteBatchWithIndex.
//!
//! ```
//! use ferrock::indexed_batch::WriteBatchWithIndex;
//! use ferrock::{ReadOptions, WriteOptions};
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let mut options = ferrock::DbOptions::default();
//! # options.create_if_missing = true;
//! # let db = ferrock::Db::open(directory.path(), options)?;
//! db.put(b"a", b"old")?;
//! db.put(b"b", b"old")?;
//! let family = db.default_column_family()?;
//! let mut batch = WriteBatchWithIndex::default();
//! batch.put_cf(&family, b"a", b"new")?;
//! batch.delete_cf(&family, b"b")?;
//! batch.put_cf(&family, b"c", b"new")?;
//!
//! // What the database will have, over what it has.
//! let read = ReadOptions::default();
//! assert_eq!(batch.get_from_batch_and_db(&db, &family, &read, b"a")?.as_deref(), Some(&b"new"[..]));
//! let mut iter = batch.iter_with_base(&family, db.iter(&read));
//! iter.seek_to_first();
//! assert_eq!((iter.key(), iter.value()), (&b"a"[..], &b"new"[..]));
//! iter.next();
//! assert_eq!(iter.key(), b"c");
//!
//! batch.write_to(&db, &WriteOptions::default())?;
//! assert!(db.get(b"b")?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! | file | is |
//! |---|---|
//! | `index.rs` | the records of a batch by family and key |
//! | `batch.rs` | [`WriteBatchWithIndex`]: a batch and its index, lookups |
//! | `iter.rs` | [`IndexedIter`]: a family of a database as the batch will leave it |
//!
//! Invariants: the index has every record that names a key, and says where in the batch its value is; it is made anew
//! after a rollback. Range deletions are refused: an index by key does not have them.
#![warn(missing_docs)]

mod batch;
mod index;
mod iter;

pub use batch::{BatchLookup, IndexMode, WriteBatchWithIndex};
pub use iter::IndexedIter;
