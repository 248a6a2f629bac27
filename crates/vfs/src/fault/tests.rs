use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::ErrorKind;
use ferrock_base::clock::{Clock, ManualClock};

use super::{Fault, FaultInjectionFileSystem, FaultRule, OperationKind, Trigger};
use crate::{
    FileSystem, MemoryFileSystem, RandomAccessOptions, ReadLabel, SequentialOptions, WritableOptions, read_file,
    write_file_synced,
};

fn faulty() -> FaultInjectionFileSystem {
    FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()))
}

fn path(name: &str) -> PathBuf {
    Path::new("/").join(name)
}

#[test]
fn rules_come_and_go_and_are_counted() {
    let file_system = faulty();
    let rule = FaultRule::new(OperationKind::Create, "*.sst", Fault::PermissionDenied);
    let id = file_system.add_rule(rule);
    let error = write_file_synced(&file_system, &path("1.sst"), b"x").unwrap_err();
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::PermissionDenied));
    assert!(error.to_string().contains("1.sst") && error.to_string().contains("check the owner"), "{error}");
    write_file_synced(&file_system, &path("1.log"), b"x").unwrap();
    assert_eq!(file_system.fired(id), Some(1));
    assert_eq!(file_system.remove_rule(id), Some(1));
    assert_eq!((file_system.remove_rule(id), file_system.fired(id)), (None, None));
    write_file_synced(&file_system, &path("1.sst"), b"x").unwrap();
    file_system.add_rule(FaultRule::new(OperationKind::Any, "*", Fault::Io));
    assert!(file_system.exists(&path("1.sst")).is_err());
    file_system.clear_rules();
    assert!(file_system.exists(&path("1.sst")).unwrap());
}

#[test]
fn triggers_strike_where_they_say() {
    let cases = [
        (Trigger::Always, vec![1, 2, 3, 4, 5, 6, 7]),
        (Trigger::Nth(3), vec![3]),
        (Trigger::From(6), vec![6, 7]),
        (Trigger::Every(3), vec![3, 6]),
        (Trigger::Every(0), vec![]),
        (Trigger::Probability { chance: 0.0, seed: 1 }, vec![]),
        (Trigger::Probability { chance: 1.0, seed: 1 }, vec![1, 2, 3, 4, 5, 6, 7]),
    ];
    for (trigger, expected) in cases {
        let file_system = faulty();
        file_system.add_rule(FaultRule::new(OperationKind::SyncDir, "*", Fault::Io).when(trigger));
        let struck: Vec<u32> = (1..=7).filter(|_| file_system.sync_dir(Path::new("/")).is_err()).collect();
        assert_eq!(struck, expected, "{trigger:?}");
    }
    let file_system = faulty();
    let trigger = Trigger::Probability { chance: 0.25, seed: 42 };
    file_system.add_rule(FaultRule::new(OperationKind::SyncDir, "*", Fault::Io).when(trigger));
    let struck = (0..4000).filter(|_| file_system.sync_dir(Path::new("/")).is_err()).count();
    assert!((800..1200).contains(&struck), "{struck}");
}

#[test]
fn the_first_rule_that_strikes_decides() {
    let file_system = faulty();
    file_system.add_rule(FaultRule::new(OperationKind::Remove, "*", Fault::NoSpace).when(Trigger::Nth(2)));
    file_system.add_rule(FaultRule::new(OperationKind::Remove, "*", Fault::PermissionDenied));
    let kinds: Vec<_> = (0..3).map(|_| file_system.remove_file(&path("x")).unwrap_err().io_kind().unwrap()).collect();
    let denied = std::io::ErrorKind::PermissionDenied;
    assert_eq!(kinds, [denied, std::io::ErrorKind::StorageFull, denied]);
}

