use super::super::{BlockTableBuilder, TableBuilderParams, TableSummary};
use crate::options::{BlockBasedTableOptions, IndexType};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::random::Random;
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use ferrock_base::{ErrorKind, InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions, read_file};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct NoJoin;

impl Join for NoJoin {
    fn join(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Takes jobs and never runs them.
#[derive(Default)]
struct Never(Mutex<Vec<Job>>);

impl std::fmt::Debug for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Never")
    }
}

impl Spawner for Never {
    fn spawn(&self, _name: &str, job: Job) -> Result<Box<dyn Join>> {
        self.0.lock().push(job);
        Ok(Box::new(NoJoin))
    }
}

/// Counts the threads that run.
#[derive(Debug, Default)]
struct Counting {
    started: AtomicUsize,
    running: Arc<AtomicUsize>,
}

impl Spawner for Counting {
    fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Arc::clone(&self.running);
        let counted = move || {
            job();
            running.fetch_sub(1, Ordering::SeqCst);
        };
        StdSpawner.spawn(name, Box::new(counted))
    }
}

fn begin(memory: &MemoryFileSystem, params: TableBuilderParams) -> BlockTableBuilder {
    let file = memory.create_writable(Path::new("/000007.sst"), &WritableOptions::default()).unwrap();
    BlockTableBuilder::new(params, file).unwrap()
}

/// The bytes of a table of random entries.
fn table(params: TableBuilderParams, seed: u64, entries: u32) -> (Vec<u8>, TableSummary) {
    let memory = MemoryFileSystem::new();
    let mut builder = begin(&memory, params);
    let mut numbers = Random::new(seed);
    for number in 0..entries {
        let key = format!("{number:06}{}", "k".repeat(numbers.below(9) as usize)).into_bytes();
        let key = make_internal_key(&key, SequenceNumber(u64::from(number)), ValueType::Value);
        let length = numbers.below(80) as usize;
        // Some blocks are not worth it.
        let letters = if number / 500 % 3 == 1 { 256 } else { 5 };
        let value: Vec<u8> = (0..length).map(|_| numbers.below(letters) as u8).collect();
        builder.add(&key, &value).unwrap();
    }
    let summary = builder.finish().unwrap();
    (read_file(&memory, Path::new("/000007.sst")).unwrap(), summary)
}

fn drawn(numbers: &mut Random) -> TableBuilderParams {
    let kinds = [
        CompressionType::NoCompression,
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::BZip2,
        CompressionType::Lz4,
        CompressionType::Lz4Hc,
        CompressionType::Zstd,
    ];
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.compression = kinds[numbers.below(kinds.len() as u64) as usize];
    let options = &mut params.compression_options;
    options.max_dict_bytes = [0, 0, 1024, 4096][numbers.below(4) as usize];
    options.max_dict_buffer_bytes = [0, 5000, 20_000][numbers.below(3) as usize];
    options.zstd_max_train_bytes = [0, 10_000][numbers.below(2) as usize];
    let indexes = [
        IndexType::BinarySearch,
        IndexType::TwoLevelIndexSearch,
        IndexType::TwoLevelIndexSearch,
        IndexType::BinarySearchWithFirstKey,
    ];
    let index_type = indexes[numbers.below(4) as usize];
    params.options = Arc::new(BlockBasedTableOptions {
        index_type,
        partition_filters: index_type == IndexType::TwoLevelIndexSearch && numbers.below(2) == 0,
        decouple_partitioned_filters: numbers.below(2) == 0,
        metadata_block_size: [64, 300, 4096][numbers.below(3) as usize],
        block_size: [1, 100, 1000, 4096][numbers.below(4) as usize],
        format_version: [2, 5, 6, 7][numbers.below(4) as usize],
        verify_compression: numbers.below(2) == 0,
        enable_index_compression: numbers.below(2) == 0,
        row_bounds: index_type == IndexType::TwoLevelIndexSearch && numbers.below(2) == 0,
        ..BlockBasedTableOptions::default()
    });
    if numbers.below(2) == 0 {
        params.filter_policy = FilterPolicy::bloom(10.0);
    }
    params
}

/// A dictionary, behind which partitions of index and filter end soon.
fn drawn_with_dictionary(numbers: &mut Random) -> TableBuilderParams {
    let mut params = drawn(numbers);
    params.compression = [CompressionType::Lz4, CompressionType::Zstd][numbers.below(2) as usize];
    params.compression_options.max_dict_bytes = 1024;
    params.compression_options.max_dict_buffer_bytes = 1 + numbers.below(5000);
    params.filter_policy = FilterPolicy::bloom(10.0);
    params.options = Arc::new(BlockBasedTableOptions {
        index_type: IndexType::TwoLevelIndexSearch,
        partition_filters: true,
        metadata_block_size: [1, 30, 64][numbers.below(3) as usize],
        block_size: [100, 1000][numbers.below(2) as usize],
        ..BlockBasedTableOptions::clone(&params.options)
    });
    params
}

