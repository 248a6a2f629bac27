//! The synchronisation types of this crate: real ones, or the model checker's under `--cfg shuttle`.
//!
//! Whatever two threads race on goes through here, so that a shuttle test can order every step of it. Counters that decide
//! nothing (statistics) stay outside.

pub(crate) use ferrock_base::sync::{Condvar, Mutex};
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
