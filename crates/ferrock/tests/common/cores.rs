//! Many small judgements on all processors: tests whose one long loop would leave the others idle.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Does `work` with each item, in their order, on as many threads as there are processors. After a panic no further
/// item is begun, and the panic is the caller's.
pub fn on_all_cores<T: Send>(items: impl IntoIterator<Item = T, IntoIter: Send>, work: impl Fn(T) + Sync) {
    let (items, has_failed) = (Mutex::new(items.into_iter()), AtomicBool::new(false));
    let next = || items.lock().unwrap().next().filter(|_| !has_failed.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let begin = || {
            scope.spawn(|| {
                while let Some(item) = next() {
                    let work = std::panic::AssertUnwindSafe(|| work(item));
                    if let Err(panic) = std::panic::catch_unwind(work) {
                        has_failed.store(true, Ordering::Relaxed);
                        std::panic::resume_unwind(panic);
                    }
                }
            })
        };
        let threads: Vec<_> = (0..threads).map(|_| begin()).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}
