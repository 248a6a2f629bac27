//! Outputs whose blocks are copied from the inputs have the bytes of outputs whose blocks are all compressed.

use super::*;
use ferrock_base::random::Random;
use ferrock_format::compression::CompressionType;
use std::time::{Duration, Instant};

/// Runs a compaction and leaves the tree as it is: the tables' bytes, what the job says of them, and how long it took.
fn run(world: &World, line: &str, copies_blocks: bool) -> (Vec<Vec<u8>>, JobOutput, Duration) {
    let choice = world.choice(line);
    let context = JobContext { copies_blocks, ..world.context(line) };
    let env = TestEnv {
        file_system: Arc::clone(&world.file_system) as Arc<dyn FileSystem>,
        next: Mutex::new(world.next),
        reserved: Mutex::default(),
        stops: false,
    };
    let collection = BlobCollection::automatic(&context.family.options.settings);
    let job = CompactionJob {
        context: &context,
        choice: &choice,
        is_manual: true,
        collection,
        within: None,
        max_subcompactions: argument(line, "parts").map_or(1, |parts| parts.parse().unwrap()),
    };
    #[allow(clippy::disallowed_methods, reason = "what is measured is real time")]
    let begin = Instant::now();
    let output = job.run(&env).unwrap();
    let took = begin.elapsed();
    let path = |file: &NewFile| Path::new(DB).join(file_name::table(file.number));
    let bytes = output.files.iter().map(|file| ferrock_vfs::read_file(&*world.file_system, &path(file)).unwrap());
    (bytes.collect(), output, took)
}

/// Runs a compaction without copies and with them, and installs what the second one made. Gives the blocks that it
/// copied.
fn compact_both_ways(world: &mut World, line: &str, what: &str) -> u64 {
    let (anew, _, _) = run(world, line, false);
    let (copied, output, _) = run(world, line, true);
    assert!(anew == copied, "{what}: {line}: other tables");
    world.compact(line);
    output.copied.blocks
}

fn world_of(kind: CompressionType, block_size: u64) -> World {
    let mut world = World::new();
    let options = Arc::make_mut(&mut world.family.options);
    options.compression = kind;
    options.table.block_size = block_size;
    options.compression_opts.0.parallel_threads = 0;
    options.merge_operator = ferrock_base::merge::built_in("stringappend").unwrap();
    world
}

/// A value of which half compresses.
fn value(random: &mut Random, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| if at % 128 < 64 { random.below(256) as u8 } else { b'v' }).collect()
}

/// Flushes a memtable of about so many `entries` of keys in `[from, to)`.
fn flush_some(world: &mut World, random: &mut Random, sequence: &mut u64, entries: u64, (from, to): (u64, u64)) {
    let memtable = Arc::new(MemTable::new(MemTableOptions::default()));
    let large = random.below(2) == 0;
    for _ in 0..entries {
        *sequence += 1;
        let number = from + random.below(to - from);
        let key = format!("{number:06}").into_bytes();
        let bytes = if large { 4000 } else { random.below(60) as usize };
        let (value_type, value) = match random.below(30) {
            0..3 => (ValueType::Deletion, Vec::new()),
            3..5 => (ValueType::Merge, value(random, bytes)),
            5 if random.below(4) == 0 => {
                (ValueType::RangeDeletion, format!("{:06}", number + random.below(20)).into_bytes())
            }
            _ => (ValueType::Value, value(random, bytes)),
        };
        memtable.add(SequenceNumber(*sequence), value_type, &key, &value).unwrap();
    }
    flush(world, memtable);
}

fn flush(world: &mut World, memtable: Arc<MemTable>) {
    world.job("flush", |context, env| {
        let reason = TableFileCreationReason::Flush;
        let output = FlushJob { context, memtables: &[memtable], reason }.run(env)?;
        let edit = VersionEdit { new_files: output.files.clone(), ..VersionEdit::for_column_family(3) };
        Ok((output, edit))
    });
}

#[test]
fn copies_change_no_byte_of_an_output() {
    let kinds = [CompressionType::Lz4, CompressionType::Zstd, CompressionType::Snappy, CompressionType::Zlib];
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let kind = kinds[random.below(4) as usize];
        let mut world = world_of(kind, [64, 500, 4096][random.below(3) as usize]);
        Arc::make_mut(&mut world.family.options).compression_opts.0.parallel_threads = [0, 2][random.below(2) as usize];
        let (mut sequence, mut copied) = (10, 0);
        for round in 0..4 {
            for _ in 0..1 + random.below(3) {
                // Now and then of a part of the keys.
                let from = [0, 0, random.below(500)][random.below(3) as usize];
                flush_some(&mut world, &mut random, &mut sequence, 300, (from, 600));
            }
            let snapshots = [String::new(), format!(" snapshots={}", sequence / 2)][random.below(2) as usize].clone();
            let size = [1 << 12, 1 << 16, u64::MAX][random.below(3) as usize];
            let what = format!("seed {seed}, round {round}, {kind:?}");
            copied += compact_both_ways(&mut world, &format!("compact from=0 to=1{snapshots} size={size}"), &what);
            copied += compact_both_ways(&mut world, &format!("compact from=1 to=2{snapshots} size={size}"), &what);
            let last = format!("compact from=2 to=3{snapshots} size={size} bottommost");
            copied += compact_both_ways(&mut world, &last, &what);
            copied += compact_both_ways(&mut world, &last.replace("from=2", "from=3"), &what);
        }
        assert!(copied > 20, "seed {seed}: {copied} blocks");
    }
}

