//! Crashes: the power goes at every file operation of a workload, and a writer is killed while it writes.
//!
//! ```text
//! workload.rs   what the database is asked to do, and what it acknowledged
//! points.rs     a clone of the files at every operation, opened and compared with the history
//! one_record.rs what a flush or a drop lets go of, and a crash or a full disk in its middle
//! killed.rs     a process that dies by SIGKILL while it appends to its log
//! ```
//!
//! `FERROCK_CRASH_SEEDS=n` runs more seeds than continuous integration does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test starts processes, waits, and copies directories")]

#[cfg(unix)]
mod killed;
mod one_record;
mod points;
mod workload;
