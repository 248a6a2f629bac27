use super::super::{BlockTableBuilder, Stage, TableBuilderParams, TableSummary};
use super::{CutBlock, FIRST_SHARED_BLOCK, Pipeline};
use crate::options::{BlockBasedTableOptions, IndexType};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::random::Random;
use ferrock_base::table_properties_collector::{
    CollectedEntry, CollectorContext, TablePropertiesCollector, TablePropertiesCollectorFactory,
    UserCollectedProperties,
};
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use ferrock_base::{ErrorKind, InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger, WritableOptions,
    read_file,
};
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
        let length = if numbers.below(500) == 0 { 100_000 } else { numbers.below(80) as usize };
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
    params.prefix_extractor = [None, Some(PrefixExtractor::Fixed(5))][numbers.below(2) as usize].clone();
    let indexes = [
        if params.prefix_extractor.is_some() { IndexType::HashSearch } else { IndexType::BinarySearch },
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
        whole_key_filtering: numbers.below(4) > 0,
        block_restart_interval: if index_type == IndexType::HashSearch { 1 } else { 16 },
        super_block_alignment_size: [0, 0, 16 << 10][numbers.below(3) as usize],
        avoid_straddle: [0, 0, 4096][numbers.below(3) as usize],
        row_bounds: index_type == IndexType::TwoLevelIndexSearch && numbers.below(2) == 0,
        ..BlockBasedTableOptions::default()
    });
    if numbers.below(3) > 0 {
        let policies = [FilterPolicy::bloom(10.0), FilterPolicy::ribbon(10.0, -1)];
        params.filter_policy = policies[numbers.below(2) as usize];
    }
    params.sample_for_compression = [0, 1, 5][numbers.below(3) as usize];
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

/// What a spawner does with the helpers, and when there is an idle processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helpers {
    Run,
    NeverRun,
    AreLent,
    AreLentAndNeverRun,
    AreNotLent,
}

impl Helpers {
    const ALL: [Self; 5] = [Self::Run, Self::NeverRun, Self::AreLent, Self::AreLentAndNeverRun, Self::AreNotLent];

    /// The same table by so many threads, or by one and what is lent; and the threads that it starts.
    fn join(self, params: &mut TableBuilderParams, threads: u32) -> Arc<Counting> {
        let counting = Arc::new(Counting::default());
        let runs = matches!(self, Self::Run | Self::AreLent | Self::AreNotLent);
        params.spawner = Some(if runs { Arc::clone(&counting) as _ } else { Arc::<Never>::default() as _ });
        params.idle_cpus = if self == Self::AreNotLent { || 0 } else { || 1 };
        params.compression_options.parallel_threads =
            if matches!(self, Self::Run | Self::NeverRun) { threads } else { 1 };
        counting
    }
}

#[test]
fn the_bytes_are_those_of_one_thread() {
    for seed in 0..40 {
        let mut numbers = Random::new(seed);
        let with_dictionary = seed % 2 == 1;
        let params = if with_dictionary { drawn_with_dictionary(&mut numbers) } else { drawn(&mut numbers) };
        let entries = if with_dictionary { 300 } else { [0, 1, 30, 2000][numbers.below(4) as usize] };
        let (wanted, alone) = table(params.clone(), seed, entries);
        for (threads, helpers) in [2, 3].into_iter().flat_map(|threads| Helpers::ALL.map(|helpers| (threads, helpers)))
        {
            let mut params = params.clone();
            let counting = helpers.join(&mut params, threads);
            let what = format!("seed {seed}, {threads} threads, {helpers:?}, {params:?}");
            let compresses = params.compression != CompressionType::NoCompression;
            let (found, summary) = table(params, seed, entries);
            assert!(found == wanted, "{what}");
            assert_eq!(summary.num_verified_blocks, alone.num_verified_blocks, "{what}");
            let started = counting.started.load(Ordering::SeqCst);
            match helpers {
                Helpers::Run if compresses && entries > 0 => assert_eq!(started, threads as usize - 1, "{what}"),
                Helpers::AreLent if compresses => {
                    let blocks = summary.properties.num_data_blocks;
                    let has_dictionary = !summary.properties.compression_options.contains("max_dict_bytes=0;");
                    assert!((started > 0) == (blocks > FIRST_SHARED_BLOCK) || has_dictionary, "{what}");
                }
                _ => assert_eq!(started, 0, "{what}"),
            }
            while counting.running.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
        }
    }
}

