//! Statistics of databases, and counters of threads.

use crate::handle::give;
use crate::memory::new_text;
use crate::options::rocksdb_options_t;
use ferrock::statistics::{
    Histogram, HistogramData, PerfContext, PerfLevel, PerfMetric, Statistics, StatsLevel, Ticker,
};
use std::ffi::{c_char, c_int, c_uchar};
use std::sync::Arc;

/// A histogram of one moment.
#[derive(Default)]
pub struct rocksdb_statistics_histogram_data_t(HistogramData);

/// The counters of the thread that calls; the handle has none of its own.
#[derive(Default)]
pub struct rocksdb_perfcontext_t;

/// What RocksDB's C interface numbers so.
const METRICS: &[PerfMetric] = {
    use PerfMetric as M;
    &[
        M::UserKeyComparisonCount,
        M::BlockCacheHitCount,
        M::BlockReadCount,
        M::BlockReadByte,
        M::BlockReadTime,
        M::BlockChecksumTime,
        M::BlockDecompressTime,
        M::GetReadBytes,
        M::MultigetReadBytes,
        M::IterReadBytes,
        M::InternalKeySkippedCount,
        M::InternalDeleteSkippedCount,
        M::InternalRecentSkippedCount,
        M::InternalMergeCount,
        M::GetSnapshotTime,
        M::GetFromMemtableTime,
        M::GetFromMemtableCount,
        M::GetPostProcessTime,
        M::GetFromOutputFilesTime,
        M::SeekOnMemtableTime,
        M::SeekOnMemtableCount,
        M::NextOnMemtableCount,
        M::PrevOnMemtableCount,
        M::SeekChildSeekTime,
        M::SeekChildSeekCount,
        M::SeekMinHeapTime,
        M::SeekMaxHeapTime,
        M::SeekInternalSeekTime,
        M::FindNextUserEntryTime,
        M::WriteWalTime,
        M::WriteMemtableTime,
        M::WriteDelayTime,
        M::WritePreAndPostProcessTime,
        M::DbMutexLockNanos,
        M::DbConditionWaitNanos,
        M::MergeOperatorTimeNanos,
        M::ReadIndexBlockNanos,
        M::ReadFilterBlockNanos,
        M::NewTableBlockIterNanos,
        M::NewTableIteratorNanos,
        M::BlockSeekNanos,
        M::FindTableNanos,
        M::BloomMemtableHitCount,
        M::BloomMemtableMissCount,
        M::BloomSstHitCount,
        M::BloomSstMissCount,
        M::KeyLockWaitTime,
        M::KeyLockWaitCount,
        M::EnvNewSequentialFileNanos,
        M::EnvNewRandomAccessFileNanos,
        M::EnvNewWritableFileNanos,
        M::EnvReuseWritableFileNanos,
        M::EnvNewRandomRwFileNanos,
        M::EnvNewDirectoryNanos,
        M::EnvFileExistsNanos,
        M::EnvGetChildrenNanos,
        M::EnvGetChildrenFileAttributesNanos,
        M::EnvDeleteFileNanos,
        M::EnvCreateDirNanos,
        M::EnvCreateDirIfMissingNanos,
        M::EnvDeleteDirNanos,
        M::EnvGetFileSizeNanos,
        M::EnvGetFileModificationTimeNanos,
        M::EnvRenameFileNanos,
        M::EnvLinkFileNanos,
        M::EnvLockFileNanos,
        M::EnvUnlockFileNanos,
        M::EnvNewLoggerNanos,
        M::NumberAsyncSeek,
        M::BlobCacheHitCount,
        M::BlobReadCount,
        M::BlobReadByte,
        M::BlobReadTime,
        M::BlobChecksumTime,
        M::BlobDecompressTime,
        M::InternalRangeDelReseekCount,
        M::BlockReadCpuTime,
        M::InternalMergePointLookupCount,
        M::DataBlockReadByte,
        M::IndexBlockReadByte,
        M::FilterBlockReadByte,
        M::CompressionDictBlockReadByte,
        M::MetadataBlockReadByte,
    ]
};

/// The statistics that options have.
///
/// # Safety
/// The contract.
unsafe fn statistics_of<'a>(options: *const rocksdb_options_t) -> Option<&'a Arc<Statistics>> {
    // SAFETY: as for this function.
    unsafe { options.as_ref() }?.db.components.statistics.as_ref()
}

/// A number of a histogram; 0 of none.
///
/// # Safety
/// The contract.
unsafe fn of<T: Default>(
    data: *const rocksdb_statistics_histogram_data_t,
    number: impl FnOnce(&HistogramData) -> T,
) -> T {
    // SAFETY: as for this function.
    unsafe { data.as_ref() }.map_or_else(T::default, |data| number(&data.0))
}

