//! Numbers of threads, for infos.

use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// A number of this thread that no other thread of the process has, or had.
pub(crate) fn thread_number() -> u64 {
    NUMBER.with(|number| *number)
}
