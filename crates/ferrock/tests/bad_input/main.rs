//! Bad input: every kind of file of a database, cut short everywhere and with bits flipped everywhere, must give an
//! error that names the file, or exactly the right data. Never a panic, a hang, a wrong value, or an allocation that
//! the input does not justify.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and watch the machine's clock"
)]

mod allocation;
mod check;
mod inconsistent;
mod prepared;
mod sample;
mod small_files;
mod tables;
mod wal;
mod watchdog;