c_functions! {
    /// Counts in a new object what databases do that are opened with the options; in the one that they have, if any.
    fn rocksdb_options_enable_statistics(options: *mut rocksdb_options_t) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.db.components.statistics.get_or_insert_default();
        }
    }

    /// How much is counted, once there are statistics. A level beyond the last means the last: no number is refused.
    fn rocksdb_options_set_statistics_level(options: *mut rocksdb_options_t, level: c_int) {
        // SAFETY: the contract.
        if let Some(statistics) = unsafe { statistics_of(options) } {
            statistics.set_level(StatsLevel::from_number(u32::try_from(level).unwrap_or(0)));
        }
    }

    /// The level that was set, once there are statistics; 0 before.
    fn rocksdb_options_get_statistics_level(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { statistics_of(options) }.map_or(0, |statistics| statistics.level() as c_int)
    }

    /// A line for each ticker and each histogram, from `malloc`; null without statistics.
    fn rocksdb_options_statistics_get_string(options: *mut rocksdb_options_t) -> *mut c_char {
        // SAFETY: the contract.
        match unsafe { statistics_of(options) } {
            Some(statistics) => new_text(&statistics.to_string()),
            None => std::ptr::null_mut(),
        }
    }

    /// The value of a ticker; 0 without statistics, and of a number that is none.
    fn rocksdb_options_statistics_get_ticker_count(options: *mut rocksdb_options_t, ticker: u32) -> u64 {
        // SAFETY: the contract.
        let statistics = unsafe { statistics_of(options) };
        statistics.zip(Ticker::from_number(ticker)).map_or(0, |(statistics, ticker)| statistics.ticker(ticker))
    }

    /// Puts what a histogram counted into `data`; nothing without statistics, and for a number that is none.
    fn rocksdb_options_statistics_get_histogram_data(
        options: *mut rocksdb_options_t, histogram: u32, data: *mut rocksdb_statistics_histogram_data_t,
    ) {
        // SAFETY: the contract.
        let (statistics, data) = unsafe { (statistics_of(options), data.as_mut()) };
        if let Some(data) = data {
            let of = statistics.zip(Histogram::from_number(histogram));
            data.0 = of.map_or_else(HistogramData::default, |(statistics, histogram)| statistics.histogram(histogram));
        }
    }

    /// A histogram without values.
    fn rocksdb_statistics_histogram_data_create() -> *mut rocksdb_statistics_histogram_data_t {
        give(rocksdb_statistics_histogram_data_t::default())
    }

    /// The value that half of the values do not exceed.
    fn rocksdb_statistics_histogram_data_get_median(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, HistogramData::median) }
    }

    /// The value that 95 % of the values do not exceed.
    fn rocksdb_statistics_histogram_data_get_p95(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, |data| data.percentile(95.0)) }
    }

    /// The value that 99 % of the values do not exceed.
    fn rocksdb_statistics_histogram_data_get_p99(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, |data| data.percentile(99.0)) }
    }

    /// The mean.
    fn rocksdb_statistics_histogram_data_get_average(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, HistogramData::average) }
    }

    /// The standard deviation.
    fn rocksdb_statistics_histogram_data_get_std_dev(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, HistogramData::standard_deviation) }
    }

    /// The largest value.
    fn rocksdb_statistics_histogram_data_get_max(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, |data| data.max() as f64) }
    }

    /// How many values there are.
    fn rocksdb_statistics_histogram_data_get_count(data: *mut rocksdb_statistics_histogram_data_t) -> u64 {
        // SAFETY: the contract.
        unsafe { of(data, HistogramData::count) }
    }

    /// Their sum.
    fn rocksdb_statistics_histogram_data_get_sum(data: *mut rocksdb_statistics_histogram_data_t) -> u64 {
        // SAFETY: the contract.
        unsafe { of(data, HistogramData::sum) }
    }

    /// The smallest value.
    fn rocksdb_statistics_histogram_data_get_min(data: *mut rocksdb_statistics_histogram_data_t) -> f64 {
        // SAFETY: the contract.
        unsafe { of(data, |data| data.min() as f64) }
    }

    /// How much is counted of the thread that calls; a number that is no level counts nothing. The default is 1, where
    /// RocksDB's is 2: see docs/statistics.md.
    fn rocksdb_set_perf_level(level: c_int) {
        let known = u32::try_from(level).ok().and_then(PerfLevel::from_number);
        known.unwrap_or_default().set_of_thread();
    }

    /// A handle to the counters of the thread that uses it.
    fn rocksdb_perfcontext_create() -> *mut rocksdb_perfcontext_t {
        give(rocksdb_perfcontext_t)
    }

    /// Sets the counters of the thread to 0.
    fn rocksdb_perfcontext_reset(context: *mut rocksdb_perfcontext_t) {
        if !context.is_null() {
            PerfContext::reset_thread();
        }
    }

    /// The counters of the thread as `name = value`, with commas between, from `malloc`; null without a handle.
    fn rocksdb_perfcontext_report(context: *mut rocksdb_perfcontext_t, exclude_zero_counters: c_uchar) -> *mut c_char {
        if context.is_null() {
            return std::ptr::null_mut();
        }
        new_text(&PerfContext::of_thread().report(exclude_zero_counters != 0))
    }

    /// A counter of the thread; 0 for a number that is none.
    fn rocksdb_perfcontext_metric(context: *mut rocksdb_perfcontext_t, metric: c_int) -> u64 {
        let known = usize::try_from(metric).ok().and_then(|metric| METRICS.get(metric));
        known.filter(|_| !context.is_null()).map_or(0, |metric| PerfContext::of_thread().get(*metric))
    }
}

c_destructors! {
    /// Ends a histogram.
    fn rocksdb_statistics_histogram_data_destroy(rocksdb_statistics_histogram_data_t);
    /// Ends a handle; the counters stay.
    fn rocksdb_perfcontext_destroy(rocksdb_perfcontext_t);
}
