//! A queue: each round puts a row at the end, scans for the first one and deletes it.
//!
//! What is deleted lies before the first row, so a scan that walks over it takes longer from round to round. Besides
//! the time there is what the scans passed over, which no other load on the machine changes.

use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::WriteBatch;
use ferrock_console::histogram::Histogram;
use std::fmt::Write as _;

/// Rows in the queue.
const ROWS: u64 = 1000;
/// Rounds of one line.
const WINDOW: u64 = 250_000;

/// What the rounds since the last line were like.
struct Window {
    scans_us: Histogram,
    passed: u64,
    most_passed: u64,
    rounds: u64,
}

impl Window {
    fn new() -> Self {
        Self { scans_us: Histogram::default(), passed: 0, most_passed: 0, rounds: 0 }
    }

    fn line(&self, done: u64, gone_us: u64) -> String {
        let rounds = self.rounds.max(1) as f64;
        format!(
            "{done:>10} rounds: {:>8.0} rounds/s; scan p50 {:.1} us, p99 {:.1} us; passed {:.1} entries, at most {}",
            rounds / (gone_us.max(1) as f64 * 1e-6),
            self.scans_us.median(),
            self.scans_us.percentile(99.0),
            self.passed as f64 / rounds,
            self.most_passed
        )
    }
}

pub(super) fn queue(worker: &mut Worker<'_>) -> Result<()> {
    let shared = worker.shared;
    let (db, clock) = (shared.db, &shared.clock);
    let mut pace = worker.pace(shared.settings.num, true);
    let mut lines = String::new();
    let (mut window, mut begun_us) = (Window::new(), clock.monotonic_us());
    let (mut next, mut done) = (0, 0);
    while next < ROWS {
        put(worker, next)?;
        next += 1;
    }
    while pace.next(1) {
        put(worker, next)?;
        let begun = clock.monotonic_us();
        let mut iter = db.iter(&shared.read_options);
        iter.seek_to_first();
        window.scans_us.add(clock.monotonic_us() - begun);
        iter.status()?;
        window.passed += iter.passed_entries();
        window.most_passed = window.most_passed.max(iter.passed_entries());
        window.rounds += 1;
        let mut first = std::mem::take(&mut worker.key);
        shared.keys.make(next - ROWS, &mut first);
        if iter.key() != first {
            return Err(worker.wrong("the first row is another one than", &first));
        }
        worker.stats.add_bytes(first.len() + iter.value().len());
        drop(iter);
        let mut batch = WriteBatch::new();
        batch.delete(&first)?;
        db.write(batch, &shared.write_options)?;
        worker.key = first;
        (next, done) = (next + 1, done + 1);
        worker.finished(1, Operation::Update);
        if window.rounds == WINDOW {
            let now = clock.monotonic_us();
            let _ = writeln!(lines, "\n{}", window.line(done, now - begun_us));
            lines.pop();
            (window, begun_us) = (Window::new(), now);
        }
    }
    if window.rounds > 0 {
        let _ = write!(lines, "\n{}", window.line(done, clock.monotonic_us() - begun_us));
    }
    worker.stats.add_message(&lines);
    Ok(())
}

fn put(worker: &mut Worker<'_>, number: u64) -> Result<()> {
    let shared = worker.shared;
    shared.keys.make(number, &mut worker.key);
    shared.values.make(&worker.key, &mut worker.value);
    let mut batch = WriteBatch::new();
    batch.put(&worker.key, &worker.value)?;
    shared.db.write(batch, &shared.write_options)?;
    Ok(())
}
