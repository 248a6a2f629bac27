//! Turns a hang into a failure that can be repeated.

use crate::operations::Case;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A single operation that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Shared {
    case: Mutex<Option<String>>,
    ticks: AtomicU64,
    stopped: AtomicBool,
}

/// Ends the process when no operation ends for two minutes.
pub struct Watchdog {
    shared: Arc<Shared>,
}

impl Watchdog {
    pub fn start(name: &str, seed: u64) -> Self {
        let shared = Arc::new(Shared::default());
        let (watched, name) = (Arc::clone(&shared), name.to_owned());
        std::thread::spawn(move || {
            let (mut last, mut quiet) = (0, Duration::ZERO);
            let step = Duration::from_millis(500);
            while !watched.stopped.load(Ordering::Relaxed) {
                // Time itself: how long no operation has ended.
                std::thread::sleep(step);
                let now = watched.ticks.load(Ordering::Relaxed);
                quiet = if now == last { quiet + step } else { Duration::ZERO };
                last = now;
                if quiet >= PATIENCE {
                    let case = watched.case.lock().unwrap().take().unwrap_or_default();
                    eprintln!("{name}: FERROCK_MODEL_SEED={seed}: operation {now} of this run hangs\n{case}");
                    std::process::abort();
                }
            }
        });
        Self { shared }
    }

    pub fn begin(&self, case: &Case) {
        *self.shared.case.lock().unwrap() = Some(case.to_string());
        self.tick();
    }

    pub fn tick(&self) {
        self.shared.ticks.fetch_add(1, Ordering::Relaxed);
    }

    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }
}
