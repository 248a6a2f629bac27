//! Updates out of the logs: what [`Db::updates_since`](ferrock::Db::updates_since) gives, and the archive it reads.
//!
//! ```text
//! follower.rs   a second database that takes the updates of a first one
//! histories.rs  random histories over families, with flushes, purges of the archive and reopens, and a follower
//! threads.rs    writers, a thread that flushes, and readers that follow all the time
//! crashes.rs    the files as they are at every operation, opened and read from the beginning
//! archive.rs    which logs are kept, and for how long
//! tracked.rs    logs that the MANIFEST lists, and opens that verify them
//! gaps.rs       what is missing: logs that went, writes without a log, writes that failed, damage
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

mod archive;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod follower;
mod gaps;
mod histories;
mod threads;
mod tracked;