#[test]
fn writes_are_shortened_torn_and_flipped() {
    let cases: [(Fault, &[u8], bool); 5] = [
        (Fault::NoSpace, b"onethree", false),
        (Fault::ShortWrite { kept_bytes: 2 }, b"onetwthree", false),
        (Fault::TornWrite { kept_bytes: 1 }, b"onetthree", true),
        (Fault::TornWrite { kept_bytes: 99 }, b"onetwothree", true),
        (Fault::Io, b"onethree", false),
    ];
    for (fault, expected, succeeds) in cases {
        let file_system = faulty();
        file_system.add_rule(FaultRule::new(OperationKind::Append, "*.log", fault).when(Trigger::Nth(2)));
        let mut file = file_system.create_writable(&path("1.log"), &WritableOptions::default()).unwrap();
        file.append(b"one").unwrap();
        let outcome = file.append(b"two");
        assert_eq!(outcome.is_ok(), succeeds, "{fault:?}");
        if matches!(fault, Fault::NoSpace | Fault::ShortWrite { .. }) {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace);
            assert!(error.to_string().contains("free space"), "{error}");
        }
        file.append(b"three").unwrap();
        file.close().unwrap();
        assert_eq!(read_file(&file_system, &path("1.log")).unwrap(), expected, "{fault:?}");
    }
    let file_system = faulty();
    file_system.add_rule(FaultRule::new(OperationKind::Append, "*", Fault::BitFlip { seed: 3 }));
    write_file_synced(&file_system, &path("f"), &[0; 100]).unwrap();
    let ones: u32 = read_file(&file_system, &path("f")).unwrap().iter().map(|byte| byte.count_ones()).sum();
    assert_eq!(ones, 1);
}

#[test]
fn reads_are_shortened_and_flipped_everywhere() {
    let file_system = faulty();
    write_file_synced(&file_system, &path("1.sst"), &[0; 100]).unwrap();
    let options = RandomAccessOptions { mmap: true, ..Default::default() };
    let file = file_system.open_random_access(&path("1.sst"), &options).unwrap();
    assert!(file.mapping().is_none() && file.descriptor().is_none(), "no way around the rules");
    let read_ones = || {
        let (mut one, mut two) = ([0xFF; 100], [0xFF; 50]);
        let lengths = [(0, &mut one[..]), (50, &mut two[..])]
            .map(|(offset, buffer)| file.read_at(offset, buffer, ReadLabel::default()).unwrap());
        let ones = |bytes: &[u8]| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
        (lengths, ones(&one[..lengths[0]]), ones(&two[..lengths[1]]))
    };
    assert_eq!(read_ones(), ([100, 50], 0, 0));
    let flip = file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::BitFlip { seed: 9 }));
    assert_eq!(read_ones(), ([100, 50], 1, 1));
    let mut sequential = file_system.open_sequential(&path("1.sst"), &SequentialOptions::default()).unwrap();
    let mut buffer = [0; 10];
    sequential.read(&mut buffer).unwrap();
    assert_eq!(buffer.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    file_system.remove_rule(flip);
    file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::ShortRead { kept_bytes: 7 }));
    assert_eq!(read_ones(), ([7, 7], 0, 0));
    file_system.clear_rules();
    file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io));
    let error = file.read_at(64, &mut buffer, ReadLabel::default()).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Io, Some(64)));
}

#[test]
fn delays_wait_by_the_clock_and_then_act() {
    let clock = Arc::new(ManualClock::new(0));
    let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
    let file_system = FaultInjectionFileSystem::with_clock(Arc::new(MemoryFileSystem::new()), shared);
    write_file_synced(&file_system, &path("f"), b"x").unwrap();
    let delay = Fault::Delay(Duration::from_secs(3600));
    file_system.add_rule(FaultRule::new(OperationKind::Remove, "f", delay));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| file_system.remove_file(&path("f")));
        clock.advance(Duration::from_secs(3599));
        assert!(file_system.exists(&path("f")).unwrap());
        assert!(!waiting.is_finished());
        // The sleep may begin only now: time moves until it ends.
        while !waiting.is_finished() {
            clock.advance(Duration::from_secs(3600));
        }
        waiting.join().unwrap().unwrap();
    });
    assert!(!file_system.exists(&path("f")).unwrap());
}

