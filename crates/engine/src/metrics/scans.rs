//! What an iterator counts until it is dropped.

use ferrock_base::clock::{Clock, Moment};
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, PerfTimer, Recorder, Statistics, Ticker};
use ferrock_tree::iterator::{Hidden, IterWork};
use ferrock_vfs::thread_cpu_ns;
use std::sync::Arc;

/// A way in which an iterator moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Movement {
    Seek,
    /// To the first or the last key, which RocksDB counts as a seek and does not time.
    Edge,
    Next,
    Prev,
}

/// The counts of an iterator that was made while something counted.
///
/// Seeks are added at once; steps when the iterator is dropped, as RocksDB does.
#[derive(Debug)]
pub(crate) struct ScanTally {
    statistics: Option<Arc<Statistics>>,
    clock: Arc<dyn Clock>,
    /// Steps forward and backward, and those of them that came to a key.
    steps: [u64; 2],
    found: [u64; 2],
    bytes: u64,
    /// What an iterator which rested had done before.
    before: IterWork,
}

impl ScanTally {
    /// Counts an iterator that is made; `None` where nothing counts.
    pub(crate) fn begin(
        statistics: Option<&Arc<Statistics>>,
        clock: &Arc<dyn Clock>,
        before: IterWork,
    ) -> Option<Self> {
        if statistics.is_none() && PerfRecorder::of_thread().is_none() {
            return None;
        }
        if let Some(statistics) = statistics {
            statistics.add(Ticker::NoIteratorCreated, 1);
        }
        Some(Self {
            statistics: statistics.cloned(),
            clock: Arc::clone(clock),
            steps: [0; 2],
            found: [0; 2],
            bytes: 0,
            before,
        })
    }

    fn recorder(&self) -> Option<Recorder<'_>> {
        self.statistics.as_ref()?.recorder()
    }

    /// The time, if that of seeks is counted.
    pub(crate) fn watch(&self) -> Option<Moment> {
        self.recorder().is_some_and(Recorder::is_timing).then(|| self.clock.moment())
    }

    /// The time of the processor of a movement.
    pub(crate) fn processor_timer(movement: Movement) -> PerfTimer {
        let metric = match movement {
            Movement::Seek | Movement::Edge => PerfMetric::IterSeekCpuNanos,
            Movement::Next => PerfMetric::IterNextCpuNanos,
            Movement::Prev => PerfMetric::IterPrevCpuNanos,
        };
        PerfTimer::of_processor(PerfRecorder::of_thread(), metric, thread_cpu_ns)
    }

    /// Counts a movement, to an entry of so many bytes if there is one.
    pub(crate) fn note(&mut self, movement: Movement, watch: Option<Moment>, entry_bytes: Option<u64>) {
        if let Some(perf) = PerfRecorder::of_thread() {
            let count = match movement {
                Movement::Seek | Movement::Edge => PerfMetric::IterSeekCount,
                Movement::Next => PerfMetric::IterNextCount,
                Movement::Prev => PerfMetric::IterPrevCount,
            };
            perf.add_all([(count, 1), (PerfMetric::IterReadBytes, entry_bytes.unwrap_or(0))]);
        }
        self.bytes += entry_bytes.unwrap_or(0);
        let place = usize::from(movement == Movement::Prev);
        if !matches!(movement, Movement::Seek | Movement::Edge) {
            self.steps[place] += 1;
            self.found[place] += u64::from(entry_bytes.is_some());
        } else if let Some(recorder) = self.recorder() {
            let found = u64::from(entry_bytes.is_some());
            recorder.add_all([(Ticker::NumberDbSeek, 1), (Ticker::NumberDbSeekFound, found)]);
            if let Some(begun) = watch.filter(|_| movement == Movement::Seek) {
                recorder.record(Histogram::DbSeek, self.clock.elapsed_us(begun));
            }
        }
    }

    /// Adds the counts of an iterator that is dropped.
    pub(crate) fn end(&self, work: &IterWork) {
        let work = work.since(&self.before);
        if let Some(perf) = PerfRecorder::of_thread() {
            perf.add_all([
                (PerfMetric::InternalKeySkippedCount, work.passed[Hidden::Older as usize]),
                (PerfMetric::InternalDeleteSkippedCount, work.passed[Hidden::Deleted as usize]),
                (PerfMetric::InternalRecentSkippedCount, work.passed[Hidden::Recent as usize]),
            ]);
        }
        let Some(recorder) = self.recorder() else { return };
        recorder.add_all([
            (Ticker::NumberDbNext, self.steps[0]),
            (Ticker::NumberDbNextFound, self.found[0]),
            (Ticker::NumberDbPrev, self.steps[1]),
            (Ticker::NumberDbPrevFound, self.found[1]),
            (Ticker::IterBytesRead, self.bytes),
            (Ticker::NumberIterSkip, work.passed_entries()),
            (Ticker::NumberOfReseeksInIteration, work.reseeks),
            (Ticker::NoIteratorDeleted, 1),
        ]);
    }
}
