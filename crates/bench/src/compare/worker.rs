//! A thread of a cell: operations, each timed around the engine's call, its result checked while the clock stands.

use super::data::{Key, Model, RowCheck, absent_key, key};
use super::target::Target;
use super::trouble::{Outcome, Trouble};
use super::usage::now_ns;
use super::workload::{Mix, Work};
use crate::zipf::Zipf;
use ferrock_base::random::Random;
use ferrock_console::histogram::Histogram;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keys of a batch of gets.
pub(super) const BATCH_KEYS: usize = 32;
/// Rows of a full scan that are timed together.
const ROWS_AT_ONCE: usize = 64;
/// The greatest number of rows of a scan of YCSB.
const YCSB_ROWS: u64 = 100;
/// YCSB's shape of Zipf's law.
const YCSB_SHAPE: f64 = 0.99;

/// What the operations took.
pub(super) struct Measured {
    /// Nanoseconds of each call.
    pub(super) latency: Histogram,
    /// Operations: gets, puts, rows, or what the workload counts.
    pub(super) operations: u64,
    /// Time within calls of the engine.
    pub(super) engine_ns: u64,
}

impl Measured {
    pub(super) fn new() -> Self {
        Self { latency: Histogram::fine(), operations: 0, engine_ns: 0 }
    }

    pub(super) fn add(&mut self, nanoseconds: u64, operations: u64) {
        self.latency.add(nanoseconds);
        self.engine_ns += nanoseconds;
        self.operations += operations;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.engine_ns += other.engine_ns;
        self.operations += other.operations;
    }
}

/// Rows that were copied while the clock ran.
#[derive(Default)]
struct CopiedRows {
    bytes: Vec<u8>,
    lengths: Vec<(usize, usize)>,
}

impl CopiedRows {
    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    #[inline]
    fn push(&mut self, row: (&[u8], &[u8])) {
        self.bytes.extend_from_slice(row.0);
        self.bytes.extend_from_slice(row.1);
        self.lengths.push((row.0.len(), row.1.len()));
    }

    fn check(&self, check: &mut RowCheck<'_>, scratch: &mut Vec<u8>) -> Outcome<()> {
        let mut rest = self.bytes.as_slice();
        for (key_length, value_length) in &self.lengths {
            let (key, behind) = rest.split_at(*key_length);
            let (value, behind) = behind.split_at(*value_length);
            check.row(key, value, scratch).map_err(Trouble::Wrong)?;
            rest = behind;
        }
        Ok(())
    }
}

/// What all threads of a cell share.
pub(super) struct Shared<'a> {
    pub(super) target: &'a dyn Target,
    pub(super) model: &'a Model,
    /// Keys that were there at the beginning, or that are written.
    pub(super) num: u64,
    /// Threads that write.
    pub(super) threads: u64,
    /// When the timed part ends at the latest.
    pub(super) deadline_ns: u64,
    /// A thread has found something wrong, or the others are done.
    pub(super) stop: AtomicBool,
}

