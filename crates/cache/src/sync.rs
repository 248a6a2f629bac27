//! The synchronisation types of this crate: the standard ones, or the model checker's under `--cfg shuttle`.
//!
//! Everything that threads race on uses these types, so that a shuttle test can order each step. Statistics, which
//! decide nothing, do not.

pub(crate) use ferrock_base::sync::{Condvar, Mutex};
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
