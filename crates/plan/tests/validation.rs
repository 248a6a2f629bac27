//! Plans against databases: what is loaded into a real database, in memory, with the options of the plan, must have
//! cost what the plan said, and must take the room that it said.
//!
//! The writer waits for background work after every memtable, so that the figures are the same on a loaded machine.
//!
//! `FERROCK_PLAN_MB=300` loads more, `-- --nocapture` shows the figures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{Db, DbOptions};
use ferrock_plan::{Entry, Order, Phase, Plan, Request};

/// Most that a plan may be off.
const TOLERANCE: f64 = 0.10;

#[derive(Debug)]
struct Measured {
    write_amplification: f64,
    table_bytes: f64,
    compacted_bytes: f64,
    files: usize,
    entries: u64,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}

fn order_of(phase: Phase, keys: u64, random: &mut Random) -> Vec<u64> {
    match phase.order {
        Order::Sequential => (0..phase.puts).collect(),
        Order::Random => (0..phase.puts).map(|_| random.below(keys)).collect(),
        Order::Once => {
            let mut all: Vec<u64> = (0..phase.puts).collect();
            for index in (1..all.len()).rev() {
                all.swap(index, random.below(index as u64 + 1) as usize);
            }
            all
        }
    }
}

fn statistic(db: &Db, name: &str) -> f64 {
    let text = db.property("ferrock.statistics").unwrap();
    let value = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| *key == name);
    value.unwrap_or_else(|| panic!("{name} is not in {text}")).1.parse().unwrap()
}

fn measure(request: &Request) -> Measured {
    let mut db_options = DbOptions::default();
    db_options.create_if_missing = true;
    db_options.max_background_jobs = request.db.max_background_jobs;
    let families = vec![("default".to_owned(), request.family.clone())];
    let (db, _families) = Db::open_in_memory(db_options, families).unwrap();
    let mut random = Random(88_172_645_463_325_252);
    let value: Vec<u8> = (0..request.entry.value_size).map(|_| random.below(256) as u8).collect();
    let mut key = Vec::new();
    let mut puts = 0_u64;
    for &phase in &request.phases {
        for number in order_of(phase, request.keys, &mut random) {
            key.clear();
            key.extend_from_slice(&number.to_be_bytes());
            key.resize(request.entry.key_size, b'0');
            db.put(&key, &value).unwrap();
            puts += 1;
            if puts.is_multiple_of(100) {
                db.wait_for_background_work().unwrap();
            }
        }
    }
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    let written = statistic(&db, "flush_bytes") + statistic(&db, "compaction_write_bytes");
    let files = db.live_files();
    let table_bytes = files.iter().map(|file| file.size_bytes as f64).sum();
    let levels: Vec<_> = (0..7).map(|level| files.iter().filter(|file| file.level == level).count()).collect();
    println!("  levels {levels:?}");
    db.compact_range(None, None).unwrap();
    let compacted_bytes = db.live_files().iter().map(|file| file.size_bytes as f64).sum();
    Measured {
        write_amplification: written / (puts * request.entry.bytes()) as f64,
        table_bytes,
        compacted_bytes,
        files: files.len(),
        entries: puts,
    }
}

fn check(name: &str, request: &Request) {
    let plan = request.run(&mut |_| ()).unwrap();
    let began = std::time::Instant::now();
    let measured = measure(request);
    let took = began.elapsed();
    let space = measured.table_bytes / measured.compacted_bytes;
    println!(
        "{name}: {} puts in {took:.1?}\n  WAF plan {:.3} measured {:.3}  SAF plan {:.3} measured {:.3}  MB plan {:.1} measured {:.1}  files plan {:.0} measured {}",
        measured.entries,
        plan.whole.write_amplification,
        measured.write_amplification,
        plan.space_amplification,
        space,
        plan.table_bytes / 1e6,
        measured.table_bytes / 1e6,
        plan.files,
        measured.files,
    );
    println!("  {:?}", levels(&plan));
    let off = |planned: f64, real: f64| (planned / real - 1.0).abs();
    assert!(off(plan.whole.write_amplification, measured.write_amplification) < TOLERANCE, "{name}: WAF");
    assert!(off(plan.space_amplification, space) < TOLERANCE, "{name}: SAF");
    assert!(off(plan.table_bytes, measured.table_bytes) < TOLERANCE, "{name}: bytes");
    assert!(off(plan.files, measured.files as f64) < 0.2, "{name}: files");
}

fn levels(plan: &Plan) -> Vec<(usize, f64)> {
    plan.whole.runs.iter().map(|run| (run.level, run.files)).collect()
}

/// A small tree of the usual shape: a memtable of 1/4 of the base level, files as large as a memtable.
fn request(orders: &[Order], options: &str) -> Request {
    let megabytes: u64 = std::env::var("FERROCK_PLAN_MB").map_or(24, |text| text.parse().unwrap());
    let entry = Entry { key_size: 16, value_size: 400 };
    let keys = (megabytes << 20) / entry.bytes();
    let mut request = Request::new(keys, entry);
    request.phases = orders.iter().map(|&order| Phase { order, puts: keys }).collect();
    let text = format!(
        "write_buffer_size=256k;target_file_size_base=256k;max_bytes_for_level_base=1m;\
         max_bytes_for_level_multiplier=5;compression=kNoCompression;{options}"
    );
    ferrock::options::apply_text(&mut request.db, &mut request.family, &text).unwrap();
    request
}

#[test]
fn leveled_fillrandom_and_overwrite() {
    check("leveled", &request(&[Order::Random, Order::Random], ""));
}

#[test]
fn universal_fillrandom_and_overwrite() {
    check("universal", &request(&[Order::Random, Order::Random], "compaction_style=kCompactionStyleUniversal"));
}

#[test]
fn leveled_loads() {
    check("each key once", &request(&[Order::Once], ""));
    check("in order, then over it", &request(&[Order::Sequential, Order::Random], ""));
}
