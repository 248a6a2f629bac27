//! Backups in object stores: the same as in a directory, at every failure of the store.
//!
//! ```text
//! ../backups/world.rs   a database and its contents in memory
//! stores.rs             stores in memory and in a directory; one that fails, loses answers, or ends at a request
//! histories.rs          many backups of a changing database, in a store and in a directory, against a model
//! files.rs              the file system over a store: sizes, parts, listings, what it refuses
//! damage.rs             objects that changed or are missing
//! locks.rs              engines that exclude each other, and one that was killed
//! faults.rs             an error of every request
//! running.rs            progress, stop, limits of rates, a store that needs the runtime of tokio
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test looks at files of its own")]

mod damage;
mod faults;
mod files;
mod histories;
mod locks;
mod running;
mod stores;
#[path = "../backups/world.rs"]
#[allow(dead_code, reason = "the tests of directories use the rest")]
mod world;
