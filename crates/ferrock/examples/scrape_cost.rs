//! What a scrape costs: the time of `Db::metrics` and of the page made of it, by families and tables.
//!
//!     cargo run --release -p ferrock --example scrape_cost             # 1, 10 and 100 families, 1,000 tables
//!     cargo run --release -p ferrock --example scrape_cost -- 50       # 50 tables
//!
//! The databases are in memory, have statistics, and are at rest, with all tables on the last level. Each figure is the
//! middle one of several runs.
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments and the clock")]
#![allow(clippy::print_stdout, reason = "its result")]

use ferrock::options::{ColumnFamilyOptions, CompressionType};
use ferrock::statistics::Statistics;
use ferrock::{CompactRangeOptions, Db, DbOptions, FlushOptions, WriteOptions};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const RUNS: usize = 11;

/// A database with so many families, and so many tables in all of them together.
fn database(families: usize, tables: usize) -> ferrock::Result<Db> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.statistics = Some(Arc::new(Statistics::default()));
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = CompressionType::NoCompression;
    // A compaction makes a table of each key.
    family.target_file_size_base = 1;
    let (db, mut handles) = Db::open_in_memory(options, vec![("default".to_owned(), family.clone())])?;
    for number in 1..families {
        handles.push(db.create_column_family(&format!("family-{number}"), family.clone())?);
    }
    for number in 0..tables {
        db.put_cf(&handles[number % families], &number.to_be_bytes(), &[b'v'; 200], &WriteOptions::default())?;
    }
    for family in &handles {
        db.flush_cf(family, &FlushOptions::default())?;
        db.compact_range_cf(family, None, None, &CompactRangeOptions::default())?;
    }
    Ok(db)
}

/// The middle one of the times of several runs, in microseconds.
fn median_us<T>(mut run: impl FnMut() -> T) -> u128 {
    let time = |_| {
        let begin = Instant::now();
        black_box(run());
        begin.elapsed().as_micros()
    };
    let mut times: Vec<u128> = (0..RUNS).map(time).collect();
    times.sort_unstable();
    times[RUNS / 2]
}

pub fn main() -> ferrock::Result<()> {
    let tables = std::env::args().nth(1).and_then(|tables| tables.parse().ok()).unwrap_or(1000);
    println!("families  tables  metrics us  page us  page bytes");
    for families in [1, 10, 100] {
        let db = database(families, tables)?;
        let tables = db.live_files().len();
        let metrics = db.metrics();
        let page = ferrock::metrics::prometheus(&metrics);
        let metrics_us = median_us(|| db.metrics());
        let page_us = median_us(|| ferrock::metrics::prometheus(&metrics));
        println!("{families:8}  {tables:6}  {metrics_us:10}  {page_us:7}  {:10}", page.len());
        db.close()?;
    }
    Ok(())
}
