//! What came each second: the difference of two answers of one process, or all since its open over the time since then.
//!
//! The first refresh has no answer before it, so its rates are those since the open, as `vmstat` and `iostat` do; a
//! process that was started again begins in the same way. Counters of files are of a whole process, which may have had
//! other databases open, so they have no rate since the open. Without `Components::statistics` reads and latencies are
//! not counted.

use super::numbers::{Numbers, Statistics};
use serde_json::{Value, json};

/// Each second, where nothing else is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    /// The time between both answers.
    pub(crate) over_seconds: f64,
    pub(crate) is_since_open: bool,
    pub(crate) keys_written: f64,
    pub(crate) batches: f64,
    pub(crate) batch_bytes: f64,
    pub(crate) wal_bytes: f64,
    pub(crate) wal_syncs: f64,
    pub(crate) reads: Option<Reads>,
    pub(crate) file_read_bytes: Option<f64>,
    pub(crate) file_append_bytes: Option<f64>,
    pub(crate) flush_bytes: f64,
    pub(crate) compaction_read_bytes: f64,
    pub(crate) compaction_write_bytes: f64,
    /// Microseconds that writers waited.
    pub(crate) stall_us: f64,
    /// Microseconds that writers waited, in the order of `stalls.waits`.
    pub(crate) waits_us: Vec<f64>,
    /// In the order of `block_cache.kinds`.
    pub(crate) cache: Vec<Lookups>,
    /// In the order of `statistics.histograms`.
    pub(crate) latencies: Vec<Latency>,
}

/// What `Components::statistics` counts of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reads {
    pub(crate) keys: f64,
    pub(crate) bytes: f64,
    pub(crate) seeks: f64,
    pub(crate) steps: f64,
}

/// Of one kind of entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lookups {
    pub(crate) hits: f64,
    pub(crate) misses: f64,
}

/// Of one histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Latency {
    pub(crate) times: f64,
    /// Microseconds; `None` where nothing was measured in between.
    pub(crate) mean_us: Option<f64>,
}

impl Rates {
    /// `None` where another process counts, or no time has passed.
    pub(crate) fn of(before: Option<&Numbers>, now: &Numbers) -> Option<Self> {
        if !now.is_live {
            return None;
        }
        // A smaller uptime is that of another open, and another name another database.
        let is_same = |old: &&Numbers| old.is_live && old.name == now.name && old.uptime_us <= now.uptime_us;
        let before = before.filter(is_same);
        let us = now.uptime_us - before.map_or(0, |old| old.uptime_us);
        (us > 0).then(|| Difference { before, now, seconds: us as f64 / 1e6 }.rates())
    }

    /// For programs; names end in their units.
    pub(crate) fn to_json(&self, now: &Numbers) -> Value {
        let reads = self.reads.as_ref();
        let waits = now.stalls.waits.iter().zip(&self.waits_us);
        let kinds = now.block_cache.kinds.iter().zip(&self.cache);
        let histograms = now.statistics.iter().flat_map(|statistics| &statistics.histograms).zip(&self.latencies);
        json!({
            "over_seconds": self.over_seconds,
            "is_since_open": self.is_since_open,
            "keys_written": self.keys_written,
            "batches": self.batches,
            "batch_bytes": self.batch_bytes,
            "wal_bytes": self.wal_bytes,
            "wal_syncs": self.wal_syncs,
            "keys_read": reads.map(|reads| reads.keys),
            "bytes_read": reads.map(|reads| reads.bytes),
            "seeks": reads.map(|reads| reads.seeks),
            "steps": reads.map(|reads| reads.steps),
            "file_read_bytes": self.file_read_bytes,
            "file_append_bytes": self.file_append_bytes,
            "flush_bytes": self.flush_bytes,
            "compaction_read_bytes": self.compaction_read_bytes,
            "compaction_write_bytes": self.compaction_write_bytes,
            "stall_us": self.stall_us,
            "stalls": waits.map(|(of, us)| json!({ "cause": of.cause, "us": us })).collect::<Vec<_>>(),
            "block_cache": kinds
                .map(|(of, rate)| json!({ "kind": of.kind, "hits": rate.hits, "misses": rate.misses }))
                .collect::<Vec<_>>(),
            "latencies": histograms
                .map(|(of, rate)| json!({ "name": of.name, "times": rate.times, "mean_us": rate.mean_us }))
                .collect::<Vec<_>>(),
        })
    }
}

