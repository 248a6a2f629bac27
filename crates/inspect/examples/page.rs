//! Databases for the tests of the page in a browser (`dev/page/check.py`): `page KIND [PORT]` serves one, prints its
//! URL, and goes on until its standard input ends.
//!
//! | kind | database |
//! |---|---|
//! | `loaded` | two families, some levels, statistics, keys with bytes of every kind; writes and reads go on |
//! | `busy` | a compaction runs for as long as the page is served, and writers are stopped behind it |
//! | `many` | 10,000 tables, in memory |
//! | `empty` | nothing was written |
//! | `damaged` | a directory whose MANIFEST has a wrong byte |

use ferrock::options::{CompactionFilter, Components, CompressionType, MemoryBudget, WaitForCompactOptions};
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, Error, ErrorKind, FlushOptions, Result};
use ferrock_base::ValueType;
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::compaction_filter::{FilterContext, FilterDecision};
use ferrock_inspect::ServeInspector;
use ferrock_vfs::MemoryFileSystem;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("", String::as_str);
    let address = format!("127.0.0.1:{}", arguments.get(1).map_or("0", String::as_str));
    let directory = tempfile::tempdir().map_err(|source| Error::io("making a directory", "page", source))?;
    match kind {
        "loaded" => loaded(directory.path(), &address),
        "busy" => busy(directory.path(), &address),
        "many" => many(&address),
        "empty" => serve(&open(directory.path(), options(), ColumnFamilyOptions::default())?, &address),
        "damaged" => damaged(directory.path(), &address),
        _ => {
            let message = format!("{kind:?} is no kind of database; there are loaded, busy, many, empty and damaged");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

fn options() -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options
}

fn open(path: &Path, options: DbOptions, family: ColumnFamilyOptions) -> Result<Db> {
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).map(|(db, _)| db)
}

fn serve(db: &Db, address: &str) -> Result<()> {
    let inspector = db.serve_inspector(address)?;
    println!("{}", inspector.url());
    wait();
    Ok(())
}

/// Until the standard input ends.
fn wait() {
    let mut buffer = [0; 64];
    while std::io::stdin().read(&mut buffer).is_ok_and(|read| read > 0) {}
}

fn loaded(path: &Path, address: &str) -> Result<()> {
    let mut options = options();
    options.components =
        Components { statistics: Some(Arc::new(Statistics::new(StatsLevel::All))), ..Components::default() };
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 1 << 20;
    family.target_file_size_base = 256 << 10;
    family.max_bytes_for_level_base = 2 << 20;
    let db = open(path, options, family.clone())?;
    let markup = db.create_column_family("<b>événements</b> with a name that is rather long", family)?;
    for key in [&b"<script>alert(1)</script>"[..], b"\x00\xff\n\\", &[b'k'; 300], b""] {
        db.put_cf(&markup, key, b"<img src=x onerror=alert(1)>", &Default::default())?;
    }
    db.flush_cf(&markup, &Default::default())?;
    for number in 0..60_000_u64 {
        write(&db, number)?;
    }
    db.wait_for_compact(&WaitForCompactOptions::default())?;
    let inspector = db.serve_inspector(address)?;
    println!("{}", inspector.url());
    let is_over = AtomicBool::new(false);
    let clock = SystemClock::shared();
    std::thread::scope(|scope| {
        // Threads of a scope are joined by it; the one that waits for the end of the input is the main one.
        let writer = scope.spawn(|| -> Result<()> {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Few enough that tables stay for seconds, to be opened.
                for _ in 0..20 {
                    number += 1;
                    write(&db, number)?;
                    db.get(&key(number))?;
                }
                clock.sleep(Duration::from_millis(50));
            }
            Ok(())
        });
        wait();
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap_or(Ok(()))
    })?;
    drop(inspector);
    drop(markup);
    db.close()
}

/// Holds compactions until the page is over.
struct Holding {
    is_over: AtomicBool,
    clock: Arc<dyn Clock>,
}

