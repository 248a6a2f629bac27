//! Disks that are full for a while, at random: with every bound of `max_bgerror_resume_count`, at every kind of file.
//! Reads go on meanwhile, writes come back by themselves when there is room (or by `resume`, where that was asked for),
//! and each event that recovery begins is followed by one that it ended.
//!
//! `FERROCK_FAULT_SEEDS=400 cargo test -p ferrock --test faults full_disk -- --nocapture` runs more seeds,
//! `FERROCK_FAULT_SEED=n` begins at another one.

use crate::auto_resume::timed_rig;
use crate::random::{DEFAULT_SEEDS, number};
use crate::rig::Rig;
use ferrock::{CompactRangeOptions, Db, FlushOptions, WriteOptions};
use ferrock_base::clock::ManualClock;
use ferrock_base::random::Random;
use ferrock_vfs::{Fault, FaultRule, OperationKind, Trigger};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

const PHASES: usize = 4;
const STEPS: u64 = 30;
const INTERVAL: Duration = Duration::from_secs(5);
/// Of real time: what takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);

const OPERATIONS: [OperationKind; 5] =
    [OperationKind::Append, OperationKind::Append, OperationKind::Create, OperationKind::Sync, OperationKind::Flush];
const PATHS: [&str; 5] = ["*", "*.log", "*.sst", "*.sst", "MANIFEST-*"];

/// What the runs met.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    refused_writes: usize,
    returned_alone: usize,
    given_up: usize,
    resumed: usize,
}

struct Run {
    seed: u64,
    random: Random,
    rig: Rig,
    clock: Arc<ManualClock>,
    heard: Receiver<String>,
    /// `max_bgerror_resume_count`.
    attempts: i32,
    /// Recovery began and did not end.
    is_recovering: bool,
    /// The last recovery ended without success, and nothing happened since.
    has_given_up: bool,
    /// Calls of `resume` that succeeded: each tells an end.
    ends_by_call: usize,
    counts: Counts,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let attempts = [0, 1 + random.below(3) as i32, i32::MAX, i32::MAX][random.below(4) as usize];
        let (mut rig, clock, heard) = timed_rig(attempts, INTERVAL);
        rig.options.max_manifest_file_size = [1 << 20, 1500][random.below(2) as usize];
        rig.options.max_manifest_space_amp_pct = 0;
        Self {
            seed,
            random,
            rig,
            clock,
            heard,
            attempts,
            is_recovering: false,
            has_given_up: false,
            ends_by_call: 0,
            counts: Counts::default(),
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {}, {} attempts: {what}", self.seed, self.attempts)
    }

    fn fill_disk(&mut self) {
        for _ in 0..=self.random.below(2) {
            let operation = OPERATIONS[self.random.below(OPERATIONS.len() as u64) as usize];
            let path = PATHS[self.random.below(PATHS.len() as u64) as usize];
            let fault = match self.random.below(3) {
                0 => Fault::ShortWrite { kept_bytes: self.random.below(60) as usize },
                _ => Fault::NoSpace,
            };
            let trigger = match self.random.below(4) {
                0 => Trigger::Always,
                // Room comes and goes.
                1 => Trigger::Every(2 + self.random.below(5)),
                _ => Trigger::From(1 + self.random.below(30)),
            };
            self.rig.faulty.add_rule(FaultRule::new(operation, path, fault).when(trigger));
        }
    }

    fn step(&mut self, db: &Db) {
        match self.random.below(20) {
            0..=11 => {
                let options = WriteOptions { sync: self.random.one_in(3), ..WriteOptions::default() };
                let accepted = self.rig.put_with(db, &options).is_ok();
                self.counts.refused_writes += usize::from(!accepted);
            }
            12..=14 => {
                for family in db.column_families() {
                    let _ = db.flush_cf(&family, &FlushOptions::default());
                }
                let _ = db.wait_for_background_work();
            }
            15 => drop(db.compact_range(None, None).or_else(|_| {
                let family = db.default_column_family().unwrap();
                db.compact_range_cf(&family, None, None, &CompactRangeOptions::default())
            })),
            16 => self.rig.verify(db, &format!("seed {}, on a full disk", self.seed)),
            17 if self.attempts == 0 => {
                let had_error = db.background_error().is_some();
                self.ends_by_call += usize::from(db.resume().is_ok() && had_error);
            }
            18 => self.let_attempts_pass(db),
            _ => self.clock.advance(INTERVAL / (1 + self.random.below(3) as u32)),
        }
        self.hear();
    }