struct Difference<'a> {
    before: Option<&'a Numbers>,
    now: &'a Numbers,
    seconds: f64,
}

impl Difference<'_> {
    fn rates(&self) -> Rates {
        let (per, since) = (|read: &dyn Fn(&Numbers) -> u64| self.per(read), self.before.is_none());
        Rates {
            over_seconds: self.seconds,
            is_since_open: since,
            keys_written: per(&|of| of.writes.keys),
            batches: per(&|of| of.writes.batches),
            batch_bytes: per(&|of| of.writes.bytes),
            wal_bytes: per(&|of| of.writes.wal_bytes),
            wal_syncs: per(&|of| of.writes.wal_syncs),
            reads: self.now.statistics.as_ref().map(|_| self.reads()),
            file_read_bytes: (!since).then(|| per(&|of| of.io.read_bytes)),
            file_append_bytes: (!since).then(|| per(&|of| of.io.append_bytes)),
            flush_bytes: per(&|of| of.background.flush_bytes),
            compaction_read_bytes: per(&|of| of.background.compaction_read_bytes),
            compaction_write_bytes: per(&|of| of.background.compaction_write_bytes),
            stall_us: per(&|of| of.writes.stall_us),
            waits_us: self.waits(),
            cache: self.cache(),
            latencies: self.latencies(),
        }
    }

    fn per(&self, read: impl Fn(&Numbers) -> u64) -> f64 {
        self.each(read(self.now), self.before.map_or(0, read))
    }

    fn each(&self, now: u64, before: u64) -> f64 {
        now.saturating_sub(before) as f64 / self.seconds
    }

    fn reads(&self) -> Reads {
        let of = |names: &[&str]| {
            let sum = |statistics: &Statistics| {
                names.iter().fold(0, |sum: u64, name| sum.saturating_add(statistics.ticker(name)))
            };
            self.per(|numbers| numbers.statistics.as_ref().map_or(0, sum))
        };
        Reads {
            keys: of(&["rocksdb.number.keys.read"]),
            bytes: of(&["rocksdb.bytes.read", "rocksdb.db.iter.bytes.read"]),
            seeks: of(&["rocksdb.number.db.seek"]),
            steps: of(&["rocksdb.number.db.next", "rocksdb.number.db.prev"]),
        }
    }

    fn waits(&self) -> Vec<f64> {
        let us = |cause: &str, of: &Numbers| {
            let waits = of.stalls.waits.iter().find(|waits| waits.cause == cause);
            waits.map_or(0, |waits| waits.delay_us.saturating_add(waits.stop_us))
        };
        self.now.stalls.waits.iter().map(|waits| self.per(|of| us(&waits.cause, of))).collect()
    }

    fn cache(&self) -> Vec<Lookups> {
        let kinds = self.now.block_cache.kinds.iter();
        let rates = kinds.map(|kind| {
            let old = self.before.and_then(|old| old.block_cache.kinds.iter().find(|old| old.kind == kind.kind));
            let (hits, misses) = old.map_or((0, 0), |old| (old.hits, old.misses));
            Lookups { hits: self.each(kind.hits, hits), misses: self.each(kind.misses, misses) }
        });
        rates.collect()
    }

    fn latencies(&self) -> Vec<Latency> {
        let old = self.before.and_then(|old| old.statistics.as_ref());
        let histograms = self.now.statistics.iter().flat_map(|statistics| &statistics.histograms);
        let rates = histograms.map(|now| {
            let old = old.and_then(|old| old.histograms.iter().find(|old| old.name == now.name));
            let (count, sum) = old.map_or((0, 0), |old| (old.count, old.sum));
            let fresh = now.count.saturating_sub(count);
            let mean_us = (fresh > 0).then(|| now.sum.saturating_sub(sum) as f64 / fresh as f64);
            Latency { times: fresh as f64 / self.seconds, mean_us }
        });
        rates.collect()
    }
}
