//! Tables from outside: written, read, and taken into databases.
//!
//! ```text
//! behind.rs   files that come behind all that was written
//! rig.rs      files of random entries, and what they do to a sorted map
//! model.rs    random histories of writes and ingestions against sorted maps
//! crash.rs    a crash at every file operation of such a history
//! files.rs    what options do to the files, and what is refused
//! writer.rs   what a table of a writer has, and a reader finds
//! runs.rs     scans that leap over deleted keys, while tables come and go
//! threads.rs  writers, readers, compactions and ingestions at once
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and have threads of their own"
)]

mod behind;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod files;
mod model;
mod rig;
mod runs;
mod threads;
mod writer;
