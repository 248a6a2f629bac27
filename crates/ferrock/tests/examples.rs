//! The examples run to their end.

#[path = "../examples/batches_and_families.rs"]
mod batches_and_families;
#[path = "../examples/bulk_load.rs"]
mod bulk_load;
#[path = "../examples/chat_history.rs"]
mod chat_history;
#[path = "../examples/compaction_filter.rs"]
mod compaction_filter;
#[path = "../examples/little_memory.rs"]
mod little_memory;
#[path = "../examples/merge_operator.rs"]
mod merge_operator;
#[cfg(feature = "metrics")]
#[path = "../examples/metrics.rs"]
mod metrics;
#[path = "../examples/snapshots_and_iterators.rs"]
mod snapshots_and_iterators;
#[path = "../examples/time_series.rs"]
mod time_series;

#[test]
fn batches_and_families_run() {
    batches_and_families::main().unwrap();
}

#[test]
fn the_bulk_load_runs() {
    bulk_load::main().unwrap();
}

#[test]
fn the_chat_history_runs() {
    chat_history::main().unwrap();
}

#[test]
fn the_compaction_filter_runs() {
    compaction_filter::main().unwrap();
}

#[test]
fn the_database_of_little_memory_runs() {
    little_memory::main().unwrap();
}

#[test]
fn the_merge_operator_runs() {
    merge_operator::main().unwrap();
}

#[test]
fn snapshots_and_iterators_run() {
    snapshots_and_iterators::main().unwrap();
}

#[test]
fn the_time_series_runs() {
    time_series::main().unwrap();
}

#[cfg(feature = "metrics")]
#[test]
fn the_metrics_run() {
    metrics::main().unwrap();
}
