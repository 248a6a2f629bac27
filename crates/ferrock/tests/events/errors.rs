//! Background errors, and the way back.

use crate::common::threads::wait_until;
use crate::recorder::{Bench, all, names, only};
use ferrock::{BackgroundErrorReason, ErrorKind};
use ferrock_vfs::{Fault, FaultRule, OperationKind};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn full(path: &str) -> FaultRule {
    FaultRule::new(OperationKind::Append, path, Fault::NoSpace)
}

#[test]
fn a_background_error_is_told_with_its_reason() {
    for (path, reason) in [
        ("*.sst", BackgroundErrorReason::Flush),
        ("MANIFEST-*", BackgroundErrorReason::ManifestWrite),
        ("*.log", BackgroundErrorReason::WriteCallback),
    ] {
        let bench = Bench::new();
        let db = bench.open();
        db.put(b"key", b"value").unwrap();
        bench.recorder.take();
        bench.faulty.add_rule(full(path));
        assert_eq!(db.put(b"key", b"value").and_then(|()| db.flush()).unwrap_err().kind(), ErrorKind::NoSpace);
        wait_until("the error is told", || bench.recorder.count("BackgroundError") > 0);
        bench.faulty.clear_rules();
        db.resume().unwrap();
        let told = bench.recorder.take();
        let errors: Vec<_> = told.iter().filter(|told| told.name() == "BackgroundError").collect();
        let [crate::recorder::Told::BackgroundError(told_reason, kind)] = errors[..] else { panic!("{errors:?}") };
        assert_eq!((*told_reason, *kind), (reason, ErrorKind::NoSpace), "{path}");
        let end = only!(told, RecoveryEnd);
        assert_eq!((end.old_error.kind(), end.new_error.is_none()), (ErrorKind::NoSpace, true));
        assert_eq!(only!(told, RecoveryCompleted), ErrorKind::NoSpace);
        assert_eq!(names(&told, &[]).iter().filter(|name| *name == "RecoveryBegin").count(), 0, "a call leaves it");
        db.put(b"key", b"value").unwrap();
    }
}

#[test]
fn a_listener_lets_a_failed_flush_count_for_nothing() {
    let bench = Bench::new();
    bench.recorder.suppresses.store(true, Ordering::SeqCst);
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    let rule = bench.faulty.add_rule(full("*.sst"));
    let flushing = {
        let db = db.clone();
        std::thread::spawn(move || db.flush())
    };
    wait_until("the error is told", || bench.recorder.count("BackgroundError") > 0);
    // Writes go on, and the flush is tried again.
    db.put(b"other", b"value").unwrap();
    assert!(db.background_error().is_none());
    bench.faulty.remove_rule(rule);
    flushing.join().unwrap().unwrap();
    assert_eq!(all!(bench.recorder.told(), FlushCompleted).len(), 1);
}

#[test]
fn an_error_of_the_log_counts_whatever_a_listener_says() {
    let bench = Bench::new();
    bench.recorder.suppresses.store(true, Ordering::SeqCst);
    let db = bench.open();
    bench.faulty.add_rule(full("*.log"));
    assert!(db.put(b"key", b"value").is_err());
    assert_eq!(bench.recorder.count("BackgroundError"), 1);
    assert!(db.background_error().is_some());
    bench.faulty.clear_rules();
    db.resume().unwrap();
}

#[test]
fn recovery_begins_unless_a_listener_objects() {
    for objects in [false, true] {
        let mut bench = Bench::new();
        bench.options.max_bgerror_resume_count = i32::MAX;
        bench.options.bgerror_resume_retry_interval = Duration::from_millis(1).as_micros() as u64;
        bench.recorder.vetoes.store(objects, Ordering::SeqCst);
        let db = bench.open();
        db.put(b"key", b"value").unwrap();
        bench.recorder.take();
        bench.faulty.add_rule(full("*.sst"));
        assert!(db.flush().is_err());
        wait_until("recovery begins", || bench.recorder.count("RecoveryBegin") > 0);
        bench.faulty.clear_rules();
        if objects {
            std::thread::sleep(Duration::from_millis(50));
            assert!(db.background_error().is_some());
            assert_eq!(bench.recorder.count("RecoveryEnd"), 0);
            db.resume().unwrap();
        }
        wait_until("recovery ends", || bench.recorder.count("RecoveryEnd") > 0);
        let told = bench.recorder.take();
        let crate::recorder::Told::RecoveryBegin(reason, kind) =
            told.iter().find(|told| told.name() == "RecoveryBegin").unwrap()
        else {
            panic!("{told:?}")
        };
        assert_eq!((*reason, *kind), (BackgroundErrorReason::Flush, ErrorKind::NoSpace));
        let order = names(&told, &["Pressure", "TableFileCreationStarted", "TableFileCreated", "TableFileDeleted"]);
        let at = |name: &str| order.iter().position(|told| told == name).unwrap();
        assert!(at("BackgroundError") < at("RecoveryBegin"), "{order:?}");
        assert!(at("FlushCompleted") < at("RecoveryCompleted"), "{order:?}");
        assert!(at("RecoveryCompleted") < at("RecoveryEnd"), "{order:?}");
        let flushed = all!(told, FlushCompleted);
        assert_eq!(flushed[0].flush_reason, ferrock::FlushReason::ErrorRecovery);
        assert!(db.background_error().is_none());
    }
}
