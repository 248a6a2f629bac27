//! Opens with `best_efforts_recovery`: directories that lack files, and what of them comes up.
//!
//! ```text
//! history.rs   a drawn history: the files and the contents of every state, and which state is to come up
//! open.rs      older MANIFESTs, no CURRENT, logs, other opens, new databases
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod history;
mod open;
