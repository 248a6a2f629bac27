//! RocksDB's C interface from the caller's side: any shared library that has its functions, found at run time.
//!
//! ```text
//! functions.rs   name -> function pointer: the table of declarations
//! object.rs      what the library made and takes back; bytes that cross
//! cursor.rs      an iterator of the library, safe to call
//! database.rs    a database with one column family, safe to call: what a measurement needs
//! backups.rs     checkpoints and a directory of backups of such databases, safe to call
//! ingestion.rs   tables from outside: writing one, taking them in
//! export.rs      column families exported and imported
//! ```
//!
//! `ferrock compare` holds libraries side by side through [`Database`]; the interop rig, whose databases have
//! families, snapshots and settings of every kind, calls [`Functions`] itself.
#![warn(missing_docs)]

mod backups;
mod cursor;
mod database;
mod export;
mod functions;
mod ingestion;
mod object;

pub use backups::{BackupHow, BackupTold, Backups};
pub use cursor::Cursor;
pub use database::{Database, Rows};
pub use export::ExportedTable;
pub use functions::{ErrorSlot, Functions, Object, c_text};
pub use ingestion::{IngestHow, TableEntry};
pub use object::{Owned, borrowed, chars};
