//! Counters of single threads.

use super::{not_built, unbuilt_types};
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int, c_uchar};

unbuilt_types! {
    rocksdb_perfcontext_t, rocksdb_statistics_histogram_data_t,
}

not_built! {
    fn rocksdb_options_statistics_get_ticker_count(opt: *mut rocksdb_options_t, ticker_type: u32) -> u64 = neutral;
    fn rocksdb_options_statistics_get_histogram_data(
        opt: *mut rocksdb_options_t, histogram_type: u32, data: *mut rocksdb_statistics_histogram_data_t,
    ) = neutral;
    fn rocksdb_set_perf_level(argument0: c_int) = neutral;
    fn rocksdb_perfcontext_create() -> *mut rocksdb_perfcontext_t = handle;
    fn rocksdb_perfcontext_reset(context: *mut rocksdb_perfcontext_t) = neutral;
    fn rocksdb_perfcontext_report(
        context: *mut rocksdb_perfcontext_t, exclude_zero_counters: c_uchar,
    ) -> *mut c_char = neutral;
    fn rocksdb_perfcontext_metric(context: *mut rocksdb_perfcontext_t, metric: c_int) -> u64 = neutral;
    fn rocksdb_perfcontext_destroy(context: *mut rocksdb_perfcontext_t) = destroy;
    fn rocksdb_statistics_histogram_data_create() -> *mut rocksdb_statistics_histogram_data_t = handle;
    fn rocksdb_statistics_histogram_data_destroy(data: *mut rocksdb_statistics_histogram_data_t) = destroy;
    fn rocksdb_statistics_histogram_data_get_median(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_p95(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_p99(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_average(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_std_dev(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_max(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
    fn rocksdb_statistics_histogram_data_get_count(data: *mut rocksdb_statistics_histogram_data_t) -> u64 = neutral;
    fn rocksdb_statistics_histogram_data_get_sum(data: *mut rocksdb_statistics_histogram_data_t) -> u64 = neutral;
    fn rocksdb_statistics_histogram_data_get_min(data: *mut rocksdb_statistics_histogram_data_t) -> f64 = neutral;
}
