//! Bytes of tables and memtables, measured: small samples are written by the real `TableBuilder` and opened by the real
//! `Table`, a real `MemTable` is filled. What a sample shows is linear in the number of entries, so two samples of
//! different length give the bytes of an entry and those of a table without any.
//!
//! Keys that lie closer together share more of their bytes, and so take fewer: samples are written for densities of
//! 1, 1/16, 1/256, ... as far as they are asked for, and what lies between is interpolated.

use crate::merge::TableSize;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{InternalComparator, Result, SequenceNumber, ValueType};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterKind;
use ferrock_memtable::{MemTable, MemTableOptions};
use ferrock_options::{CacheOptions, ColumnFamilyOptions, FilterPolicy};
use ferrock_table::{Table, TableBlockCache, TableBuilder, TableBuilderParams, TableReaderParams};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// Bytes of keys and values in a sample, about.
const SAMPLE_BYTES: usize = 4 << 20;
/// A memtable sample needs no more: an entry takes what it takes.
const MEMTABLE_SAMPLE_BYTES: usize = 1 << 20;
/// Densities down to 16^-6: from there on little changes.
const DENSITIES: usize = 7;
/// Each is so many times sparser than the one before: a key of neighbours so far apart has half a byte more of its own.
const STEP: u64 = 16;

/// Keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes of a key: a big-endian number of eight bytes, and zeros, as `db_bench` makes them.
    pub key_size: usize,
    /// Bytes of a value.
    pub value_size: usize,
}

impl Entry {
    /// Bytes of both.
    #[must_use]
    pub fn bytes(self) -> u64 {
        (self.key_size + self.value_size) as u64
    }

    fn key(self, number: u64, key: &mut Vec<u8>) {
        let bytes = number.to_be_bytes();
        key.clear();
        key.extend_from_slice(&bytes[8 - self.key_size.min(8)..]);
        key.resize(self.key_size, b'0');
    }
}

/// Bytes of one thing in a table: so many for each table, and so many for each entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linear {
    /// For each table.
    pub fixed: f64,
    /// For each entry.
    pub per_entry: f64,
}

impl Linear {
    fn through(few: (f64, f64), many: (f64, f64)) -> Self {
        let per_entry = ((many.1 - few.1) / (many.0 - few.0)).max(0.0);
        Self { fixed: (few.1 - few.0 * per_entry).max(0.0), per_entry }
    }

    /// Bytes in `tables` that hold `entries` together.
    #[must_use]
    pub fn of(self, tables: f64, entries: f64) -> f64 {
        self.fixed * tables + self.per_entry * entries
    }

    fn between(self, other: Self, part: f64) -> Self {
        let mean = |a: f64, b: f64| a * (1.0 - part) + b * part;
        Self { fixed: mean(self.fixed, other.fixed), per_entry: mean(self.per_entry, other.per_entry) }
    }
}

/// What tables of a density take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TableParts {
    /// The whole file.
    pub file: Linear,
    /// Data blocks, compressed.
    pub data: Linear,
    /// Number of data blocks.
    pub blocks: Linear,
    /// Index with all of its partitions.
    pub index: Linear,
    /// Top level of a partitioned index.
    pub top_level: Linear,
    /// Filter with all of its partitions.
    pub filter: Linear,
    /// What an open table holds in memory beside the block cache.
    pub reader: Linear,
}

/// Bytes of tables of a family.
#[derive(Debug)]
pub struct Sizes {
    entry: Entry,
    family: ColumnFamilyOptions,
    /// Bytes of a compressed data block beside those of a plain one.
    compression_ratio: f64,
    samples: [OnceCell<TableParts>; DENSITIES],
    has_filter: bool,
}

impl Sizes {
    /// Of tables as the options make them; `compression_ratio` is the share of bytes that is left of data blocks.
    ///
    /// # Errors
    /// Those of writing a table: options that do not go together.
    pub fn new(entry: Entry, family: &ColumnFamilyOptions, compression_ratio: f64) -> Result<Self> {
        let sizes = Self {
            entry,
            family: family.clone(),
            compression_ratio,
            samples: std::array::from_fn(|_| OnceCell::new()),
            has_filter: true,
        };
        // The first sample finds out whether tables can be written at all.
        let first = sizes.measure(0)?;
        let _ = sizes.samples[0].set(first);
        Ok(sizes)
    }

