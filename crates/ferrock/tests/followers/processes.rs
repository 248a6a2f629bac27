//! A writer that is another process, on a disk: killed in the middle of its appends and started again. The one that a
//! follower has flushes all families together, compacts, and has families that come and go.

use crate::states::{FAMILIES, Kind, State, assert_same, batch, descriptors, number_of, read};
use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{Db, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::random::Random;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DIRECTORY: &str = "FERROCK_FOLLOWED_WRITER_DIRECTORY";
/// Set for the writer of a follower.
const HAS_FOLLOWER: &str = "FERROCK_FOLLOWED_WRITER_HAS_FOLLOWER";
const SEED: u64 = 11;
const WRITERS: u64 = 4;
const CATCH_UPS_OF_WRITER: u64 = 60;
/// With them a million reads, each of a state that the writer had.
const READS_OF_VIEW: u64 = 4_200;

fn options() -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 2;
    family.write_buffer_size = 64 << 10;
    family
}

fn ids(db: &Db) -> Vec<(String, u32)> {
    FAMILIES.iter().map(|name| ((*name).to_owned(), db.column_family(name).unwrap().id())).collect()
}

/// Not a test of its own: the process that is killed. Without the variable it has nothing to do.
#[test]
fn followed_writer() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let mut own = options();
    own.atomic_flush = std::env::var(HAS_FOLLOWER).is_ok();
    let mut names = Db::list_column_families(&directory, &own).unwrap_or_default();
    names.retain(|name| !FAMILIES.contains(&&name[..]));
    let names: Vec<&str> = FAMILIES.into_iter().chain(names.iter().map(String::as_str)).collect();
    let (db, handles) = Db::open_cf(directory, own.clone(), descriptors(&family(), &names)).unwrap();
    for left in &handles[FAMILIES.len()..] {
        db.drop_column_family(left).unwrap();
    }
    let families = ids(&db);
    let mut state = read(&db).unwrap();
    let mut random = Random::from_entropy();
    let mut out = std::io::stdout();
    for number in number_of(&state) + 1.. {
        let sync = random.one_in(50);
        let batch = batch(SEED, number, &families, &mut state);
        db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        // Acknowledged: a catch-up that begins later has it.
        out.write_all(format!("\nack {number}\n").as_bytes()).unwrap();
        out.flush().unwrap();
        if random.one_in(30) {
            let family = db.column_family(FAMILIES[random.below(3) as usize]).unwrap();
            db.flush_cf(&family, &FlushOptions::default()).unwrap();
            out.write_all(format!("\nflushed {number}\n").as_bytes()).unwrap();
            out.flush().unwrap();
        }
        if own.atomic_flush {
            change_more(&db, number, &mut random);
        }
    }
}

/// Compactions, and families that come and go.
fn change_more(db: &Db, number: u64, random: &mut Random) {
    match random.below(200) {
        0 => db.compact_range(None, None).unwrap(),
        1 => {
            let family = db.create_column_family(&format!("passing{number}"), family()).unwrap();
            db.put_cf(&family, b"key", b"value", &WriteOptions::default()).unwrap();
        }
        2 => {
            let passing = db.column_families().into_iter().find(|family| family.name().starts_with("passing"));
            passing.iter().for_each(|family| db.drop_column_family(family).unwrap());
        }
        _ => {}
    }
}