    /// Several intervals, after each of which the attempt that is due is made.
    fn let_attempts_pass(&mut self, db: &Db) {
        for _ in 0..=self.random.below(4) {
            let deadline = Instant::now() + PATIENCE;
            while self.attempts > 0
                && !self.has_given_up
                && self.clock.sleepers() == 0
                && db.background_error().is_some()
            {
                if Instant::now() > deadline {
                    self.fail("recovery neither waits nor ends");
                }
                std::thread::yield_now();
                self.hear();
            }
            self.clock.advance(INTERVAL);
            self.hear();
        }
    }

    fn take_event(&mut self, event: &str) {
        if event.starts_with("begin") {
            if self.is_recovering {
                self.fail("recovery begins twice");
            }
            (self.is_recovering, self.has_given_up) = (true, false);
            return;
        }
        if !self.is_recovering {
            if self.ends_by_call == 0 {
                self.fail(&format!("{event} without a begin"));
            }
            self.ends_by_call -= 1;
        }
        (self.is_recovering, self.has_given_up) = (false, !event.ends_with("None"));
    }

    fn hear(&mut self) {
        while let Ok(event) = self.heard.try_recv() {
            self.take_event(&event);
        }
    }

    /// There is room again.
    fn empty_disk(&mut self, db: &Db) {
        self.rig.faulty.clear_rules();
        let _ = db.wait_for_background_work();
        self.hear();
        if db.background_error().is_some() && self.attempts == 0 {
            self.clock.advance(INTERVAL * 20);
            if db.background_error().is_none() || self.is_recovering {
                self.fail("writes come back without a call");
            }
        }
        let deadline = Instant::now() + PATIENCE;
        let was_refused = db.background_error().is_some();
        while db.background_error().is_some() && self.attempts > 0 && !self.has_given_up {
            if Instant::now() > deadline {
                self.fail(&format!("writes do not come back: {}", db.background_error().unwrap()));
            }
            if self.clock.sleepers() > 0 {
                self.clock.advance(INTERVAL);
            }
            std::thread::yield_now();
            self.hear();
        }
        if db.background_error().is_some() {
            if self.attempts == i32::MAX {
                self.fail("recovery gave up");
            }
            self.counts.given_up += usize::from(self.has_given_up);
            self.counts.resumed += 1;
            self.ends_by_call += 1;
            db.resume().unwrap_or_else(|error| self.fail(&format!("resume: {error}")));
        } else {
            self.counts.returned_alone += usize::from(was_refused);
        }
        while self.is_recovering || self.ends_by_call > 0 {
            match self.heard.recv_timeout(PATIENCE) {
                Ok(event) => self.take_event(&event),
                Err(_) => self.fail("recovery ended, and no event says so"),
            }
        }
        self.has_given_up = false;
    }

    fn run(mut self) -> Counts {
        let db = self.rig.open();
        for _ in 0..PHASES {
            self.rig.put_many(&db, 3);
            self.fill_disk();
            for _ in 0..STEPS {
                self.step(&db);
            }
            self.empty_disk(&db);
            if let Err(error) = self.rig.put(&db).and_then(|()| db.flush()) {
                self.fail(&format!("a write when there is room: {error}"));
            }
            let what = format!("seed {}, with room", self.seed);
            self.rig.verify(&db, &what);
            self.rig.verify_after_crash(&what);
        }
        db.close().unwrap_or_else(|error| self.fail(&format!("close: {error}")));
        self.rig.verify(&self.rig.open(), &format!("seed {}, reopened", self.seed));
        self.counts
    }
}

#[test]
fn writes_come_back_when_a_full_disk_has_room_again() {
    let (first, seeds) = (number("FERROCK_FAULT_SEED", 0), number("FERROCK_FAULT_SEEDS", DEFAULT_SEEDS));
    let mut total = Counts::default();
    for seed in first..first + seeds {
        let counts = Run::new(seed).run();
        total.refused_writes += counts.refused_writes;
        total.returned_alone += counts.returned_alone;
        total.given_up += counts.given_up;
        total.resumed += counts.resumed;
    }
    println!("{seeds} seeds: {total:?}");
    if seeds >= DEFAULT_SEEDS {
        let least = [total.refused_writes, total.returned_alone, total.given_up, total.resumed];
        assert!(least.iter().all(|&count| count > 0), "the disk was full too seldom: {total:?}");
    }
}
