//! Ends the process when one case takes too long: a hang is a failure that says where it is.

use parking_lot::Mutex;
use std::sync::Once;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

static CURRENT: Mutex<Option<(Instant, String)>> = Mutex::new(None);
static START: Once = Once::new();

/// Watches one case for as long as the guard lives.
pub struct Watched;

impl Drop for Watched {
    fn drop(&mut self) {
        *CURRENT.lock() = None;
    }
}

/// Begins to watch a case.
pub fn watch(case: &str) -> Watched {
    START.call_once(|| {
        std::thread::spawn(|| {
            loop {
                // Time itself: how long the case takes.
                std::thread::sleep(Duration::from_secs(1));
                if let Some((since, case)) = &*CURRENT.lock()
                    && since.elapsed() > LIMIT
                {
                    eprintln!("{case}: hangs since {:?}", since.elapsed());
                    std::process::abort();
                }
            }
        });
    });
    *CURRENT.lock() = Some((Instant::now(), case.to_owned()));
    Watched
}