struct Writer {
    child: Child,
    acknowledged: Arc<AtomicU64>,
    /// The last batch that all families have in tables.
    flushed: Arc<AtomicU64>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    fn start(path: &Path, kind: Kind) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::followed_writer", "--nocapture", "--test-threads=1"]);
        command.env(DIRECTORY, path).stdout(Stdio::piped()).stdin(Stdio::null());
        if kind == Kind::Follower {
            command.env(HAS_FOLLOWER, "1");
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let [acknowledged, flushed] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let told = [("ack ", Arc::clone(&acknowledged)), ("flushed ", Arc::clone(&flushed))];
        let reader = std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                for (word, told) in &told {
                    if let Some(number) = line.strip_prefix(word).and_then(|number| number.parse().ok()) {
                        told.store(number, Ordering::Release);
                    }
                }
            }
        });
        while acknowledged.load(Ordering::Acquire) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "the writer ended");
            std::thread::yield_now();
        }
        Self { child, acknowledged, flushed, reader: Some(reader) }
    }

    /// The least that a catch-up which begins now has.
    fn told(&self, kind: Kind) -> u64 {
        let told = if kind == Kind::Follower { &self.flushed } else { &self.acknowledged };
        told.load(Ordering::Acquire)
    }

    fn kill(mut self, kind: Kind) -> u64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.told(kind)
    }
}

/// The states that the writer had, made again as far as they are needed.
struct States {
    families: Vec<(String, u32)>,
    at: u64,
    state: State,
}

impl States {
    fn at(&mut self, number: u64) -> &State {
        while self.at < number {
            self.at += 1;
            batch(SEED, self.at, &self.families, &mut self.state);
        }
        &self.state
    }
}

#[test]
fn every_view_of_another_process_is_one_that_it_had() {
    follow(Kind::Secondary);
}

#[test]
fn every_view_of_a_follower_is_one_that_another_process_had() {
    follow(Kind::Follower);
}

fn follow(kind: Kind) {
    let directory = tempfile::tempdir().unwrap();
    let (path, own) = (directory.path().join("db"), directory.path().join("own"));
    let mut writer = Writer::start(&path, kind);
    let families = || Some(descriptors(&family(), &FAMILIES));
    let (mut secondary, mut handles) = kind.open(&path, &own, options(), families()).unwrap();
    let mut states = States { families: ids(&secondary), at: 0, state: State::new() };
    let mut random = Random::new(SEED);
    let mut reads = 0;
    for round in 0..WRITERS {
        for _ in 0..CATCH_UPS_OF_WRITER {
            let least = writer.told(kind);
            secondary.try_catch_up_with_primary().unwrap();
            let seen = read(&secondary).unwrap();
            let number = number_of(&seen);
            let what = format!("round {round}, batch {number}");
            assert!(number >= least.max(states.at), "{what}: {least} were told, {} was seen", states.at);
            let expected = states.at(number);
            assert_same(&seen, expected, &what);
            for _ in 0..READS_OF_VIEW {
                let handle = random.below(3) as usize;
                let key = format!("key{:03}", random.below(60)).into_bytes();
                let value = secondary.get_cf(&handles[handle], &ReadOptions::default(), &key).unwrap();
                let wanted = expected.get(FAMILIES[handle]).and_then(|content| content.get(&key));
                assert_eq!(value.as_deref(), wanted.map(Vec::as_slice), "{what}, {}", key.escape_ascii());
                reads += 1;
            }
            // A read-only open beside the writer is of one of its states, too.
            if random.one_in(20) {
                let (opened, _) = Db::open_read_only(&path, options(), families()).unwrap();
                let opened = read(&opened).unwrap();
                let mut later = States { families: states.families.clone(), at: number, state: seen.clone() };
                assert!(number_of(&opened) >= number);
                assert_same(&opened, later.at(number_of(&opened)), "a read-only open");
            }
        }
        let told = writer.kill(kind);
        secondary.try_catch_up_with_primary().unwrap();
        let seen = read(&secondary).unwrap();
        assert!(number_of(&seen) >= told.max(states.at));
        assert_same(&seen, states.at(number_of(&seen)), "after a kill");
        writer = Writer::start(&path, kind);
        if kind == Kind::Follower {
            // Its own directory, opened again beside the writer.
            secondary.close().unwrap();
            (secondary, handles) = kind.open(&path, &own, options(), families()).unwrap();
        }
    }
    writer.kill(kind);
    assert_eq!(reads, WRITERS * CATCH_UPS_OF_WRITER * READS_OF_VIEW);
}
