//! Tables outside of a database: written to be ingested, or read for themselves.
//!
//! ```text
//! SstFileWriter    entries in the order of their keys ---> a table     Db::ingest_external_file ---> a database
//! SstFileReader    a table ---> its entries, as a database of nothing else would show them; its properties; checks
//! ```
//!
//! Every entry of a table that is written here has sequence number 0, and its properties say that it has a place for
//! another one (`rocksdb.external_sst_file.version` = 2, `rocksdb.external_sst_file.global_seqno` = 0).
//! `docs/ingestion.md` shows where a database records the number that all of them get.
//!
//! Neither type knows a database. What they share with one are options and file systems.

mod reader;
mod writer;

pub use reader::{SstFileIter, SstFileReader};
pub use writer::{ExternalSstFileInfo, SstFileWriter};
