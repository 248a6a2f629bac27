//! Traces of what a database was asked, read and asked again.
//!
//! ```
//! use ferrock::TraceOptions;
//! use ferrock::replay::{ReplayOptions, Replayer, TraceReader};
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
//! let mut options = ferrock::DbOptions::default();
//! options.create_if_missing = true;
//! let db = ferrock::Db::open(&path, options.clone())?;
//! let trace = directory.path().join("trace");
//! db.start_trace(&trace, TraceOptions::default())?;
//! db.put(b"key", b"value")?;
//! db.get(b"key")?;
//! db.end_trace()?;
//!
//! let copy = ferrock::Db::open(&copy, options)?;
//! let report = Replayer::new(&copy, TraceReader::open(&trace)?).replay(&ReplayOptions::default())?;
//! assert_eq!((report.writes, report.gets), (1, 1));
//! assert_eq!(copy.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! | file | is |
//! |---|---|
//! | `reader.rs` | the frames and the operations of a file |
//! | `replayer.rs` | operations asked of a database, at the times of the trace, by one thread or several |
//!
//! Traces are RocksDB's: either engine replays what the other one wrote. `Db::start_trace` writes them, and
//! `docs/tracing.md` tells what is in them and what is not.
#![warn(missing_docs)]

mod reader;
mod replayer;

pub use ferrock_format::trace::{FrameKind, Operation, SeekDirection};
pub use reader::{FrameReader, TraceReader, TracedOperation};
pub use replayer::{ReplayOptions, ReplayReport, Replayer};
