//! The LSM tree without a database: its files, reads of them, and compactions.
//!
//! | module | what |
//! |---|---|
//! | [`version`] | `Version`, `VersionEdit`s and the MANIFEST; file index; obsolete files |
//! | [`read`] | one key: combines what its sources report into an answer |
//! | [`iterator`] | ranges: levels, merging, visibility, deletions, bounds |
//! | [`compaction`] | what to compact, and what remains of the entries that are merged |
//! | [`job`] | flushes and compactions, run without a database |
//! | [`blob`] | values that lie in blob files |
//! | [`seqno_time`] | when sequence numbers were written |
//! | [`table_cache`] | open tables, bounded by the number of open files |
//! | [`places`] | the directories of a database |
//! | [`counted_callbacks`] | merge operators and compaction filters that are timed |
//!
//! It has no log, no threads of its own and no handles of column families: those are the engine's. A tool that looks at
//! files uses this crate without opening a database.

#![warn(missing_docs)]

pub mod blob;
pub mod compaction;
pub mod counted_callbacks;
pub mod file_counts;
pub mod ingestion;
pub mod iterator;
pub mod job;
mod kept_table;
pub mod places;
pub mod read;
pub mod seqno_time;
pub mod table_cache;
pub mod version;
