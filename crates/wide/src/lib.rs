//! Tables of wide partitions: rows in the order of typed keys, written and read a partition at a time.
//!
//! ```text
//! key     [partition components][clustering components]      in the order of the tuples, byte by byte
//! value   columns, each with its id and its type
//! ```
//!
//! A [`Table`] is a way to use a column family, not a kind of storage: its rows are ordinary keys and values, which
//! RocksDB and the rest of Ferrock can read. Their bytes are specified in docs/format/wide-keys.md; the guide is
//! docs/wide.md.
//!
//! ```
//! use ferrock::wide::{ColumnType, Schema, Table, Timestamp};
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let mut options = ferrock::DbOptions::default();
//! # options.create_if_missing = true;
//! # let db = ferrock::Db::open(directory.path(), options)?;
//! let schema = Schema::new()
//!     .partition_by("room", ColumnType::Text)
//!     .clustered_by_descending("at", ColumnType::Timestamp)
//!     .column(1, "body", ColumnType::Text);
//! let messages = Table::open_or_create(&db, "messages", schema)?;
//! for (second, body) in [(1, "first"), (2, "second"), (3, "third")] {
//!     messages.insert("lobby", Timestamp(second * 1_000_000), &[("body", body.into())])?;
//! }
//! // The two newest messages of a room.
//! let mut rows = messages.partition("lobby").limit(2).iter()?;
//! while let Some(row) = rows.next_row()? {
//!     println!("{:?}: {:?}", row.clustering()?, row.get("body")?);
//! }
//! # assert_eq!(messages.partition("lobby").iter()?.count(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! The documentation of each call gives its cost in reads of files. The cost is counted with the indexes of tables in
//! memory and for one table that has the rows; each further table that the range may lie in, in level 0 or below, costs
//! the same.

mod batch;
mod key_range;
mod query;
mod row;
mod rows;
mod schema;
mod scratch;
mod shared;
mod table;
mod tuple;

pub use batch::Batch;
pub use ferrock_format::wide::{Column, ColumnType, Component, Direction, KeyColumn, Timestamp, Uuid, Value, ValueRef};
pub use query::Query;
pub use row::{ColumnKey, Row, RowView};
pub use rows::Rows;
pub use schema::Schema;
pub use table::Table;
pub use tuple::{KeyTuple, RowRange};
