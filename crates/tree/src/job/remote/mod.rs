//! A compaction in two processes: the database, which chose it and installs it, and a worker, which runs it.
//!
//! ```text
//! database                                       worker, over the same files
//! job_input: choice -> CompactionServiceInput -> choice_of: input -> choice, from the tree that the MANIFEST says
//!                                                CompactionJob, into a directory of its own
//! import: verified, linked, JobOutput <--------- result_of: JobOutput -> CompactionServiceResult
//! ```
//!
//! The worker may see a later tree than the database chose from. The inputs are in it, for nothing else takes them away
//! while the job runs; and what lies deeper in their range goes no higher meanwhile. So what the worker drops may be
//! dropped.
//!
//! Invariants: nothing that a worker says is believed where it can be looked at. Its tables are linked under numbers of
//! the database's own, never moved or changed; a result that fails a check leaves nothing in the database's
//! directories. Blob files keep their numbers, as tables refer to them by number: the database reserves these before
//! the job begins.

mod import;
mod send;
mod worker;

pub use import::import;
pub use send::{blob_numbers_wanted, job_digest, job_input, reason_for_local};
pub use worker::{check_components, choice_of, result_of};