    /// Of tables without filters.
    #[must_use]
    pub fn without_filter(&self) -> Self {
        Self {
            entry: self.entry,
            family: self.family.clone(),
            compression_ratio: self.compression_ratio,
            samples: std::array::from_fn(|_| OnceCell::new()),
            has_filter: false,
        }
    }

    /// What tables take in which each key of their range is there with a probability of `density`.
    #[must_use]
    pub fn parts(&self, density: f64) -> TableParts {
        let place = (-density.clamp(1e-12, 1.0).log(STEP as f64)).min((DENSITIES - 1) as f64);
        let index = (place as usize).min(DENSITIES - 2);
        let (denser, sparser, part) = (self.sample(index), self.sample(index + 1), place - index as f64);
        TableParts {
            file: denser.file.between(sparser.file, part),
            data: denser.data.between(sparser.data, part),
            blocks: denser.blocks.between(sparser.blocks, part),
            index: denser.index.between(sparser.index, part),
            top_level: denser.top_level.between(sparser.top_level, part),
            filter: denser.filter.between(sparser.filter, part),
            reader: denser.reader.between(sparser.reader, part),
        }
    }

    /// Bytes of the data that a full compaction would leave of so many keys.
    #[must_use]
    pub fn compacted_bytes(&self, live_keys: f64, density: f64) -> f64 {
        self.parts(density).file.per_entry * live_keys
    }

    fn sample(&self, index: usize) -> TableParts {
        // A density that cannot be measured, though the first one could, takes what the first one takes.
        *self.samples[index].get_or_init(|| self.measure(index).unwrap_or_default())
    }

    /// Two tables of the density 16^-`index`.
    fn measure(&self, index: usize) -> Result<TableParts> {
        let many = (SAMPLE_BYTES / (self.entry.bytes().max(1) as usize)).clamp(64, 200_000);
        let (few, many) = (self.sample_of(index, many / 4)?, self.sample_of(index, many)?);
        let line =
            |figure: fn(&Sample) -> f64| Linear::through((few.entries, figure(&few)), (many.entries, figure(&many)));
        let ratio = self.compression_ratio;
        let (plain, file) = (line(|sample| sample.data), line(|sample| sample.file));
        let data = Linear { fixed: plain.fixed * ratio, per_entry: plain.per_entry * ratio };
        let less = |all: f64, plain: f64| all - plain * (1.0 - ratio);
        Ok(TableParts {
            file: Linear { fixed: less(file.fixed, plain.fixed), per_entry: less(file.per_entry, plain.per_entry) },
            data,
            blocks: line(|sample| sample.blocks),
            index: line(|sample| sample.index),
            top_level: line(|sample| sample.top_level),
            filter: line(|sample| sample.filter),
            reader: line(|sample| sample.reader),
        })
    }

    fn sample_of(&self, index: usize, entries: usize) -> Result<Sample> {
        let file_system = Arc::new(MemoryFileSystem::new());
        let path = Path::new("/sample.sst");
        let file = file_system.create_writable(path, &WritableOptions::default())?;
        let mut builder = TableBuilder::new(&self.family.table_factory, self.params(), file)?;
        let (mut key, value) = (Vec::new(), vec![b'v'; self.entry.value_size]);
        let gap = STEP.pow(index as u32);
        let mut chance = Chance::new(7);
        // In the middle of a large key space: the first bytes are shared, as those of neighbours in a table are.
        let mut number = 1_u64 << 40;
        for _ in 0..entries {
            self.entry.key(number, &mut key);
            builder.add(&make_internal_key(&key, SequenceNumber(1 << 30), ValueType::Value), &value)?;
            number += if gap == 1 { 1 } else { 1 + chance.below(2 * gap - 1) };
        }
        let summary = builder.finish()?;
        let properties = &summary.properties;
        let opened = file_system.open_random_access(path, &RandomAccessOptions::default())?;
        let reader = Table::open(self.reader_params(opened, file_system)?)?;
        Ok(Sample {
            entries: entries as f64,
            file: summary.file_size as f64,
            data: properties.data_size as f64,
            blocks: properties.num_data_blocks as f64,
            index: properties.index_size as f64,
            top_level: properties.top_level_index_size as f64,
            filter: properties.filter_size as f64,
            reader: reader.memory_bytes() as f64,
        })
    }

