//! A program that shows its own database while it writes and reads: `cargo run -p ferrock-inspect --example live -- 60`
//! serves a page for 60 seconds. Without an argument it does little and ends.

use ferrock::options::Components;
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, Error};
use ferrock_base::clock::SystemClock;
use ferrock_inspect::ServeInspector;
use std::sync::Arc;
use std::time::Duration;

fn main() -> ferrock::Result<()> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let directory = tempfile::tempdir().map_err(|source| Error::io("making a directory", "live", source))?;

    let mut options = DbOptions::default();
    options.create_if_missing = true;
    // Latencies are on the page where there are statistics.
    options.components =
        Components { statistics: Some(Arc::new(Statistics::new(StatsLevel::All))), ..Components::default() };
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 1 << 20;
    family.target_file_size_base = 256 << 10;
    family.max_bytes_for_level_base = 2 << 20;
    let (db, _) = Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)])?;

    // Port 0 is any that is free; the server ends with `inspector`.
    let inspector = db.serve_inspector("127.0.0.1:0")?;
    println!("{}", inspector.url());

    let clock = SystemClock::shared();
    let begin = clock.moment();
    let mut random = 1_u64;
    loop {
        for _ in 0..1000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("user:{:08}", (random >> 33) % 1_000_000);
            db.put(key.as_bytes(), &random.to_le_bytes().repeat(12))?;
            db.get(key.as_bytes())?;
        }
        if Duration::from_micros(clock.elapsed_us(begin)) >= Duration::from_secs(seconds) {
            break;
        }
        clock.sleep(Duration::from_millis(20));
    }
    drop(inspector);
    db.close()
}
