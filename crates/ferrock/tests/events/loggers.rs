//! A logger takes the lines of the LOG, in place of a file.

use crate::recorder::{Bench, DIRECTORY};
use ferrock::options::{InfoLogLevel, Logger};
use ferrock::{Db, DbOptions};
use ferrock_vfs::{Fault, FaultRule, FileSystem, OperationKind};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Keeps every line.
struct Kept {
    level: InfoLogLevel,
    lines: Mutex<Vec<(InfoLogLevel, String)>>,
}

impl Kept {
    fn new(level: InfoLogLevel) -> Arc<Self> {
        Arc::new(Self { level, lines: Mutex::default() })
    }

    fn lines(&self) -> Vec<(InfoLogLevel, String)> {
        self.lines.lock().unwrap().clone()
    }

    fn has(&self, level: InfoLogLevel, part: &str) -> bool {
        self.lines().iter().any(|(of, line)| *of == level && line.contains(part))
    }
}

impl Logger for Kept {
    fn level(&self) -> InfoLogLevel {
        self.level
    }

    fn log(&self, level: InfoLogLevel, line: &str) {
        self.lines.lock().unwrap().push((level, line.to_owned()));
    }
}

fn bench(logger: &Arc<Kept>) -> Bench {
    let mut bench = Bench::new();
    bench.options.components.info_log = Some(Arc::clone(logger) as Arc<dyn Logger>);
    // Of the file alone.
    bench.options.info_log_level = InfoLogLevel::Fatal;
    bench
}

fn has_log(bench: &Bench) -> bool {
    bench.faulty.children(Path::new(DIRECTORY)).unwrap().iter().any(|name| name.starts_with("LOG"))
}

/// A flush that works, and one that does not.
fn live(bench: &Bench) {
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    bench.faulty.add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::NoSpace));
    db.put(b"key", b"value").unwrap();
    assert!(db.flush().is_err());
    bench.faulty.clear_rules();
    db.close().unwrap();
}

#[test]
fn the_info_log_takes_all_lines_in_place_of_a_file() {
    let kept = Kept::new(InfoLogLevel::Info);
    let mut bench = bench(&kept);
    bench.options.components.info_log = Some(Arc::clone(&kept) as Arc<dyn Logger>);
    live(&bench);
    assert!(!has_log(&bench), "there is a file");
    let lines = kept.lines();
    assert!(lines[0].1.starts_with("RocksDB version: "), "{:?}", lines[0]);
    assert!(kept.has(InfoLogLevel::Info, "Options.create_if_missing: "));
    assert!(kept.has(InfoLogLevel::Info, "EVENT_LOG_v1 {\"time_micros\": "));
    assert!(lines.iter().any(|(level, _)| *level == InfoLogLevel::Error), "the flush that failed");
    assert!(lines.iter().all(|(_, line)| !line.contains("[ERROR]") && !line.ends_with('\n')));
}

#[test]
fn lines_below_its_level_are_not_made_but_for_the_first_ones() {
    let kept = Kept::new(InfoLogLevel::Warn);
    live(&bench(&kept));
    assert!(kept.has(InfoLogLevel::Info, "RocksDB version: "));
    assert!(!kept.has(InfoLogLevel::Info, "EVENT_LOG_v1"));
    assert!(!kept.has(InfoLogLevel::Info, "closed"));
    assert!(kept.lines().iter().any(|(level, _)| *level == InfoLogLevel::Error));
}

#[test]
fn a_reader_tells_its_logger_what_is_wrong() {
    let kept = Kept::new(InfoLogLevel::Info);
    let bench = bench(&kept);
    let db = bench.open();
    db.put(b"key", &[b'x'; 1000]).unwrap();
    db.close().unwrap();
    let directory = Path::new(DIRECTORY);
    let name = bench.faulty.children(directory).unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap();
    let mut log = ferrock_vfs::read_file(&bench.faulty, &directory.join(&name)).unwrap();
    log[200] ^= 1;
    ferrock_vfs::write_file_synced(&bench.faulty, &directory.join(&name), &log).unwrap();
    kept.lines.lock().unwrap().clear();
    let options = DbOptions { components: bench.options.components.clone(), ..DbOptions::default() };
    drop(Db::open_read_only(DIRECTORY, options, None).map(drop));
    assert!(kept.lines().iter().any(|(level, _)| *level == InfoLogLevel::Warn), "{:?}", kept.lines());
}