#[test]
fn every_operation_can_be_struck() {
    let file_system = faulty();
    write_file_synced(&file_system, &path("f"), b"x").unwrap();
    let mut open = file_system.create_writable(&path("g"), &WritableOptions::default()).unwrap();
    let f = path("f");
    let strike = |kind| {
        file_system.clear_rules();
        file_system.add_rule(FaultRule::new(kind, "*", Fault::PermissionDenied));
    };
    let root = Path::new("/");
    macro_rules! struck {
        ($($kind:ident: $call:expr),* $(,)?) => {$(
            strike(OperationKind::$kind);
            let error = $call.map(drop).unwrap_err();
            assert_eq!(error.io_kind(), Some(std::io::ErrorKind::PermissionDenied), stringify!($kind));
        )*};
    }
    struck! {
        Open: file_system.open_random_access(&f, &RandomAccessOptions::default()),
        Open: file_system.open_sequential(&f, &SequentialOptions::default()),
        Create: file_system.create_writable(&f, &WritableOptions::default()),
        Create: file_system.reopen_writable(&f, &WritableOptions::default()),
        Append: open.append(b"x"),
        Flush: open.flush(),
        Sync: open.sync(),
        Close: open.close(),
        Remove: file_system.remove_file(&f),
        Remove: file_system.remove_dir(root),
        Rename: file_system.rename(&f, &path("h")),
        Link: file_system.hard_link(&f, &path("h")),
        Truncate: file_system.truncate(&f, 0),
        List: file_system.children(root),
        CreateDir: file_system.create_dir_all(&path("d")),
        SyncDir: file_system.sync_dir(root),
        Lock: file_system.lock_file(&path("LOCK")),
        Metadata: file_system.exists(&f),
        Metadata: file_system.file_size(&f),
        Metadata: file_system.modified_unix_seconds(&f),
        Metadata: file_system.free_space(root),
        Metadata: file_system.is_read_only(root),
    }
    file_system.clear_rules();
    assert_eq!(read_file(&file_system, &f).unwrap(), b"x", "nothing was done");
    file_system.add_rule(FaultRule::new(OperationKind::Rename, "CURRENT", Fault::Io));
    assert!(file_system.rename(&f, &path("CURRENT")).is_err(), "the second name matches too");
}

#[test]
#[cfg(unix)]
fn an_open_beyond_the_limit_fails_until_another_file_is_closed() {
    let file_system = faulty();
    write_file_synced(&file_system, &path("f"), b"x").unwrap();
    assert_eq!((file_system.open_file_limit(), file_system.open_files()), (None, 0));
    file_system.set_open_file_limit(Some(4));
    assert_eq!(file_system.open_file_limit(), Some(4));
    let (reads, f) = (RandomAccessOptions::default(), path("f"));
    let first = file_system.open_random_access(&f, &reads).unwrap();
    let second = file_system.open_sequential(&f, &SequentialOptions::default()).unwrap();
    let mut written = file_system.create_writable(&path("g"), &WritableOptions::default()).unwrap();
    let lock = file_system.lock_file(&path("LOCK")).unwrap();
    let refused = |outcome: ferrock_base::Result<()>, what: &str| {
        assert!(outcome.unwrap_err().is_out_of_descriptors(), "{what}");
    };
    refused(file_system.open_random_access(&f, &reads).map(drop), "random");
    refused(file_system.open_sequential(&f, &SequentialOptions::default()).map(drop), "sequential");
    refused(file_system.create_writable(&path("h"), &WritableOptions::default()).map(drop), "create");
    refused(file_system.reopen_writable(&f, &WritableOptions::default()).map(drop), "reopen");
    refused(file_system.lock_file(&path("LOCK2")).map(drop), "lock");
    refused(file_system.sync_dir(Path::new("/")), "a directory");
    assert!(!file_system.exists(&path("h")).unwrap(), "nothing is done");
    written.close().unwrap();
    assert_eq!(file_system.open_files(), 3, "a closed file that is still there");
    file_system.sync_dir(Path::new("/")).unwrap();
    let third = file_system.open_random_access(&f, &reads).unwrap();
    refused(file_system.children(Path::new("/")).map(drop), "a directory");
    drop((first, second, third, lock, written));
    assert_eq!(file_system.open_files(), 0);
    file_system.open_random_access(&path("missing"), &reads).unwrap_err();
    assert_eq!(file_system.open_files(), 0, "a file that was not opened");
}

#[test]
fn a_failed_replacement_leaves_the_old_file_and_no_litter() {
    use crate::write_file_atomically;
    let (current, temporary) = (path("CURRENT"), path("CURRENT.dbtmp"));
    for kind in [OperationKind::Create, OperationKind::Append, OperationKind::Sync, OperationKind::Rename] {
        let file_system = faulty();
        write_file_atomically(&file_system, &current, &temporary, b"old").unwrap();
        file_system.add_rule(FaultRule::new(kind, "CURRENT*", Fault::NoSpace));
        let error = write_file_atomically(&file_system, &current, &temporary, b"new").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{kind:?}");
        assert_eq!(read_file(&file_system, &current).unwrap(), b"old");
        assert_eq!(file_system.children(Path::new("/")).unwrap(), ["CURRENT"], "{kind:?}");
    }
    let elsewhere = Path::new("/other/CURRENT.dbtmp");
    let error = write_file_atomically(&faulty(), &current, elsewhere, b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