#[test]
fn what_is_divided_between_two_levels_is_copied_to_both() {
    let mut world = world_of(CompressionType::Lz4, 64);
    let mut random = Random::new(5);
    let mut sequence = 10;
    flush_some(&mut world, &mut random, &mut sequence, 400, (0, 600));
    let line = "compact from=0 to=3 young=100 at=200 times=150:50,1000:150 runs bottommost";
    compact_both_ways(&mut world, line, "first");
    assert!(!world.family.version.level(2).is_empty() && !world.family.version.level(3).is_empty());
    let copied = compact_both_ways(&mut world, &line.replace("from=0", "from=2"), "again");
    assert!(copied > 10, "{copied}");
}

/// Prints what compactions take with copies and without, each five times in turn. Of 20,000 values of 8 KiB each tenth
/// is written over; a million of 100 bytes get one more in a thousand. Half of a value compresses.
/// `cargo test --release -p ferrock-tree --lib -- --ignored --nocapture copies_beside_compressing`
#[test]
#[ignore = "a measurement"]
fn copies_beside_compressing() {
    for (kind, bytes, rows, step) in [
        (CompressionType::Lz4, 8 << 10, 20_000, 10),
        (CompressionType::Zstd, 8 << 10, 20_000, 10),
        (CompressionType::Lz4, 100, 1_000_000, 1000),
        (CompressionType::Zstd, 100, 1_000_000, 1000),
    ] {
        let mut world = world_of(kind, 4096);
        let mut random = Random::new(1);
        let line = "compact from=0 to=3 bottommost size=67108864";
        put(&mut world, &mut random, bytes, 1, (0..rows).map(|number| 2 * number));
        world.compact(line);
        let is_between = u64::from(bytes < 4096);
        put(&mut world, &mut random, bytes, rows + 1, (0..rows / step).map(|number| 2 * number * step + is_between));
        let mut times = [const { Vec::new() }; 2];
        let mut last = String::new();
        for _ in 0..5 {
            for copies in [false, true] {
                let (_, output, took) = run(&world, line, copies);
                times[usize::from(copies)].push(took);
                let CopiedBlocks { blocks, bytes } = output.copied;
                last = format!("{bytes} of {} bytes were copied, in {blocks} blocks", output.size_bytes());
            }
        }
        println!("{kind:?}, values of {bytes}: {last}");
        for (what, mut times) in ["without", "with   "].into_iter().zip(times) {
            times.sort();
            println!(
                "  {what} copies {:.3} s ({:.3} to {:.3})",
                times[2].as_secs_f64(),
                times[0].as_secs_f64(),
                times[4].as_secs_f64()
            );
        }
    }
}

/// Flushes values of so many bytes under these keys.
fn put(world: &mut World, random: &mut Random, bytes: usize, sequence: u64, numbers: impl Iterator<Item = u64>) {
    let memtable = Arc::new(MemTable::new(MemTableOptions::default()));
    for (sequence, number) in (sequence..).zip(numbers) {
        let (key, value) = (format!("{number:016}"), value(random, bytes));
        memtable.add(SequenceNumber(sequence), ValueType::Value, key.as_bytes(), &value).unwrap();
    }
    flush(world, memtable);
}

/// Prints what a compaction takes into which nothing can be copied: two tables of small keys at random places among
/// each other. `cargo test --release -p ferrock-tree --lib -- --ignored --nocapture interleaved_keys`
#[test]
#[ignore = "a measurement"]
fn interleaved_keys() {
    let mut world = world_of(CompressionType::Lz4, 4096);
    let mut random = Random::new(1);
    for sequence in [1, 100_001] {
        let numbers: Vec<u64> = (0..100_000).map(|_| random.below(1 << 40)).collect();
        put(&mut world, &mut random, 100, sequence, numbers.into_iter());
    }
    for _ in 0..5 {
        let (_, output, took) = run(&world, "compact from=0 to=1 size=67108864", true);
        println!("{took:?}, {:?}", output.copied);
    }
}