/// A thread.
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    index: u64,
    random: Random,
    pub(super) measured: Measured,
    value: Vec<u8>,
    scratch: Vec<u8>,
    rows: CopiedRows,
    inserted: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, index: u64, seed: u64) -> Self {
        Self {
            shared,
            index,
            random: Random::new(seed ^ (index << 32)),
            measured: Measured::new(),
            value: Vec::new(),
            scratch: Vec::new(),
            rows: CopiedRows::default(),
            inserted: 0,
        }
    }

    /// Whether to go on: there is time, and no thread has failed.
    fn goes_on(&self, operations: u64) -> bool {
        let shared = self.shared;
        self.measured.operations < operations
            && !shared.stop.load(Ordering::Relaxed)
            && (!self.measured.operations.is_multiple_of(64) || now_ns() < shared.deadline_ns)
    }

    /// A random key among those that are there.
    fn any(&mut self) -> u64 {
        self.random.below(self.shared.num)
    }

    /// The key near this one that this thread alone writes.
    fn own(&self, number: u64) -> u64 {
        let own = number - number % self.shared.threads + self.index;
        if own < self.shared.num { own } else { self.index }
    }

    /// Writes a key; how long the engine took.
    fn put(&mut self, number: u64, is_synced: bool) -> Outcome<u64> {
        let (shared, key) = (self.shared, key(number));
        shared.model.next_value(number, &mut self.value);
        let start = now_ns();
        shared.target.put(&key, &self.value, is_synced)?;
        let spent = now_ns() - start;
        shared.model.wrote(number);
        Ok(spent)
    }

    /// Reads a key and checks it; how long the engine took.
    fn get(&mut self, number: u64) -> Outcome<u64> {
        let (shared, key) = (self.shared, key(number));
        let least = shared.model.least(number);
        self.value.clear();
        let start = now_ns();
        let found = shared.target.get(&key, &mut self.value)?;
        let spent = now_ns() - start;
        let value = found.then_some(self.value.as_slice());
        shared.model.check(number, least, value, &mut self.scratch).map_err(Trouble::Wrong)?;
        Ok(spent)
    }

    fn get_absent(&mut self, number: u64) -> Outcome<u64> {
        let key = absent_key(number);
        self.value.clear();
        let start = now_ns();
        let found = self.shared.target.get(&key, &mut self.value)?;
        let spent = now_ns() - start;
        if found {
            Err(Trouble::Wrong(format!("a key behind {number} is there, which was never written")))
        } else {
            Ok(spent)
        }
    }

    fn get_batch(&mut self) -> Outcome<u64> {
        let shared = self.shared;
        let numbers: [u64; BATCH_KEYS] = std::array::from_fn(|_| self.any());
        let keys: [Key; BATCH_KEYS] = numbers.map(key);
        let keys: [&[u8]; BATCH_KEYS] = std::array::from_fn(|at| keys[at].as_slice());
        let least = numbers.map(|number| shared.model.least(number));
        let mut lengths = Vec::with_capacity(BATCH_KEYS);
        self.value.clear();
        let start = now_ns();
        shared.target.multi_get(&keys, &mut self.value, &mut lengths)?;
        let spent = now_ns() - start;
        if lengths.len() != BATCH_KEYS {
            return Err(Trouble::Wrong(format!("{} values of a batch of {BATCH_KEYS}", lengths.len())));
        }
        let mut rest = self.value.as_slice();
        for ((number, least), length) in numbers.into_iter().zip(least).zip(lengths) {
            let value = length.map(|length| {
                let (value, behind) = rest.split_at(length);
                rest = behind;
                value
            });
            shared.model.check(number, least, value, &mut self.scratch).map_err(Trouble::Wrong)?;
        }
        Ok(spent)
    }

    /// A new iterator, a seek to a key that is there, and at most `rows` rows. `writers`: other threads write.
    fn scan(&mut self, first: u64, rows: usize, writers: bool) -> Outcome<u64> {
        let (shared, key) = (self.shared, key(first));
        let window = first..(first + rows as u64).min(shared.model.len());
        let least: Vec<u32> =
            if writers { window.map(|number| shared.model.least(number)).collect() } else { Vec::new() };
        self.rows.clear();
        let start = now_ns();
        let mut cursor = shared.target.rows();
        cursor.seek(&key);
        let mut is_whole = false;
        for at in 0..rows {
            if at > 0 {
                cursor.next();
            }
            let Some(row) = cursor.row() else {
                is_whole = true;
                break;
            };
            self.rows.push(row);
        }
        let status = cursor.status();
        drop(cursor);
        let spent = now_ns() - start;
        status?;
        let mut check = RowCheck::new(shared.model, first, &least, false);
        self.rows.check(&mut check, &mut self.scratch)?;
        if is_whole {
            check.end().map_err(Trouble::Wrong)?;
        }
        Ok(spent)
    }

    /// All rows, from one end to the other, until there were enough.
    pub(super) fn full_scan(&mut self, operations: u64, is_backward: bool) -> Outcome<()> {
        let shared = self.shared;
        let mut cursor = shared.target.rows();
        if is_backward {
            cursor.seek_to_last()
        } else {
            cursor.seek_to_first()
        }
        let mut check = RowCheck::new(shared.model, 0, &[], is_backward);
        let mut is_at_end = false;
        while !is_at_end && self.goes_on(operations) {
            self.rows.clear();
            let start = now_ns();
            for _ in 0..ROWS_AT_ONCE {
                let Some(row) = cursor.row() else {
                    is_at_end = true;
                    break;
                };
                self.rows.push(row);
                if is_backward { cursor.prev() } else { cursor.next() }
            }
            let spent = now_ns() - start;
            self.rows.check(&mut check, &mut self.scratch)?;
            // The rest of a round is no sample of a whole one.
            let count = self.rows.lengths.len();
            if count == ROWS_AT_ONCE {
                self.measured.add(spent, count as u64);
            } else {
                self.measured.operations += count as u64;
                self.measured.engine_ns += spent;
            }
        }
        cursor.status()?;
        if is_at_end { check.end().map_err(Trouble::Wrong) } else { Ok(()) }
    }

    /// Puts of a list of keys, once each.
    pub(super) fn fill(&mut self, numbers: impl Iterator<Item = u64>, is_synced: bool) -> Outcome<()> {
        for number in numbers {
            if self.shared.stop.load(Ordering::Relaxed) || (is_synced && now_ns() >= self.shared.deadline_ns) {
                break;
            }
            let spent = self.put(number, is_synced)?;
            self.measured.add(spent, 1);
        }
        Ok(())
    }

    /// Puts of random keys beside readers, `a_second` of them, until these are done.
    pub(super) fn write_beside(&mut self, a_second: u64, sleep: &dyn Fn(u64)) -> Outcome<()> {
        let start = now_ns();
        let mut written = 0;
        while !self.shared.stop.load(Ordering::Relaxed) {
            let due = (now_ns() - start) as u128 * u128::from(a_second) / 1_000_000_000;
            if written >= due {
                sleep(1000);
                continue;
            }
            let number = self.any();
            self.put(number, false)?;
            written += 1;
        }
        Ok(())
    }

    /// Runs a workload of operations, each chosen by itself.
    pub(super) fn run(&mut self, work: Work, operations: u64) -> Outcome<()> {
        let zipf = matches!(work, Work::Ycsb(_)).then(|| Zipf::new(self.shared.num, YCSB_SHAPE));
        while self.goes_on(operations) {
            let (spent, count) = match (work, &zipf) {
                (Work::Overwrite, _) => {
                    let number = self.any();
                    (self.put(self.own(number), false)?, 1)
                }
                (Work::ReadMissing, _) => {
                    let number = self.any();
                    (self.get_absent(number)?, 1)
                }
                (Work::MultiGet, _) => (self.get_batch()?, BATCH_KEYS as u64),
                (Work::Seek(steps), _) => {
                    let number = self.any();
                    (self.scan(number, steps + 1, false)?, 1)
                }
                (Work::ReadSeq | Work::ReadReverse, _) => {
                    self.full_scan(operations, work == Work::ReadReverse)?;
                    continue;
                }
                (Work::Ycsb(mix), Some(zipf)) => (self.ycsb(mix, zipf)?, 1),
                _ => {
                    let number = self.any();
                    (self.get(number)?, 1)
                }
            };
            self.measured.add(spent, count);
        }
        Ok(())
    }

    fn ycsb(&mut self, mix: Mix, zipf: &Zipf) -> Outcome<u64> {
        // Keys that are asked for often lie anywhere among the others.
        let rank = zipf.next(&mut self.random);
        let number = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15) % self.shared.num;
        let mut dice = self.random.below(100);
        let mut is_drawn = |share: u64| {
            let is_drawn = dice < share;
            dice = dice.wrapping_sub(share);
            is_drawn
        };
        if is_drawn(mix.reads) {
            let newest = self.shared.num + self.inserted * self.shared.threads;
            return self.get(if mix.reads_latest { newest - 1 - rank } else { number });
        }
        if is_drawn(mix.updates) {
            return self.put(self.own(number), false);
        }
        if is_drawn(mix.inserts) {
            let new = self.shared.num + self.inserted * self.shared.threads + self.index;
            if new >= self.shared.model.len() {
                return self.put(self.own(number), false);
            }
            self.inserted += 1;
            return self.put(new, false);
        }
        if is_drawn(mix.scans) {
            let rows = 1 + self.random.below(YCSB_ROWS);
            return self.scan(number, rows as usize, true);
        }
        let own = self.own(number);
        Ok(self.get(own)? + self.put(own, false)?)
    }
}
