//! With the feature `tracing` a subscriber sees opens, flushes, compactions and stalls:
//! `cargo test -p ferrock --features tracing --test tracing`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::threads::Waiting;
use common::{in_memory, key, open_default};
use ferrock::{ColumnFamilyOptions, FlushOptions};
use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The name of a span, and its fields.
type Begun = (String, BTreeMap<String, String>);

/// Every span as its name and fields, and how often spans were entered and left.
#[derive(Clone, Default)]
struct Spans {
    begun: Arc<Mutex<Vec<Begun>>>,
    entered: Arc<AtomicU64>,
    left: Arc<AtomicU64>,
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = self.0.entry(field.name().to_owned()).or_default();
        write!(text, "{value:?}").unwrap();
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ferrock"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut begun = self.begun.lock().unwrap();
        begun.push((span.metadata().name().to_owned(), fields.0));
        Id::from_u64(begun.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {
        self.entered.fetch_add(1, Ordering::SeqCst);
    }
    fn exit(&self, _: &Id) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

impl Spans {
    fn of(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let begun = self.begun.lock().unwrap();
        begun.iter().filter(|(own, _)| own == name).map(|(_, fields)| fields.clone()).collect()
    }
}

#[test]
fn a_subscriber_sees_what_a_database_does() {
    let spans = Spans::default();
    tracing::subscriber::set_global_default(spans.clone()).unwrap();
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    let db = open_default(in_memory(), family);
    assert_eq!(spans.of("open"), [BTreeMap::from([("path".to_owned(), "/db".to_owned())])]);
    for _ in 0..2 {
        (0..10).for_each(|number| db.put(&key(number), b"value").unwrap());
        db.flush().unwrap();
    }
    let flushes = spans.of("flush");
    assert_eq!((flushes.len(), flushes[0]["families"].as_str()), (2, "1"));
    let bytes: u64 = db.live_files().iter().map(|file| file.size_bytes).sum();
    db.compact_range(None, None).unwrap();
    let compactions = spans.of("compaction");
    assert_eq!(compactions.len(), 1);
    let expected = [("family", "default"), ("start_level", "0"), ("output_level", "6"), ("reason", "ManualCompaction")];
    expected.into_iter().for_each(|(field, value)| assert_eq!(compactions[0][field], value));
    assert_eq!(compactions[0]["input_bytes"], bytes.to_string());

    // Four full memtables stop writers.
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("max_write_buffer_number", "4")]).unwrap();
    db.pause_background_work().unwrap();
    let at_once = FlushOptions { wait: false, force_atomic_flush: false, allow_write_stall: true };
    for number in 0..4 {
        db.put(&key(number), b"value").unwrap();
        db.flush_cf(&family, &at_once).unwrap();
    }
    let writer = {
        let db = db.clone();
        Waiting::begin("a writer that is stopped", move || db.put(b"waits", b"value").unwrap())
    };
    let stops = spans.of("write_stall").into_iter().filter(|fields| fields["kind"] == "stop").collect::<Vec<_>>();
    assert_eq!((stops.len(), stops[0]["cause"].as_str()), (1, "memtables"));
    db.continue_background_work().unwrap();
    writer.join();
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
    let begun = spans.begun.lock().unwrap().len() as u64;
    assert_eq!((spans.entered.load(Ordering::SeqCst), spans.left.load(Ordering::SeqCst)), (begun, begun));
}
