//! Damage, what an examination says of it, and what a repair makes of it.
//!
//! ```text
//! world.rs     a database of tables, blob files, logs and families, and what it holds
//! damage.rs    every file, damaged in every way: the report names it, and the repair keeps what the report said
//! blocks.rs    one bit of every block of every table: each is named
//! remedies.rs  every remedy that a report calls possible is carried out, and loses what the report says
//! ingested.rs  tables from outside, of which the MANIFEST alone tells how old they are
//! headers.rs   changed headers of records of a log
//! crashes.rs   a crash at every file operation of a repair
//! surgery.rs   changes of the MANIFEST of a closed database
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod blocks;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod damage;
mod headers;
mod ingested;
mod remedies;
mod surgery;
mod world;