impl CompactionFilter for Holding {
    fn name(&self) -> &str {
        "page.Holding"
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        while !self.is_over.load(Ordering::Relaxed) {
            self.clock.sleep(Duration::from_millis(10));
        }
        FilterDecision::Keep
    }
}

fn busy(path: &Path, address: &str) -> Result<()> {
    let mut options = options();
    options.components.memory_budget = Some(MemoryBudget::new(64 << 20));
    options.components.statistics = Some(Arc::new(Statistics::new(StatsLevel::All)));
    let holding = Arc::new(Holding { is_over: AtomicBool::new(false), clock: SystemClock::shared() });
    let mut family = ColumnFamilyOptions::default();
    family.compaction_filter = Some(Arc::clone(&holding) as Arc<dyn CompactionFilter>);
    family.level0_file_num_compaction_trigger = 2;
    family.level0_slowdown_writes_trigger = 4;
    family.level0_stop_writes_trigger = 4;
    let db = open(path, options, family)?;
    let served = serve_stopped(&db, address, &holding.is_over);
    // Closing waits for the compaction.
    holding.is_over.store(true, Ordering::Relaxed);
    served.and(db.close())
}

fn serve_stopped(db: &Db, address: &str, is_over: &AtomicBool) -> Result<()> {
    let family = db.default_column_family()?;
    for table in 0..4_u64 {
        (0..1000).try_for_each(|number| write(db, 1000 * table + number))?;
        db.flush_cf(&family, &FlushOptions { allow_write_stall: true, ..FlushOptions::default() })?;
    }
    let inspector = db.serve_inspector(address)?;
    println!("{}", inspector.url());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| db.put(b"stopped", b"until the compaction ends"));
        wait();
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap_or(Ok(()))
    })
}

fn key(number: u64) -> Vec<u8> {
    let mixed = number.wrapping_mul(6_364_136_223_846_793_005) >> 40;
    format!("user:{mixed:08}").into_bytes()
}

/// Mostly small values, some that fill a block or several; they hardly compress.
fn write(db: &Db, number: u64) -> Result<()> {
    let words = match number {
        _ if number.is_multiple_of(1009) => 4000,
        _ if number.is_multiple_of(97) => 700,
        _ => 8 + number % 9,
    };
    let mut random = number;
    let value = (0..words).flat_map(|_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 16).to_le_bytes()
    });
    db.put(&key(number), &value.collect::<Vec<u8>>())
}

fn many(address: &str) -> Result<()> {
    let mut options = options();
    options.components.file_system = Some(Arc::new(MemoryFileSystem::without_crashes()));
    options.max_open_files = 100;
    let mut family = ColumnFamilyOptions::default();
    // A table for each key.
    family.target_file_size_base = 1;
    family.disable_auto_compactions = true;
    family.compression = CompressionType::NoCompression;
    let db = open(Path::new("/many"), options, family)?;
    for number in 0..10_000_u64 {
        db.put(format!("key{number:08}").as_bytes(), &vec![7; 1 + number as usize % 500])?;
    }
    db.flush()?;
    db.compact_range(None, None)?;
    serve(&db, address)
}

fn damaged(path: &Path, address: &str) -> Result<()> {
    let db = open(path, options(), ColumnFamilyOptions::default())?;
    db.put(b"key", b"value")?;
    db.close()?;
    let files = ferrock_vfs::default_file_system();
    let current = ferrock_vfs::read_file(&*files, &path.join("CURRENT"))?;
    let manifest = path.join(String::from_utf8_lossy(&current).trim());
    let mut bytes = ferrock_vfs::read_file(&*files, &manifest)?;
    if let Some(byte) = bytes.get_mut(8) {
        *byte ^= 0xff;
    }
    ferrock_vfs::write_file_synced(&*files, &manifest, &bytes)?;
    let inspector = ferrock_inspect::serve_directory(path, address)?;
    println!("{}", inspector.url());
    wait();
    Ok(())
}
