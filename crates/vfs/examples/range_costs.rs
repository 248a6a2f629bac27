//! Measures the ways to read a range: `cargo run --release -p ferrock-vfs --example range_costs -- [DIRECTORY]`.
//!
//! A file of 64 MiB is written to the directory (default: the system's temporary one) and read at scattered places, 4
//! KiB at a time: through the page cache, where only processor time counts, and around it, where the device's does.
//! Every way is measured several times in turn; the median is printed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, reason = "a program for people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ferrock_vfs::{
    FileSystem, PosixFileSystem, RandomAccessFile, RandomAccessOptions, RangeRead, ReadClass, ReadContext,
    WritableOptions, read_owned, read_range, read_ranges,
};

const FILE_BYTES: u64 = 64 << 20;
const READ_BYTES: usize = 4096;
const ROUNDS: usize = 7;
const READS: u64 = 4096;
const BATCH: u64 = 32;

fn place(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (FILE_BYTES - 2 * READ_BYTES as u64) / 512 * 512
}

/// Reads `READS` ranges one way or another.
type Way = fn(&PosixFileSystem, &Arc<dyn RandomAccessFile>, u64);

fn owned(_: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, seed: u64) {
    for number in 0..READS {
        std::hint::black_box(read_owned(&**file, place(seed + number), READ_BYTES, &ReadContext::default()).unwrap());
    }
}

fn ranges(_: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, seed: u64) {
    let context = ReadContext::for_class(ReadClass::Data);
    for number in 0..READS {
        std::hint::black_box(read_range(&**file, place(seed + number), READ_BYTES, &context).unwrap());
    }
}

fn started(file_system: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, seed: u64) {
    let context = ReadContext::for_class(ReadClass::Data);
    for number in 0..READS {
        let pending = file_system.start_read(file, place(seed + number), READ_BYTES, &context);
        std::hint::black_box(pending.wait().unwrap());
    }
}

fn batches(file_system: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, seed: u64) {
    let context = ReadContext::for_class(ReadClass::Data);
    for batch in 0..READS / BATCH {
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        let mut reads: Vec<_> = numbers.map(|number| RangeRead::new(file, place(seed + number), READ_BYTES)).collect();
        read_ranges(file_system, &mut reads, &context);
        assert!(reads.iter().all(|read| read.result.is_ok()));
    }
}

fn neighbours(file_system: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, seed: u64) {
    let context = ReadContext::for_class(ReadClass::Data);
    for batch in 0..READS / BATCH {
        let start = place(seed + batch) / 2;
        let mut reads: Vec<_> =
            (0..BATCH).map(|number| RangeRead::new(file, start + number * READ_BYTES as u64, READ_BYTES)).collect();
        read_ranges(file_system, &mut reads, &context);
        assert!(reads.iter().all(|read| read.result.is_ok()));
    }
}

const WAYS: [(&str, Way); 5] = [
    ("read_owned: memory of its own", owned),
    ("read_range: pooled memory", ranges),
    ("start_read, then wait", started),
    ("read_ranges: 32 scattered", batches),
    ("read_ranges: 32 neighbours", neighbours),
];

fn measure(backend: &str, path: &Path, direct: bool) {
    let file_system = PosixFileSystem::with_backend(Some(backend));
    let options = RandomAccessOptions { direct, advise_random: true, ..Default::default() };
    let file = match file_system.open_random_access(path, &options) {
        Ok(file) => file,
        Err(error) => return println!("{backend}: {error}"),
    };
    let mut nanoseconds = [const { Vec::new() }; WAYS.len()];
    for round in 0..ROUNDS as u64 {
        for (times, (_, way)) in nanoseconds.iter_mut().zip(WAYS) {
            let started = Instant::now();
            way(&file_system, &file, round * READS);
            times.push(started.elapsed().as_nanos() as f64 / READS as f64);
        }
    }
    for (times, (name, _)) in nanoseconds.iter_mut().zip(WAYS) {
        times.sort_by(f64::total_cmp);
        let cache = if direct { "direct" } else { "page cache" };
        println!("{backend:<9} {cache:<11} {name:<28} {:>8.2} us", times[ROUNDS / 2] / 1000.0);
    }
}

fn main() {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let path = directory.join(format!("ferrock-range-costs-{}", std::process::id()));
    let file_system = PosixFileSystem::with_backend(Some("pread"));
    let mut file = file_system.create_writable(&path, &WritableOptions::default()).unwrap();
    (0..FILE_BYTES >> 20).for_each(|number| file.append(&vec![number as u8; 1 << 20]).unwrap());
    file.sync().unwrap();
    file.close().unwrap();
    for direct in [false, true] {
        for backend in ["pread", "io_uring"] {
            measure(backend, &path, direct);
        }
    }
    file_system.remove_file(&path).unwrap();
}
