//! Backups in memory: what they hold, what they share, what is left of them by crashes, faults and damage.
//!
//! ```text
//! world.rs      a database, its contents, a directory of backups, in one file system
//! making.rs     names, sharing, options, progress, writers meanwhile
//! restoring.rs  modes, directories of logs, databases that are open
//! damage.rs     bytes that changed, files that are missing, descriptions that are none
//! crashes.rs    a crash at every operation of a backup, a removal and a restore
//! faults.rs     an error of every operation
//! ```
#![cfg(feature = "backup")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test starts threads")]

mod crashes;
mod damage;
mod faults;
mod making;
mod restoring;
mod world;
