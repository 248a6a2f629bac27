//! What writing files counts in the statistics of a database.
//!
//! ```text
//! a job's tables and blob files   append, sync, and reads of files that are copied whole
//! MANIFEST                        sync
//! ```
//!
//! Without statistics the file system stays as it is. Reads of tables and blob files by readers are counted where they
//! are made, so that a ring still reads their files by their descriptors.

use ferrock_base::clock::Clock;
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, PerfTimer, Recorder, Statistics, Ticker};
use ferrock_vfs::{FileObserver, FileOperation, FileOperationKind, FileSystem, ObservedFileSystem};
use std::path::Path;
use std::sync::Arc;

/// What files are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenBy {
    /// A memtable becomes a table.
    Flush,
    /// Tables become others.
    Compaction,
    /// A change of the tree is recorded.
    Manifest,
}

/// The file system, whose operations on written files are counted if there are statistics.
#[must_use]
pub fn counted(
    files: &Arc<dyn FileSystem>,
    statistics: Option<&Arc<Statistics>>,
    clock: &Arc<dyn Clock>,
    by: WrittenBy,
) -> Arc<dyn FileSystem> {
    let Some(statistics) = statistics else { return Arc::clone(files) };
    let counts = FileCounts { statistics: Arc::clone(statistics), by };
    Arc::new(ObservedFileSystem::new(Arc::clone(files), Arc::new(counts), Arc::clone(clock)))
}

struct FileCounts {
    statistics: Arc<Statistics>,
    by: WrittenBy,
}

/// Of a job, which gives a blob file its name when it is complete.
fn is_blob_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "blob" || extension == "dbtmp")
}

impl FileObserver for FileCounts {
    fn on_operation(&self, operation: &FileOperation<'_>) {
        let Some(recorder) = self.statistics.recorder() else { return };
        let is_blob = self.by != WrittenBy::Manifest && is_blob_file(operation.path);
        match operation.kind {
            FileOperationKind::Append if is_blob => recorder.add(Ticker::BlobDbBlobFileBytesWritten, operation.length),
            FileOperationKind::Sync if is_blob => recorder.add(Ticker::BlobDbBlobFileSynced, 1),
            _ => {}
        }
        if !recorder.is_timing() {
            return;
        }
        let of_file = if is_blob { Histogram::BlobDbBlobFileWriteMicros } else { Histogram::SstWriteMicros };
        let histograms = match (operation.kind, self.by) {
            (FileOperationKind::Append, WrittenBy::Flush) => [Some(of_file), Some(Histogram::FileWriteFlushMicros)],
            (FileOperationKind::Append, WrittenBy::Compaction) => {
                [Some(of_file), Some(Histogram::FileWriteCompactionMicros)]
            }
            (FileOperationKind::Sync, _) if is_blob => [Some(Histogram::BlobDbBlobFileSyncMicros), None],
            (FileOperationKind::Sync, WrittenBy::Flush) => [Some(Histogram::TableSyncMicros), None],
            (FileOperationKind::Sync, WrittenBy::Compaction) => [Some(Histogram::CompactionOutfileSyncMicros), None],
            (FileOperationKind::Sync, WrittenBy::Manifest) => [Some(Histogram::ManifestFileSyncMicros), None],
            _ => [None, None],
        };
        histograms.into_iter().flatten().for_each(|histogram| recorder.record(histogram, operation.duration_us));
    }
}

/// Adds a read of a blob file for a value to the sums of the thread.
fn note_read(bytes: usize) {
    if let Some(perf) = PerfRecorder::of_thread() {
        perf.add_all([(PerfMetric::BlobReadCount, 1), (PerfMetric::BlobReadByte, bytes as u64)]);
    }
}

/// What reading blob files counts.
#[derive(Clone, Debug)]
pub struct BlobReadCounts {
    statistics: Arc<Statistics>,
    clock: Arc<dyn Clock>,
}

impl BlobReadCounts {
    /// `None` without statistics.
    #[must_use]
    pub fn of(statistics: Option<&Arc<Statistics>>, clock: &Arc<dyn Clock>) -> Option<Self> {
        statistics.map(|statistics| Self { statistics: Arc::clone(statistics), clock: Arc::clone(clock) })
    }

    /// What the thread that calls counts by.
    pub(crate) fn recorder(&self) -> Option<Recorder<'_>> {
        self.statistics.recorder()
    }

    /// Counts the bytes of a read that is only begun here: its time is not known.
    pub(crate) fn note_begun(counts: Option<&Self>, bytes: usize) {
        note_read(bytes);
        if let Some(counts) = counts {
            counts.statistics.add(Ticker::BlobDbBlobFileBytesRead, bytes as u64);
        }
    }

    /// Runs a read of so many bytes, and counts it with its time.
    pub(crate) fn around<T>(counts: Option<&Self>, bytes: usize, read: impl FnOnce() -> T) -> T {
        note_read(bytes);
        let _timer = PerfTimer::begin(PerfMetric::BlobReadTime);
        let Some((counts, recorder)) = counts.and_then(|counts| Some((counts, counts.statistics.recorder()?))) else {
            return read();
        };
        recorder.add(Ticker::BlobDbBlobFileBytesRead, bytes as u64);
        if !recorder.is_timing() {
            return read();
        }
        let begun = counts.clock.moment();
        let result = read();
        recorder.record(Histogram::BlobDbBlobFileReadMicros, counts.clock.elapsed_us(begun));
        result
    }
}
