//! One measurement: the counters before and after a benchmark, and the figures computed from them.

use crate::benchmarks::{Benchmark, Work};
use crate::failure::{Failure, Result};
use crate::session::Session;
use ferrock_cache::{CacheStats, EntryRole};
use ferrock_vfs::IoSnapshot;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// A figure of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    OpsPerSecond,
    ReadsPerOp,
    KibPerOp,
    CpuUsPerOp,
    P50Us,
    P99Us,
    DataMissPercent,
    MetadataMissPercent,
}

impl Figure {
    pub(crate) const ALL: [Self; 8] = [
        Self::OpsPerSecond,
        Self::ReadsPerOp,
        Self::KibPerOp,
        Self::CpuUsPerOp,
        Self::P50Us,
        Self::P99Us,
        Self::DataMissPercent,
        Self::MetadataMissPercent,
    ];

    /// The head of its column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::OpsPerSecond => "op/s",
            Self::ReadsPerOp => "reads/op",
            Self::KibPerOp => "KiB/op",
            Self::CpuUsPerOp => "CPU us/op",
            Self::P50Us => "p50 us",
            Self::P99Us => "p99 us",
            Self::DataMissPercent => "data misses %",
            Self::MetadataMissPercent => "index and filter misses %",
        }
    }

    /// The name in JSON.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::OpsPerSecond => "ops_per_second",
            Self::ReadsPerOp => "reads_per_op",
            Self::KibPerOp => "kib_per_op",
            Self::CpuUsPerOp => "cpu_us_per_op",
            Self::P50Us => "p50_us",
            Self::P99Us => "p99_us",
            Self::DataMissPercent => "data_miss_percent",
            Self::MetadataMissPercent => "metadata_miss_percent",
        }
    }
}

/// Hits and misses of the block cache.
#[derive(Clone, Copy, Debug, Default)]
struct Lookups {
    hits: u64,
    misses: u64,
}

impl Lookups {
    fn of(stats: &CacheStats, roles: &[EntryRole]) -> Self {
        roles.iter().fold(Self::default(), |sum, role| {
            let role = stats.role(*role);
            Self { hits: sum.hits + role.hits, misses: sum.misses + role.misses }
        })
    }

    fn since(self, before: Self) -> Self {
        Self { hits: self.hits.saturating_sub(before.hits), misses: self.misses.saturating_sub(before.misses) }
    }

    fn miss_percent(self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0).then(|| self.misses as f64 * 100.0 / all as f64)
    }
}

const DATA: &[EntryRole] = &[EntryRole::DataBlock];
const METADATA: &[EntryRole] =
    &[EntryRole::FilterBlock, EntryRole::FilterMetaBlock, EntryRole::IndexBlock, EntryRole::IndexMetaBlock];

/// The results and costs of a benchmark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) values_checked: u64,
    cpu_us: f64,
    reads: u64,
    read_bytes: u64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    data: Lookups,
    metadata: Lookups,
}

impl Sample {
    /// One of its figures; `None` when it was not measured.
    pub(crate) fn get(&self, figure: Figure) -> Option<f64> {
        let per_op = |amount: f64| amount / self.operations.max(1) as f64;
        match figure {
            Figure::OpsPerSecond => Some(self.operations as f64 / self.seconds),
            Figure::ReadsPerOp => Some(per_op(self.reads as f64)),
            Figure::KibPerOp => Some(per_op(self.read_bytes as f64 / 1024.0)),
            Figure::CpuUsPerOp => Some(per_op(self.cpu_us)),
            Figure::P50Us => self.p50_us,
            Figure::P99Us => self.p99_us,
            Figure::DataMissPercent => self.data.miss_percent(),
            Figure::MetadataMissPercent => self.metadata.miss_percent(),
        }
    }

    /// All of them.
    pub(crate) fn json(&self) -> Value {
        let figures = Figure::ALL.iter().map(|figure| (figure.key().to_owned(), json!(self.get(*figure))));
        let mut object: serde_json::Map<String, Value> = figures.collect();
        object.insert("operations".to_owned(), self.operations.into());
        object.insert("seconds".to_owned(), self.seconds.into());
        object.insert("values_checked".to_owned(), self.values_checked.into());
        object.into()
    }
}

struct Counters {
    cpu_us: f64,
    io: IoSnapshot,
    cache: CacheStats,
}

impl Counters {
    fn of(session: &Session) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            cpu_us: cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 * 1e-3,
            io: session.file_system().map(|files| files.counters().snapshot()).unwrap_or_default(),
            cache: session.block_cache().map(|cache| cache.stats()).unwrap_or_default(),
        }
    }
}

/// Runs a benchmark and measures it. CPU time is that of the whole process, checks and background work included.
pub(crate) fn measure(session: &mut Session, benchmark: &'static Benchmark, run: u32) -> Result<Sample> {
    let before = Counters::of(session);
    let stats = session.run_once(benchmark, run)?;
    let after = Counters::of(session);
    if benchmark.work == (Work::ReadRandom { is_missing: false, is_hot: false })
        && session.settings_mut().verify
        && stats.checked() != stats.done()
    {
        return Err(Failure::Wrong(format!(
            "{}: of {} keys that were written only {} are there",
            benchmark.name,
            stats.done(),
            stats.checked()
        )));
    }
    let times = stats.all_times();
    let lookups = |roles| Lookups::of(&after.cache, roles).since(Lookups::of(&before.cache, roles));
    Ok(Sample {
        operations: stats.done(),
        seconds: stats.elapsed_seconds(),
        values_checked: stats.checked(),
        cpu_us: after.cpu_us - before.cpu_us,
        reads: after.io.read_requests.saturating_sub(before.io.read_requests),
        read_bytes: after.io.read_bytes.saturating_sub(before.io.read_bytes),
        p50_us: times.as_ref().map(|times| times.percentile(50.0)),
        p99_us: times.as_ref().map(|times| times.percentile(99.0)),
        data: lookups(DATA),
        metadata: lookups(METADATA),
    })
}
