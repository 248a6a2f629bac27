//! Writes go on by themselves when the cause of an error has passed. Time is the test's own.

use crate::rig::{DIRECTORY, Rig};
use ferrock::{BackgroundErrorReason, BackgroundErrorRecoveryInfo, Db, ErrorKind, EventListener};
use ferrock_base::Error;
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{Fault, FaultRule, FileSystem, OperationKind, Trigger, read_file};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Hands on what it is told.
struct Heard(Mutex<Sender<String>>);

impl EventListener for Heard {
    fn on_error_recovery_begin(&self, _reason: BackgroundErrorReason, error: &Error, _auto_recovery: &mut bool) {
        let _ = self.0.lock().send(format!("begin {:?}", error.kind()));
    }
    fn on_error_recovery_end(&self, event: &BackgroundErrorRecoveryInfo) {
        let new = event.new_error.as_ref().map(Error::kind);
        let _ = self.0.lock().send(format!("end {:?} {new:?}", event.old_error.kind()));
    }
}

/// With a clock that stands, and what listeners hear of recoveries.
pub fn timed_rig(attempts: i32, interval: Duration) -> (Rig, Arc<ManualClock>, Receiver<String>) {
    let mut rig = Rig::new();
    let clock = Arc::new(ManualClock::new(1_000_000_000));
    let (sender, heard) = channel();
    rig.options.max_bgerror_resume_count = attempts;
    rig.options.bgerror_resume_retry_interval = interval.as_micros() as u64;
    rig.options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    rig.options.components.listeners.push(Arc::new(Heard(Mutex::new(sender))));
    (rig, clock, heard)
}

fn rig(attempts: i32) -> (Rig, Arc<ManualClock>, Receiver<String>) {
    timed_rig(attempts, Duration::from_secs(5))
}

#[track_caller]
fn next(heard: &Receiver<String>) -> String {
    heard.recv_timeout(Duration::from_secs(60)).expect("nothing was heard")
}

fn wait_for_sleepers(clock: &ManualClock, count: usize) {
    while clock.sleepers() != count {
        std::thread::yield_now();
    }
}

/// Moves time over the interval, and waits until the attempt that is due was made.
fn let_one_attempt_pass(rig: &Rig, clock: &ManualClock, rule: ferrock_vfs::FaultRuleId) {
    wait_for_sleepers(clock, 1);
    let before = rig.faulty.fired(rule).unwrap();
    clock.advance(Duration::from_secs(5));
    while rig.faulty.fired(rule).unwrap() == before {
        std::thread::yield_now();
    }
    wait_for_sleepers(clock, 1);
}

fn fill(rig: &mut Rig, db: &Db) -> Error {
    for _ in 0..1000 {
        if let Err(error) = rig.put(db).and_then(|()| db.flush()) {
            return error;
        }
    }
    panic!("nothing failed");
}

#[test]
fn a_disk_that_was_full_takes_writes_again_when_there_is_room() {
    for (operation, path) in [
        (OperationKind::Append, "*.log"),
        (OperationKind::Append, "*.sst"),
        (OperationKind::Append, "MANIFEST-*"),
        (OperationKind::Create, "*"),
        (OperationKind::Append, "*"),
    ] {
        let what = format!("{operation:?} {path}");
        let (mut rig, clock, heard) = rig(i32::MAX);
        let db = rig.open();
        rig.put_many(&db, 30);
        rig.faulty.add_rule(FaultRule::new(operation, path, Fault::NoSpace));
        assert_eq!(fill(&mut rig, &db).kind(), ErrorKind::NoSpace, "{what}");
        assert_eq!(next(&heard), "begin NoSpace", "{what}");
        wait_for_sleepers(&clock, 1);
        let refused = rig.put(&db).unwrap_err().to_string();
        assert!(refused.contains("accepted again when the cause is gone"), "{what}: {refused}");
        assert!(!refused.contains("resume()"), "{what}: {refused}");
        // Reads go on.
        rig.verify(&db, &what);
        rig.verify_after_crash(&what);
        rig.faulty.clear_rules();
        assert!(rig.put(&db).is_err(), "{what}: before the next attempt");
        clock.advance(Duration::from_secs(5));
        assert_eq!(next(&heard), "end NoSpace None", "{what}");
        assert!(db.background_error().is_none(), "{what}");
        rig.put_many(&db, 30);
        db.flush().unwrap();
        rig.verify(&db, &what);
        rig.verify_after_crash(&what);
        db.close().unwrap();
        rig.verify(&rig.open(), &what);
        let names = rig.memory.children(Path::new(DIRECTORY)).unwrap();
        let old = names.into_iter().find(|name| name.starts_with("LOG.old.")).unwrap();
        let log = String::from_utf8(read_file(&rig.memory, &Path::new(DIRECTORY).join(old)).unwrap()).unwrap();
        if (operation, path) != (OperationKind::Append, "*") {
            assert!(log.contains("trying to accept writes again"), "{what}: {log}");
            assert!(log.contains("writes are accepted again"), "{what}: {log}");
        }
    }
}

