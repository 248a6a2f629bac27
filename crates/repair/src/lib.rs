//! What is damaged in a database, file by file, and how to mend it.
//!
//! ```
//! use ferrock::repair::{Examination, Repair};
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("db");
//! let mut options = ferrock::DbOptions::default();
//! options.create_if_missing = true;
//! let db = ferrock::Db::open(&path, options)?;
//! db.put(b"key", b"value")?;
//! db.flush()?;
//! drop(db);
//! std::fs::remove_file(path.join("CURRENT")).unwrap();
//! // Reads, and writes nothing.
//! let report = Examination::new(ferrock::DbOptions::default()).run(&path)?;
//! assert!(report.is_damaged());
//! assert_eq!(report.repair.entries_lost, 0);
//! // Writes a new MANIFEST and CURRENT; what it replaces goes to `lost/`.
//! Repair::new(ferrock::DbOptions::default()).run(&path)?;
//! let db = ferrock::Db::open(&path, ferrock::DbOptions::default())?;
//! assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! | file | is |
//! |---|---|
//! | `report.rs` | what is told: files, what is wrong with each, what is lost by which remedy |
//! | `subject.rs` | the directories of a database, and the options of its families |
//! | `manifest.rs` | the tree that a MANIFEST describes, up to its first damage |
//! | `blobs.rs` | the intact records of a blob file |
//! | `tables.rs` | the intact entries of a table, block by block |
//! | `counter.rs` | what of a table is intact, and where something of it is lost |
//! | `logs.rs` | the intact entries of a log, record by record |
//! | `small_files.rs` | CURRENT, MANIFEST, IDENTITY, OPTIONS |
//! | `states.rs` | what opens would bring up, by the engine's own code, without an open |
//! | `remedies.rs` | what each way to mend keeps and loses |
//! | `refusals.rs` | what a repair would have to guess, and refuses to |
//! | `facts.rs` | what was found, in the form that a repair goes by |
//! | `examine.rs` | all of them together: the report, and the facts that a repair goes by |
//! | `salvage.rs` | tables from the intact entries of damaged tables, of logs, and of tables whose order is unknown |
//! | `surgery.rs` | changes of the MANIFEST of a closed database: a table leaves, levels are reduced |
//! | `repair.rs` | the steps of a repair, and what a crash leaves after each |
//!
//! Invariants: an examination takes no lock and writes nothing. What a repair keeps is what an examination of the same
//! files says it keeps, as both visit the entries of a file by the same function.
#![warn(missing_docs)]

mod blobs;
mod counter;
mod examine;
mod facts;
mod logs;
mod manifest;
mod refusals;
mod remedies;
mod repair;
mod report;
mod salvage;
mod small_files;
mod states;
mod subject;
mod surgery;
mod tables;

pub use examine::{Examination, ExaminationProgress};
pub use repair::{Repair, RepairReport};
pub use report::{FileReport, Finding, KeyRange, Problem, Remedy, Report, Use};
pub use surgery::{BlobOfFamily, FamilyFiles, Surgery, TableOfFamily};
