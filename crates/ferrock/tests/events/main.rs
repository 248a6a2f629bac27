//! What listeners are told: of each kind of event, and of whole histories.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and have threads of their own"
)]

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod compactions;
mod errors;
mod files;
mod flushes;
mod history;
mod log_lines;
mod loggers;
mod recorder;