#[test]
fn attempts_are_as_many_and_as_far_apart_as_the_options_say() {
    let (mut rig, clock, heard) = rig(i32::MAX);
    rig.options.max_bgerror_resume_count = 3;
    rig.options.bgerror_resume_retry_interval = 5_000_000;
    let db = rig.open();
    rig.put_many(&db, 5);
    let rule = rig.faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::NoSpace));
    db.flush().unwrap_err();
    assert_eq!(next(&heard), "begin NoSpace");
    // The flush, and the first attempt, which comes at once.
    wait_for_sleepers(&clock, 1);
    assert_eq!(rig.faulty.fired(rule), Some(2));
    clock.advance(Duration::from_micros(4_999_999));
    assert_eq!((clock.sleepers(), rig.faulty.fired(rule)), (1, Some(2)), "before the interval is over");
    clock.advance(Duration::from_micros(1));
    while rig.faulty.fired(rule) != Some(3) {
        std::thread::yield_now();
    }
    wait_for_sleepers(&clock, 1);
    clock.advance(Duration::from_secs(5));
    assert_eq!(next(&heard), "end NoSpace Some(NoSpace)");
    assert_eq!(rig.faulty.fired(rule), Some(4), "a flush and three attempts");
    while !rig.put(&db).unwrap_err().to_string().contains("resume or reopen") {
        std::thread::yield_now();
    }
    rig.faulty.clear_rules();
    clock.advance(Duration::from_secs(100));
    assert!(rig.put(&db).is_err());
    db.resume().unwrap();
    assert_eq!(next(&heard), "end NoSpace None");
    rig.put_many(&db, 5);
    rig.verify(&db, "resumed");
}

#[test]
fn a_device_that_fails_is_not_asked_again_without_a_call() {
    let (mut rig, clock, heard) = rig(i32::MAX);
    let db = rig.open();
    rig.put_many(&db, 5);
    rig.faulty.add_rule(FaultRule::new(OperationKind::Sync, "*.log", Fault::Io).when(Trigger::Nth(1)));
    rig.put(&db).unwrap_err();
    clock.advance(Duration::from_secs(100));
    let refused = rig.put(&db).unwrap_err().to_string();
    assert!(refused.contains("resume or reopen the database"), "{refused}");
    assert!(heard.try_recv().is_err());
    db.resume().unwrap();
    assert_eq!(next(&heard), "end Io None");
    rig.put_many(&db, 5);
}

#[test]
fn closing_does_not_wait_for_the_next_attempt() {
    let (mut rig, clock, heard) = rig(i32::MAX);
    let db = rig.open();
    rig.put_many(&db, 5);
    let rule = rig.faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::NoSpace));
    db.flush().unwrap_err();
    assert_eq!(next(&heard), "begin NoSpace");
    let_one_attempt_pass(&rig, &clock, rule);
    // The clock stands still: a close that waited would never end.
    db.close().unwrap();
    assert_eq!(next(&heard), "end NoSpace Some(NoSpace)");
    rig.faulty.clear_rules();
    rig.verify(&rig.open(), "reopened");
}

#[test]
fn a_call_of_resume_ends_the_waiting() {
    let (mut rig, clock, heard) = rig(i32::MAX);
    let db = rig.open();
    rig.put_many(&db, 5);
    rig.faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::NoSpace));
    db.flush().unwrap_err();
    assert_eq!(next(&heard), "begin NoSpace");
    wait_for_sleepers(&clock, 1);
    rig.faulty.clear_rules();
    db.resume().unwrap();
    assert_eq!(next(&heard), "end NoSpace None");
    wait_for_sleepers(&clock, 0);
    rig.put_many(&db, 5);
    // The next error is left, too.
    rig.faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::NoSpace).when(Trigger::Nth(1)));
    db.flush().unwrap_err();
    assert_eq!(next(&heard), "begin NoSpace");
    wait_for_sleepers(&clock, 1);
    clock.advance(Duration::from_secs(5));
    assert_eq!(next(&heard), "end NoSpace None");
    rig.put_many(&db, 5);
    rig.verify(&db, "resumed");
}
