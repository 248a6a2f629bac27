//! A pure-Rust LSM key-value engine that reads and writes RocksDB's own files.
//!
//! | to | begin at |
//! |---|---|
//! | open, read and write | [`Db`] |
//! | write several things at once | [`WriteBatch`], [`Db::write`] |
//! | keep different data apart | [`ColumnFamily`], [`Db::create_column_family`] |
//! | read a batch before it is written | `indexed_batch` (feature `indexed-batch`, on by default) |
//! | read a range | [`Db::iter`], [`Iter`]; many ranges: [`Db::multi_scan`] |
//! | read many keys | [`Db::multi_get`] |
//! | read without blocking a thread | [`Db::get_async`], [`Db::multi_get_async`], [`Db::scan_async`] |
//! | load tables that were written elsewhere | [`SstFileWriter`], [`Db::ingest_external_file`]; [`SstFileReader`] |
//! | read as of a moment | [`Db::snapshot`], [`Snapshot`] |
//! | copy a database as it changes | [`Db::updates_since`], [`WalIterator`] |
//! | update without reading | [`options::MergeOperator`], [`Db::merge`] |
//! | drop or change entries as they are compacted | [`options::CompactionFilter`] |
//! | store properties of your own in each table | [`options::TablePropertiesCollector`], [`Db::table_properties`] |
//! | set how it works | [`DbOptions`], [`ColumnFamilyOptions`], [`options`] |
//! | begin with good options | [`options::Profile`], [`DbOptions::for_little_memory`] |
//! | see how it is doing | [`Db::metrics`]; for Prometheus: `metrics` (feature `metrics`, on by default) |
//! | copy it while it runs | `backup` (feature `backup`, on by default) |
//! | write down what it is asked, and ask it again | [`Db::start_trace`]; `replay` (feature `replay`, on by default) |
//! | find and mend damage | `repair` (feature `repair`, on by default) |
//! | forget what is old | `ttl` (feature `ttl`, on by default) |
//! | store typed rows of wide partitions | `wide` (feature `wide`, on by default) |
//!
//! Features, all on by default: `wide`; `metrics`; `backup`; `repair`; `replay`; `ttl`; `indexed-batch`; `io-uring`,
//! sets of reads by one call of the kernel on Linux; and an algorithm of compression each: `bzip2`, `lz4`, `snappy`,
//! `zlib`, `zstd`. A block, a log or an option that needs an algorithm which was left out is refused with
//! [`ErrorKind::NotSupported`] or
//! [`ErrorKind::InvalidArgument`]; the error names the feature.
//!
//! Off by default: `tracing`, spans of opens, flushes, compactions and stalls of writers for the crate of that name;
//! `object-store`, backups in S3, GCS, Azure and other stores of the crate `object_store`.
//!
//! Everything is an owned handle: `Db`, `ColumnFamily`, `Snapshot` and `Iter` have no lifetimes, are `Send`, and may be
//! dropped in any order. The folder `examples` has a program for each of these lines.
#![warn(missing_docs)]

#[cfg(feature = "backup")]
pub use ferrock_backup as backup;
pub use ferrock_engine::*;
#[cfg(feature = "indexed-batch")]
pub use ferrock_indexed_batch as indexed_batch;
#[cfg(feature = "metrics")]
pub use ferrock_metrics as metrics;
#[cfg(feature = "repair")]
pub use ferrock_repair as repair;
#[cfg(feature = "replay")]
pub use ferrock_replay as replay;
#[cfg(feature = "ttl")]
pub use ferrock_ttl as ttl;
#[cfg(feature = "wide")]
pub use ferrock_wide as wide;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;

#[cfg(all(doctest, feature = "wide"))]
#[doc = include_str!("../../../docs/wide.md")]
struct WideGuideExamples;

#[cfg(all(doctest, feature = "backup"))]
#[doc = include_str!("../../../docs/backup.md")]
struct BackupGuideExamples;

#[cfg(all(doctest, feature = "ttl"))]
#[doc = include_str!("../../../docs/ttl.md")]
struct TtlGuideExamples;