    fn params(&self) -> TableBuilderParams {
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.options = Arc::new(self.family.table.clone());
        params.compression = CompressionType::NoCompression;
        params.filter_policy = self.family.filter_policy;
        params.build_filter = self.has_filter;
        params.prefix_extractor = self.family.prefix_extractor.clone();
        params.bloom_locality = self.family.bloom_locality;
        params.column_family_name = b"default".to_vec();
        params.db_id = "01234567-89ab-cdef-0123-456789abcdef".to_owned();
        params.db_session_id = "ABCDEFGHIJKLMNOPQRST".to_owned();
        params.file_number = 1000;
        params
    }

    fn reader_params(
        &self,
        file: Arc<dyn ferrock_vfs::RandomAccessFile>,
        file_system: Arc<MemoryFileSystem>,
    ) -> Result<TableReaderParams> {
        let mut params = TableReaderParams::new(file, file_system, InternalComparator::default());
        params.options = Arc::new(self.family.table.clone());
        params.prefix_extractor = self.family.prefix_extractor.clone();
        params.bloom_locality = self.family.bloom_locality;
        params.cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes: 64 << 20, ..CacheOptions::default() }));
        Ok(params)
    }
}

impl TableSize for Sizes {
    fn entry_bytes(&self, density: f64) -> f64 {
        self.parts(density).file.per_entry.max(1.0)
    }

    fn fixed_bytes(&self) -> f64 {
        self.sample(0).file.fixed
    }
}

/// One table.
struct Sample {
    entries: f64,
    file: f64,
    data: f64,
    blocks: f64,
    index: f64,
    top_level: f64,
    filter: f64,
    reader: f64,
}

/// Entries that a memtable takes before it is full.
///
/// # Errors
/// Those of adding an entry: one too large for a memtable.
pub fn memtable_entries(entry: Entry, family: &ColumnFamilyOptions) -> Result<u64> {
    let options = MemTableOptions {
        arena_block_bytes: family.arena_block_size,
        kind: family.memtable_factory.kind(),
        prefix_extractor: family.prefix_extractor.clone(),
        ..MemTableOptions::default()
    };
    let memtable = MemTable::new(options);
    let (mut key, value) = (Vec::new(), vec![b'v'; entry.value_size]);
    let mut chance = Chance::new(11);
    let sample = (MEMTABLE_SAMPLE_BYTES as u64 / entry.bytes().max(1)).clamp(16, 100_000);
    let mut used = 0;
    let mut first = 0;
    for index in 0..sample {
        entry.key(chance.below(1 << 40), &mut key);
        memtable.add(SequenceNumber(index + 1), ValueType::Value, &key, &value)?;
        used = memtable.approximate_memory_bytes();
        if used >= family.write_buffer_size {
            return Ok(index + 1);
        }
        first = if index == 0 { used } else { first };
    }
    let per_entry = (used - first) as f64 / (sample - 1) as f64;
    Ok(((family.write_buffer_size as f64 / per_entry.max(1.0)) as u64).max(1))
}

/// The share of keys that are not there and that a filter of the options takes for being there; 1 without one.
///
/// # Errors
/// Those of building a filter.
pub fn false_positive_rate(family: &ColumnFamilyOptions) -> Result<f64> {
    const KEYS: u64 = 20_000;
    const PROBES: u64 = 400_000;
    let policy: FilterPolicy = family.filter_policy;
    let Some(mut builder) = policy.builder(family.table.format_version, 6) else { return Ok(1.0) };
    (0..KEYS).for_each(|key| builder.add_key(&key.to_be_bytes()));
    let payload = builder.finish()?;
    let kind = FilterKind::parse(&payload);
    let wrong = (KEYS..KEYS + PROBES).filter(|key| kind.may_match(&payload, &key.to_be_bytes())).count();
    Ok(wrong as f64 / PROBES as f64)
}

/// Numbers that look random and are the same each time.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Of a distribution that is almost normal: the sum of twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }
}