#[test]
fn the_bytes_are_those_of_one_thread() {
    for seed in 0..60 {
        let mut numbers = Random::new(seed);
        let with_dictionary = seed % 2 == 1;
        let params = if with_dictionary { drawn_with_dictionary(&mut numbers) } else { drawn(&mut numbers) };
        let entries = if with_dictionary { 300 } else { [0, 1, 30, 2000][numbers.below(4) as usize] };
        let (wanted, alone) = table(params.clone(), seed, entries);
        for threads in 2..4 {
            for runs in [true, false] {
                let counting = Arc::new(Counting::default());
                let mut params = params.clone();
                params.compression_options.parallel_threads = threads;
                params.spawner = Some(if runs { Arc::clone(&counting) as _ } else { Arc::<Never>::default() as _ });
                let what = format!("seed {seed}, {threads} threads, they run: {runs}, {params:?}");
                let compresses = params.compression != CompressionType::NoCompression;
                let (found, summary) = table(params, seed, entries);
                assert!(found == wanted, "{what}");
                assert_eq!(summary.num_verified_blocks, alone.num_verified_blocks, "{what}");
                let started = if compresses && runs { threads as usize - 1 } else { 0 };
                assert_eq!(counting.started.load(Ordering::SeqCst), started, "{what}");
                while counting.running.load(Ordering::SeqCst) > 0 {
                    std::thread::yield_now();
                }
            }
        }
    }
}

fn with_threads(spawner: Arc<dyn Spawner>) -> TableBuilderParams {
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.compression = CompressionType::Lz4;
    params.compression_options.parallel_threads = 2;
    params.spawner = Some(spawner);
    params
}

fn entry(number: u32) -> Vec<u8> {
    make_internal_key(&number.to_be_bytes(), SequenceNumber(9), ValueType::Value)
}

#[test]
fn a_builder_that_is_given_up_ends_its_threads() {
    let counting = Arc::new(Counting::default());
    let mut builder = begin(&MemoryFileSystem::new(), with_threads(Arc::clone(&counting) as _));
    (0..5000).for_each(|number| builder.add(&entry(number), &[7; 100]).unwrap());
    builder.abandon();
    while counting.running.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    assert_eq!(counting.started.load(Ordering::SeqCst), 1);
}

#[test]
fn the_blocks_in_memory_are_few_and_the_size_is_known_roughly() {
    let mut builder = begin(&MemoryFileSystem::new(), with_threads(Arc::<Never>::default() as _));
    for number in 0..20_000u32 {
        builder.add(&entry(number), &[number as u8; 100]).unwrap();
        let pipeline = builder.pipeline.as_ref().unwrap();
        assert!(pipeline.keys.len() <= 2 * super::BLOCKS_PER_THREAD);
        let queue = pipeline.shared.queue.lock();
        assert!(queue.waiting.len() + queue.packed.len() <= 2 * super::BLOCKS_PER_THREAD);
    }
    let (estimated, written) = (builder.estimated_file_size(), builder.file_size());
    let size = builder.finish().unwrap().file_size;
    assert!(written < estimated && estimated < size * 12 / 10 && estimated > size * 8 / 10, "{estimated} of {size}");
}

#[test]
fn a_thread_that_panics_makes_an_error_of_its_block() {
    let shared = super::Shared::default();
    let claim = super::Claim { shared: &shared, number: 3, packed: None };
    drop(claim);
    let outcome = shared.queue.lock().packed.remove(&3).unwrap();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Aborted);
}

#[test]
fn a_block_that_does_not_decompress_is_an_error_of_the_builder() {
    let mut params = with_threads(Arc::<Never>::default() as _);
    params.options = Arc::new(BlockBasedTableOptions { verify_compression: true, ..BlockBasedTableOptions::default() });
    let mut builder = begin(&MemoryFileSystem::new(), params);
    builder.pipeline.as_mut().unwrap().packer.spoil = Some(|bytes| bytes.truncate(bytes.len() / 2));
    let failed = (0..5000).find_map(|number| builder.add(&entry(number), &[7; 100]).err()).unwrap();
    assert_eq!(failed.kind(), ErrorKind::Corruption, "{failed}");
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::Corruption);
}
