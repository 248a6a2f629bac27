//! A writer that dies by SIGKILL in the middle of its appends. What it was told to be written must be in the log, in
//! every recovery mode: the log is appended to through a mapping, which the process leaves behind as it is.

use ferrock::options::WalRecoveryMode;
use ferrock::{Db, DbOptions, Error, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const DIRECTORY: &str = "FERROCK_KILLED_WRITER_DIRECTORY";
/// "1" in the writer whose logs are compressed.
const COMPRESSES: &str = "FERROCK_KILLED_WRITER_COMPRESSES";
const ROUNDS: u64 = 20;

fn options() -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    if std::env::var(COMPRESSES).is_ok_and(|text| text == "1") {
        options.wal_compression = ferrock::options::CompressionType::Zstd;
    }
    options
}

fn value(number: u64) -> Vec<u8> {
    // Small records, many to a block of the log, and a large one now and then that spans several.
    let size = if number.is_multiple_of(97) { 70_000 } else { number * 7 % 60 };
    let mut value = number.to_le_bytes().to_vec();
    value.extend((0..size).map(|index| (number + index) as u8));
    value
}

/// Not a test of its own: the process that is killed. Without the variable it has nothing to do.
#[test]
fn killed_writer() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let db = Db::open(directory, options()).unwrap();
    let mut out = std::io::stdout();
    for number in 0u64.. {
        let sync = number % 500 == 499;
        let family = db.default_column_family().unwrap();
        let options = WriteOptions { sync, ..WriteOptions::default() };
        db.put_cf(&family, format!("{number:010}").as_bytes(), &value(number), &options).unwrap();
        // Acknowledged: from here on it may not be lost.
        out.write_all(format!("\nack {number}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_was_told_is_written() {
    let mut records = 0;
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        // The moment of the kill is what varies.
        let writer = Writer { test: "killed::killed_writer", seed: round, records: 1 };
        let acknowledged = writer.kill(&path, Duration::from_micros(round * 7919 % 97 * 700));
        records += acknowledged;
        for mode in WalRecoveryMode::ALL {
            let copy = directory.path().join(mode.name());
            copy_directory(&path, &copy);
            check(&copy, mode, acknowledged, value).unwrap_or_else(|error| panic!("round {round}, {mode:?}: {error}"));
        }
    }
    println!("{ROUNDS} writers killed after {records} records");
}

/// More than the window through which a log is appended to.
const LARGE_BATCH_BYTES: u64 = 24 << 20;
const LARGE_ROUNDS: u64 = 8;
const SYNCED_RECORDS: &str = "FERROCK_KILLED_WRITER_SYNCED_RECORDS";

/// Not a test of its own: writes one batch that is larger than the window of the log.
#[test]
fn killed_writer_of_a_large_batch() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let db = Db::open(directory, options()).unwrap();
    let family = db.default_column_family().unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    // The log of a writer that syncs has space and zeros ahead.
    for number in 0..std::env::var(SYNCED_RECORDS).map_or(0, |count| count.parse().unwrap()) {
        db.put_cf(&family, format!("synced{number}").as_bytes(), &[b's'; 4000], &synced).unwrap();
    }
    db.put_cf(&family, b"first", b"acknowledged", &synced).unwrap();
    let mut batch = WriteBatch::new();
    for number in 0..LARGE_BATCH_BYTES >> 20 {
        batch.put(format!("large{number:04}").as_bytes(), &vec![b'z'; 1 << 20]).unwrap();
    }
    println!("\nack 0");
    db.write(batch, &WriteOptions::default()).unwrap();
    // Killed here at the latest; the end of the input is the end of the parent.
    std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_kill_inside_an_append_larger_than_the_window_is_a_torn_end() {
    let mut torn = 0;
    for (round, synced) in (0..LARGE_ROUNDS).flat_map(|round| [(round, 0), (round, 40)]) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        kill_within_a_large_append(&path, (round * 3 + 1) << 20, synced);
        for mode in WalRecoveryMode::ALL {
            let copy = directory.path().join(mode.name());
            copy_directory(&path, &copy);
            let mut options = options();
            options.wal_recovery_mode = mode;
            let db = match Db::open(&copy, options) {
                // The mode that takes no torn end for one.
                Err(error) if mode == WalRecoveryMode::AbsoluteConsistency && error.is_corruption() => continue,
                db => db.unwrap_or_else(|error| panic!("round {round}, {mode:?}: {error}")),
            };
            assert!(db.get(b"first").unwrap().is_some(), "round {round}, {mode:?}");
            let large = (0..LARGE_BATCH_BYTES >> 20)
                .filter(|number| db.get(format!("large{number:04}").as_bytes()).unwrap().is_some())
                .count() as u64;
            assert!(large == 0 || large == LARGE_BATCH_BYTES >> 20, "round {round}, {mode:?}: {large} of a batch");
            torn += u64::from(large == 0);
            drop(db);
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    println!("{torn} databases opened with a torn batch at the end of the log");
    assert!(torn > 0, "no kill came within the batch");
}

/// Kills the writer of a large batch, behind so many synced records, when its log has so many bytes.
fn kill_within_a_large_append(path: &Path, log_bytes: u64, synced: u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::killed_writer_of_a_large_batch", "--nocapture"])
        .env(DIRECTORY, path)
        .env(SYNCED_RECORDS, synced.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "ack 0" {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the writer ended");
    }
    let size = || {
        let entries = std::fs::read_dir(path).unwrap().filter_map(Result::ok);
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
        logs.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum::<u64>()
    };
    // Space that is reserved counts: the sizes are passed early by a log that is mapped.
    while size() < log_bytes && child.try_wait().unwrap().is_none() {}
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A process that writes until it is killed.
struct Writer {
    /// The test that it runs.
    test: &'static str,
    seed: u64,
    /// Records after which the moment of the kill is near.
    records: u64,
}

impl Writer {
    /// Kills it so long after the last of the records. Returns how many it was told are written.
    fn kill(&self, path: &Path, after: Duration) -> u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", self.test, "--nocapture"])
            .env(DIRECTORY, path)
            .env(SYNCED_SEED, self.seed.to_string())
            .env(COMPRESSES, if self.seed % 4 > 1 { "1" } else { "0" })
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (near, is_near) = std::sync::mpsc::channel();
        let records = self.records;
        let reader = std::thread::spawn(move || {
            let mut acknowledged = 0;
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).unwrap() > 0 {
                let text = std::str::from_utf8(&line).unwrap_or_default();
                // A line that was cut says nothing.
                if let Some(number) = text.strip_prefix("ack ").and_then(|rest| rest.strip_suffix('\n')) {
                    acknowledged = number.parse::<u64>().unwrap() + 1;
                    if acknowledged >= records {
                        let _ = near.send(());
                    }
                }
                line.clear();
            }
            acknowledged
        });
        is_near.recv_timeout(Duration::from_secs(60)).unwrap();
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap()
    }
}

const SYNCED_SEED: &str = "FERROCK_KILLED_WRITER_SEED";
const SYNCED_ROUNDS: u64 = 48;
/// More syncs in a row than a log stays mapped for.
const SYNCED_FIRST: u64 = 40;

/// What a writer that syncs puts: for a while records of one size, of less than a page up to a few windows of the log,
/// so that a log that is synced often meets each way of making room ahead.
fn synced_value(seed: u64, number: u64) -> Vec<u8> {
    /// Records of one kind of size.
    const PHASE: u64 = 12;
    let mut numbers = Random::new(seed ^ (number / PHASE) << 32);
    let largest = [100, 1900, 4000, 4000, 70_000, 900_000, 3 << 20][numbers.below(7) as usize];
    let mut numbers = Random::new(seed << 20 ^ number);
    // Half a record of zeros would look like the space ahead.
    let byte = 1 + numbers.below(255) as u8;
    vec![byte; (1 + largest / 2 + numbers.below(largest / 2)) as usize]
}

/// Not a test of its own: the process that is killed.
#[test]
fn killed_writer_that_syncs() {
    let (Ok(directory), Ok(seed)) = (std::env::var(DIRECTORY), std::env::var(SYNCED_SEED)) else { return };
    let seed: u64 = seed.parse().unwrap();
    let db = Db::open(directory, options()).unwrap();
    let family = db.default_column_family().unwrap();
    let mut out = std::io::stdout();
    for number in 0u64.. {
        // A log that is synced so often is written by calls into reserved space: without syncs in between, a kill comes
        // within a call more often.
        let is_past_syncs = number >= SYNCED_FIRST && !seed.is_multiple_of(2);
        let sync = !is_past_syncs && Random::new(seed ^ number).below(8) > 0;
        let options = WriteOptions { sync, ..WriteOptions::default() };
        db.put_cf(&family, format!("{number:010}").as_bytes(), &synced_value(seed, number), &options).unwrap();
        out.write_all(format!("\nack {number}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_killed_writer_that_syncs_loses_nothing() {
    let (mut records, mut torn) = (0, 0);
    for seed in 0..SYNCED_ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let writer = Writer { test: "killed::killed_writer_that_syncs", seed, records: 1 + seed * 31 % 160 };
        let acknowledged = writer.kill(&path, Duration::from_micros(seed * 7919 % 97 * 60));
        records += acknowledged;
        for mode in WalRecoveryMode::ALL {
            let copy = directory.path().join(mode.name());
            copy_directory(&path, &copy);
            match check(&copy, mode, acknowledged, |number| synced_value(seed, number)) {
                // The mode that takes no torn end for one: of the record that was being written.
                Err(error) if mode == WalRecoveryMode::AbsoluteConsistency && error.is_corruption() => torn += 1,
                result => result.unwrap_or_else(|error| panic!("seed {seed}, {mode:?}: {error}")),
            }
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    println!("{SYNCED_ROUNDS} writers killed after {records} records, {torn} within a record");
    assert!(torn < SYNCED_ROUNDS / 2, "{torn} of {SYNCED_ROUNDS} logs have a torn end");
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn check(path: &Path, mode: WalRecoveryMode, acknowledged: u64, value: impl Fn(u64) -> Vec<u8>) -> Result<(), Error> {
    let mut options = options();
    options.create_if_missing = false;
    options.wal_recovery_mode = mode;
    let db = Db::open(path, options)?;
    let mut iter = db.iter(&ReadOptions::default());
    let mut count = 0;
    iter.seek_to_first();
    while iter.valid() {
        let is_right = iter.key() == format!("{count:010}").as_bytes() && iter.value() == value(count);
        assert!(is_right, "{mode:?}: record {count} is {:?}", iter.key().escape_ascii().to_string());
        count += 1;
        iter.next();
    }
    iter.status()?;
    // One more may have been written without the news of it getting out.
    assert!(
        (acknowledged..=acknowledged + 1).contains(&count),
        "{mode:?}: {count} records, {acknowledged} acknowledged"
    );
    db.put(b"after", b"recovery")
}
