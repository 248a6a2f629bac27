//! The examples of wide tables run to their end.

#[path = "../examples/chat_history.rs"]
mod chat_history;
#[path = "../examples/time_series.rs"]
mod time_series;

#[test]
fn the_chat_history_runs() {
    assert!(chat_history::main().is_ok());
}

#[test]
fn the_time_series_runs() {
    assert!(time_series::main().is_ok());
}
