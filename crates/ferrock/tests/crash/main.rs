//! Crashes: the power goes at every file operation of a workload, and a writer is killed while it writes.
//!
//! ```text
//! workload.rs   what the database is asked to do, and what it acknowledged
//! model.rs      what records do to a family
//! points.rs     clones of the files at every operation, opened and compared with the history
//! one_record.rs what a flush or a drop lets go of, and a crash or a full disk in its middle
//! damaged_logs.rs bits, sectors and ends of logs that are lost
//! compressed_logs.rs  the ends of logs with wal_compression
//! flipped_bits.rs  any log that is still needed, for absolute consistency
//! killed.rs     a process that dies by SIGKILL while it appends to its log
//! ../common/cores.rs    points are judged on all processors
//! ../common/workers.rs  compactions that another process would run
//! ```
//!
//! `cargo xtask crash 40000` runs as many crash points and as many power-loss points as it is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test starts processes, waits, and copies directories")]

mod compressed_logs;
#[path = "../common/cores.rs"]
mod cores;
mod damaged_logs;
mod flipped_bits;
#[cfg(unix)]
mod killed;
mod model;
mod one_record;
mod points;
#[path = "../common/workers.rs"]
mod workers;
mod workload;
