//! Many files, many families: what opening, reading, changing and closing such a database costs.
//!
//! ```text
//! cargo run --release -p ferrock --example many_files -- files 10000 [--max-open-files n] [--directory path]
//! cargo run --release -p ferrock --example many_files -- families 10000 [--directory path]
//! ```
//!
//! `files` makes that many tables of one key each, by one compaction into tables of the least size, and then measures
//! the open with a warm page cache, reads at random places, flushes and compactions of one table. `families` creates
//! that many families, writes to each, opens the database again and drops them all.
#![allow(clippy::disallowed_methods, reason = "a measuring tool reads its arguments and the clock")]
#![allow(clippy::print_stdout, reason = "its result")]

use ferrock::options::CompressionType;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, Result, WriteOptions};
use ferrock_base::random::Random;
use std::path::{Path, PathBuf};
use std::time::Instant;

struct Arguments {
    kind: String,
    count: u64,
    max_open_files: i32,
    is_async: bool,
    directory: PathBuf,
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        kind: "files".to_owned(),
        count: 1000,
        max_open_files: -1,
        is_async: false,
        directory: std::env::temp_dir().join("ferrock-many-files"),
    };
    let mut given = std::env::args().skip(1);
    let mut position = 0;
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--max-open-files" => found.max_open_files = given.next().and_then(|n| n.parse().ok()).unwrap_or(-1),
            "--directory" => found.directory = given.next().map_or(found.directory, PathBuf::from),
            "--async" => found.is_async = true,
            _ => {
                match position {
                    0 => found.kind = argument,
                    _ => found.count = argument.parse().unwrap_or(found.count),
                }
                position += 1;
            }
        }
    }
    found
}

/// Prints what a step took, for each of `count` things.
fn timed<T>(what: &str, count: u64, step: impl FnOnce() -> Result<T>) -> Result<T> {
    let begin = Instant::now();
    let outcome = step()?;
    let seconds = begin.elapsed().as_secs_f64();
    let each = seconds * 1e6 / count.max(1) as f64;
    println!("{what:<44} {seconds:>9.3} s  {each:>10.2} us each  {:>6} MiB resident", resident_mib());
    Ok(outcome)
}

/// Memory that the process has, where `/proc` tells.
fn resident_mib() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4 / 1024
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:012}").into_bytes()
}

fn db_options(arguments: &Arguments) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_open_files = arguments.max_open_files;
    options
}

fn family_options() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::NoCompression;
    family.write_buffer_size = 1 << 30;
    family.target_file_size_base = 1;
    family.disable_auto_compactions = true;
    family
}

fn open(path: &Path, options: &DbOptions) -> Result<Db> {
    Ok(Db::open_cf(path, options.clone(), vec![("default".to_owned(), family_options())])?.0)
}

fn measure_files(arguments: &Arguments) -> Result<()> {
    let (path, count) = (&arguments.directory, arguments.count);
    let options = db_options(arguments);
    let db = open(path, &options)?;
    timed("make", count, || {
        for number in 0..count {
            db.put(&key(number), &number.to_le_bytes())?;
        }
        db.flush()?;
        db.compact_range(None, None)
    })?;
    timed("close", 1, || db.close())?;
    for _ in 0..3 {
        let db = timed("open, warm", count, || open(path, &options))?;
        drop(db);
    }
    let db = open(path, &options)?;
    let mut random = Random::new(1);
    timed("random reads", 2 * count, || {
        for _ in 0..2 * count {
            let number = random.below(count);
            let value = db.get(&key(number))?;
            assert!(value.is_some_and(|value| *value == number.to_le_bytes()), "a wrong value");
        }
        Ok(())
    })?;
    timed("one scan", count, || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        let mut seen = 0;
        while iter.valid() {
            seen += 1;
            iter.next();
        }
        assert_eq!(seen, count, "keys of a scan");
        iter.status()
    })?;
    timed("200 flushes of one key", 200, || {
        for number in 0..200 {
            db.put(&key(number * (count / 200)), b"new")?;
            db.flush()?;
        }
        Ok(())
    })?;
    timed("50 compactions of one key", 50, || {
        for number in 0..50 {
            let key = key(number * (count / 200));
            db.compact_range(Some(&key), Some(&key))?;
        }
        Ok(())
    })?;
    timed("close", 1, || db.close())?;
    Db::destroy(path, &options)
}

fn measure_families(arguments: &Arguments) -> Result<()> {
    let (path, count) = (&arguments.directory, arguments.count);
    let options = db_options(arguments);
    let (read, write, flush) = (ReadOptions::default(), WriteOptions::default(), FlushOptions::default());
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::NoCompression;
    let names: Vec<String> = (0..count).map(|number| format!("family{number}")).collect();
    let db = Db::open(path, options.clone())?;
    let mut handles = Vec::new();
    for tenth in names.chunks(names.len().div_ceil(10)) {
        timed("create a tenth", tenth.len() as u64, || {
            let families = tenth.iter().map(|name| (name.clone(), family.clone()));
            handles.extend(db.create_column_families(families.collect())?);
            Ok(())
        })?;
    }
    timed("write one key to each", count, || {
        handles.iter().try_for_each(|handle| db.put_cf(handle, b"key", b"value", &write))
    })?;
    timed("write 20 more keys to each", 20 * count, || {
        for number in 0..20u64 {
            handles.iter().try_for_each(|handle| db.put_cf(handle, &key(number), b"value", &write))?;
        }
        Ok(())
    })?;
    timed("read one key of each", count, || {
        handles.iter().try_for_each(|handle| db.get_cf(handle, &read, b"key").map(|value| assert!(value.is_some())))
    })?;
    timed("flush a tenth, one by one", count / 10, || {
        handles.iter().step_by(10).try_for_each(|handle| db.flush_cf(handle, &flush))
    })?;
    drop(handles);
    timed("close", count, || db.close())?;
    let all = |name: &String| (name.clone(), family.clone());
    let descriptors: Vec<_> = names.iter().map(all).chain([("default".to_owned(), family.clone())]).collect();
    let (db, handles) =
        timed("open, with a flush of each", count, || Db::open_cf(path, options.clone(), descriptors.clone()))?;
    drop(handles);
    timed("close", count, || db.close())?;
    let (db, handles) = timed("open", count, || Db::open_cf(path, options.clone(), descriptors))?;
    for tenth in handles[..names.len()].chunks(names.len().div_ceil(10)) {
        timed("drop a tenth", tenth.len() as u64, || {
            tenth.iter().try_for_each(|handle| db.drop_column_family(handle))
        })?;
    }
    drop(handles);
    timed("close", 1, || db.close())?;
    Db::destroy(path, &options)
}

pub fn main() -> Result<()> {
    let arguments = arguments();
    Db::destroy(&arguments.directory, &DbOptions::default())?;
    match arguments.kind.as_str() {
        "families" => measure_families(&arguments),
        _ => measure_files(&arguments),
    }
}
