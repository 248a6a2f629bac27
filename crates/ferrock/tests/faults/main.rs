//! Faults of the world: a full disk, a failed sync, missing rights, a second opener, bits that change. Each failure
//! says what to do, reads go on, nothing acknowledged is lost, and `resume` leads back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start processes"
)]

mod auto_resume;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod full_disk;
mod history;
mod jobs;
mod mounts;
mod no_space;
mod opening;
mod random;
mod remote;
mod resume;
mod rig;
mod stall;
mod sync;
#[path = "../common/workers.rs"]
mod workers;
