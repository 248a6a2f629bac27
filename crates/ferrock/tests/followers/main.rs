//! Secondaries and followers: a database that another one writes, read while the writer goes on.
//!
//! ```text
//! between.rs    what the writer does between two looks of a catch-up
//! states.rs     batches whose number says which state of the writer a reader has before it
//! histories.rs  drawn histories over drawn options, with catch-ups between
//! threads.rs    a writer that never rests, and a secondary in the same process
//! processes.rs  a writer that is another process, killed and started again
//! faults.rs     each file operation of an open and of a catch-up fails once
//! links.rs      the names that a follower gives the files of its leader
//! follower.rs   the thread of a follower, and what is refused to one
//! interface.rs  what is refused, and what is only a secondary's
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads and processes"
)]

mod between;
mod faults;
mod follower;
mod histories;
mod interface;
mod links;
mod processes;
mod states;
mod threads;