/// By which an output ends: with helpers the same as without, and never above what is known while they work.
#[test]
fn the_sizes_are_those_of_one_thread() {
    for seed in 0..20 {
        let mut numbers = Random::new(1000 + seed);
        let with_dictionary = seed % 4 == 1;
        let params = if with_dictionary { drawn_with_dictionary(&mut numbers) } else { drawn(&mut numbers) };
        let asked_for = |number: u32| (number * 7 + seed as u32).is_multiple_of(50);
        let sizes = |params: TableBuilderParams| {
            let mut builder = begin(&MemoryFileSystem::new(), params);
            let mut sizes = Vec::new();
            let mut numbers = Random::new(seed);
            for number in 0..2000u32 {
                let length = if numbers.below(300) == 0 { 300_000 } else { numbers.below(120) };
                let value = vec![number as u8; length as usize];
                builder.add(&entry(number), &value).unwrap();
                let most = builder.size_at_most();
                // Not asked for each time, so that blocks are on their way.
                if asked_for(number) {
                    let exact = builder.size();
                    assert!(most.bytes >= exact.bytes && most.most_bytes >= exact.most_bytes, "{most:?} {exact:?}");
                    assert_eq!(builder.size_at_most(), exact);
                    sizes.push(exact);
                }
            }
            sizes
        };
        let wanted = sizes(params.clone());
        for helpers in Helpers::ALL {
            let mut params = params.clone();
            let _counting = helpers.join(&mut params, 2 + seed as u32 % 3);
            assert_eq!(sizes(params.clone()), wanted, "seed {seed}, {helpers:?}, {params:?}");
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
    assert_eq!(counting.started.load(Ordering::SeqCst), 1);
    builder.abandon();
    while counting.running.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    assert_eq!(counting.started.load(Ordering::SeqCst), 1);
}

fn pipeline(builder: &mut BlockTableBuilder) -> &mut Pipeline {
    match &mut builder.stage {
        Stage::Shared(pipeline) => pipeline,
        other => panic!("{other:?}"),
    }
}

/// A table that is given up while a helper writes: the file is its caller's, who deletes it.
#[test]
fn no_thread_touches_a_file_that_was_given_up() {
    let mut was_writing = 0;
    for seed in 0..50 {
        let faults = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let file = faults.create_writable(Path::new("/000007.sst"), &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(with_threads(Arc::<Counting>::default() as _), file).unwrap();
        (0..3000).for_each(|number| builder.add(&entry(number), &[7; 100]).unwrap());
        let delay = Fault::Delay(std::time::Duration::from_millis(1));
        faults.add_rule(FaultRule::new(OperationKind::Append, "*", delay));
        (3000..4000 + seed * 10).for_each(|number| builder.add(&entry(number), &[7; 100]).unwrap());
        let shared = Arc::clone(&pipeline(&mut builder).shared);
        was_writing += u32::from(shared.queue.lock().is_writing);
        builder.abandon();
        let queue = shared.queue.lock();
        assert!(!queue.is_writing && queue.sink.is_none());
    }
    assert!(was_writing > 0);
}

#[test]
fn the_blocks_in_memory_are_few() {
    let mut builder = begin(&MemoryFileSystem::new(), with_threads(Arc::<Never>::default() as _));
    let mut most = 0;
    for number in 0..20_100u32 {
        let large = [200_000, 2_000_000][number as usize / 500 % 2];
        builder.add(&entry(number), &vec![number as u8; if number % 500 == 499 { large } else { 100 }]).unwrap();
        let queue = pipeline(&mut builder).shared.queue.lock();
        assert!(queue.waiting.len() + queue.packed.len() + queue.spare.len() <= 2 * super::BLOCKS_PER_THREAD);
        // A single block may be larger.
        let others = queue.waiting.iter().map(|(_, block)| block).chain(queue.packed.values()).chain(&queue.spare);
        let bytes: usize = others.map(CutBlock::capacity).sum();
        assert!(bytes < 3_000_000 + 2 * super::BYTES_PER_THREAD, "{bytes}");
        most = most.max(queue.waiting.len());
    }
    assert!(most > super::BLOCKS_PER_THREAD, "{most}");
    assert!(builder.file_size() < builder.size_at_most().bytes);
    let estimated = builder.size().bytes;
    let size = builder.finish().unwrap().file_size;
    assert!(estimated < size * 12 / 10 && estimated > size * 8 / 10, "{estimated} of {size}");
}

#[test]
fn a_lent_helper_that_is_slow_is_sent_away() {
    let mut params = with_threads(Arc::<Never>::default() as _);
    params.compression_options.parallel_threads = 1;
    params.idle_cpus = || 1;
    let mut packer = super::Packer::new(&params, None).unwrap().unwrap();
    let mut builder = begin(&MemoryFileSystem::new(), params);
    let add = |builder: &mut BlockTableBuilder| {
        let number = builder.num_entries() as u32;
        builder.add(&entry(number), &[1; 100]).unwrap();
    };
    while matches!(builder.stage, Stage::Alone(_)) {
        add(&mut builder);
    }
    let shared = Arc::clone(&pipeline(&mut builder).shared);
    std::thread::scope(|scope| {
        // Takes a block and has it until it is sent away.
        scope.spawn(|| {
            let (number, block) = loop {
                if let Some(first) = shared.queue.lock().waiting.pop_front() {
                    break first;
                }
                std::thread::yield_now();
            };
            while !shared.queue.lock().are_helpers_dismissed {
                std::thread::yield_now();
            }
            shared.pack(number, block, &mut packer);
        });
        while matches!(builder.stage, Stage::Shared(_)) {
            add(&mut builder);
        }
    });
    (0..20_000).for_each(|_| add(&mut builder));
    assert!(matches!(builder.stage, Stage::Shared(_)), "another one was lent");
    builder.finish().unwrap();
}

#[test]
fn a_thread_that_panics_makes_an_error_of_the_table() {
    let mut builder = begin(&MemoryFileSystem::new(), with_threads(Arc::<Never>::default() as _));
    builder.add(&entry(0), &[7; 100]).unwrap();
    drop(super::Claim { shared: &pipeline(&mut builder).shared, is_writing: false, is_done: false });
    let failed = (1..5000).find_map(|number| builder.add(&entry(number), &[7; 100]).err()).unwrap();
    assert_eq!(failed.kind(), ErrorKind::Aborted, "{failed}");
    assert_eq!(builder.size(), builder.size_at_most());
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::Aborted);
}

#[test]
fn a_block_that_does_not_decompress_is_an_error_of_the_builder() {
    let mut params = with_threads(Arc::<Never>::default() as _);
    params.options = Arc::new(BlockBasedTableOptions { verify_compression: true, ..BlockBasedTableOptions::default() });
    let mut builder = begin(&MemoryFileSystem::new(), params);
    builder.add(&entry(0), &[7; 100]).unwrap();
    pipeline(&mut builder).packer.spoil = Some(|bytes| bytes.truncate(bytes.len() / 2));
    let failed = (1..5000).find_map(|number| builder.add(&entry(number), &[7; 100]).err()).unwrap();
    assert_eq!(failed.kind(), ErrorKind::Corruption, "{failed}");
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::Corruption);
}

/// A helper panics while it writes, which closes the file before the table is given up.
#[test]
fn a_panic_while_a_helper_writes_is_an_error_of_the_table() {
    let memory = MemoryFileSystem::new();
    let builders = std::thread::current().id();
    memory.set_operation_hook(Some(Arc::new(move |_, operation: &str| {
        let is_helper = std::thread::current().id() != builders;
        assert!(!(is_helper && operation.contains("append")), "a panic for the test");
    })));
    let mut builder = begin(&memory, with_threads(Arc::<Counting>::default() as _));
    let failed = (0..).find_map(|number| builder.add(&entry(number), &[7; 100]).err()).unwrap();
    assert_eq!(failed.kind(), ErrorKind::Aborted, "{failed}");
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::Aborted);
}

