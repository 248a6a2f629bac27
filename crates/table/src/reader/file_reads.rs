//! Reads of one file, as the statistics of the database count them.

use super::params::TableReaderParams;
use ferrock_base::Temperature;
use ferrock_base::clock::Clock;
use ferrock_statistics::{Histogram, Recorder, SharedHistogram, Statistics, Ticker};
use ferrock_vfs::IoActivity;
use std::sync::Arc;

/// Where reads of the file are counted.
#[derive(Debug)]
pub(crate) struct FileReads {
    statistics: Arc<Statistics>,
    /// Microseconds of reads of files of the same level.
    latency: Option<Arc<SharedHistogram>>,
    of_level: (Ticker, Ticker),
    of_temperature: Option<(Ticker, Ticker)>,
}

impl FileReads {
    /// `None` without statistics.
    pub(crate) fn of(params: &TableReaderParams) -> Option<Self> {
        let of_level = match params.is_last_level {
            true => (Ticker::LastLevelReadCount, Ticker::LastLevelReadBytes),
            false => (Ticker::NonLastLevelReadCount, Ticker::NonLastLevelReadBytes),
        };
        let of_temperature = match params.temperature {
            Temperature::Unknown => None,
            Temperature::Hot => Some((Ticker::HotFileReadCount, Ticker::HotFileReadBytes)),
            Temperature::Warm => Some((Ticker::WarmFileReadCount, Ticker::WarmFileReadBytes)),
            Temperature::Cool => Some((Ticker::CoolFileReadCount, Ticker::CoolFileReadBytes)),
            Temperature::Cold => Some((Ticker::ColdFileReadCount, Ticker::ColdFileReadBytes)),
            Temperature::Ice => Some((Ticker::IceFileReadCount, Ticker::IceFileReadBytes)),
        };
        let statistics = params.statistics.clone()?;
        let latency = params.read_stats.as_ref().map(|stats| stats.latency_of(params.level));
        Some(Self { statistics, latency, of_level, of_temperature })
    }

    /// Counts a read of so many bytes for some work, which took so long if that is known.
    pub(crate) fn note(&self, bytes: usize, activity: IoActivity, took_us: Option<u64>) {
        let Some(recorder) = self.statistics.recorder() else { return };
        for (count, of_bytes) in [Some(self.of_level), self.of_temperature].into_iter().flatten() {
            recorder.add(count, 1);
            recorder.add(of_bytes, bytes as u64);
        }
        if let Some(took_us) = took_us {
            recorder.record(Histogram::SstReadMicros, took_us);
            if let Some(histogram) = histogram_of(activity, recorder.is_timing_parts()) {
                recorder.record(histogram, took_us);
            }
            self.latency.iter().for_each(|latency| latency.add(took_us));
        }
    }
}

/// The times of reads for some work. Where `parts` of operations are not timed, those of jobs alone, as in RocksDB.
fn histogram_of(activity: IoActivity, parts: bool) -> Option<Histogram> {
    match activity {
        // Most reads of a batch are made together, and have no time of their own.
        IoActivity::Unknown | IoActivity::MultiGet => None,
        IoActivity::Flush => Some(Histogram::FileReadFlushMicros),
        IoActivity::Compaction => Some(Histogram::FileReadCompactionMicros),
        IoActivity::DbOpen => Some(Histogram::FileReadDbOpenMicros),
        IoActivity::Get => parts.then_some(Histogram::FileReadGetMicros),
        IoActivity::DbIterator => parts.then_some(Histogram::FileReadDbIteratorMicros),
        IoActivity::VerifyDbChecksum => parts.then_some(Histogram::FileReadVerifyDbChecksumMicros),
    }
}

/// The time by `clock`, if that of a read is counted in the statistics.
pub(crate) fn watch(statistics: Option<&Arc<Statistics>>, clock: Option<&dyn Clock>) -> Option<u64> {
    let is_timing = |statistics: &Arc<Statistics>| statistics.recorder().is_some_and(Recorder::is_timing);
    if statistics.is_some_and(is_timing) { clock.map(Clock::monotonic_us) } else { None }
}