/// Collects nothing.
struct Watching;

impl TablePropertiesCollectorFactory for Watching {
    fn name(&self) -> &str {
        "test.Watching"
    }
    fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::new(Self))
    }
}

impl TablePropertiesCollector for Watching {
    fn add(&mut self, _entry: &CollectedEntry<'_>) -> Result<()> {
        Ok(())
    }
    fn finish(&mut self, _properties: &mut UserCollectedProperties) -> Result<()> {
        Ok(())
    }
}

#[test]
fn with_collectors_one_thread_writes() {
    for threads in [1, 3] {
        let counting = Arc::new(Counting::default());
        let mut params = with_threads(Arc::clone(&counting) as _);
        params.compression_options.parallel_threads = threads;
        params.idle_cpus = || 1;
        params.collectors.factories.push(Arc::new(Watching));
        let (column_family_id, level_at_creation, num_levels, last_level_through) = (0, 0, 7, None);
        let context = CollectorContext { column_family_id, level_at_creation, num_levels, last_level_through };
        params.collectors.context = Some(context);
        let mut builder = begin(&MemoryFileSystem::new(), params);
        for number in 0..10_000 {
            builder.add(&entry(number), &[7; 100]).unwrap();
        }
        builder.finish().unwrap();
        assert_eq!(counting.started.load(Ordering::SeqCst), 0);
    }
}

/// The disk fails under a helper or under the builder: the table has the error, whichever thread came upon it.
#[test]
fn an_error_of_the_file_is_one_of_the_builder() {
    for threads in [2, 3] {
        for at in [1, 7, 40, 200] {
            let faults = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
            let rule = FaultRule::new(OperationKind::Append, "*", Fault::NoSpace);
            faults.add_rule(FaultRule { trigger: Trigger::Nth(at), ..rule });
            let mut params = with_threads(Arc::<Counting>::default() as _);
            params.compression_options.parallel_threads = threads;
            let file = faults.create_writable(Path::new("/000007.sst"), &WritableOptions::default()).unwrap();
            let mut builder = BlockTableBuilder::new(params, file).unwrap();
            let added = (0..20_000).find_map(|number| {
                let value: Vec<u8> = (0..100u32).map(|byte| (byte * number % 251) as u8).collect();
                builder.add(&entry(number), &value).err()
            });
            let failed = added.or_else(|| builder.finish().err()).unwrap();
            assert_eq!(failed.kind(), ErrorKind::NoSpace, "{threads} threads, append {at}: {failed}");
        }
    }
}
