//! What options come to, by formulas that fit on a line: for amounts that are measured or simulated there is
//! `ferrock plan`.
//!
//! ```text
//! data        bytes of live keys and values; each family has an equal share
//! tables      data x compression ratio of the last level + index + filter
//! index       (data / block_size) x (key + 8)
//! filter      entries x bits / 8; Ribbon: seven tenths; optimize_filters_for_hits: without the last level
//! levels      dynamic: the last one, then 1/multiplier of it, ... down to max_bytes_for_level_base
//!             fixed: max_bytes_for_level_base, times multiplier, ...; the last one has the rest
//! written     levels: flush 1, level 0 into the base level 1 + base / level 0 (24 at most), each level below
//!             1 + PART x its ratio to the one above; FIFO: flush 1; times the compression ratio; and 1 for the log
//! ```
//!
//! How often universal families write a byte grows with the data in a way that no formula of a line has: it comes from
//! the simulation, for the first [`SIMULATIONS`] families of different options.

use super::subject::{Family, Subject};
use ferrock::options::{CompactionStyle, CompressionType, FilterPolicy, IndexType, TableFactory};
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_plan::{Entry, Order, Phase, Request};

/// Of the bytes of the next level that a file overlaps, the part that is rewritten with it.
const OVERLAP_PART: f64 = 0.45;
/// Of the base level no more is rewritten for each byte of level 0, which gathers more files while the base level is
/// busy.
const MOST_OF_BASE: f64 = 24.0;
/// Simulations of universal families at most: each takes a second.
const SIMULATIONS: usize = 4;
/// Files that a simulation has at most.
const SIMULATED_FILES: u64 = 1500;
/// Rewrites beside the fewest that so many sorted runs allow, where there is no simulation.
const REWRITES_OF_RUNS: f64 = 1.7;
/// Memory of an open table beside index and filter, about.
const OPEN_TABLE_BYTES: f64 = 1024.0;
/// Memory of what is known of each file, about.
const FILE_METADATA_BYTES: f64 = 512.0;
/// Bytes of a key that stands in an index, beside the key.
const INDEX_ENTRY_BYTES: f64 = 8.0;

/// What is asked beside the options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Bytes of live keys and values of all families together.
    pub(super) data: Option<u64>,
    /// Bytes of memory that the database may take.
    pub(super) memory: Option<u64>,
    /// Bytes of the block cache; `None`: what the options have, or the default.
    pub(super) cache: Option<u64>,
    pub(super) key_size: u64,
    pub(super) value_size: u64,
    pub(super) compression_ratio: f64,
    pub(super) cpus: usize,
}

/// A level, or the queue of level 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) level: usize,
    pub(super) bytes: f64,
    /// Bytes of a file.
    pub(super) file_bytes: f64,
}

impl Level {
    pub(super) fn files(&self) -> f64 {
        (self.bytes / self.file_bytes.max(1.0)).ceil()
    }
}

/// What a family's share of the data comes to.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) data_bytes: f64,
    /// Bytes of tables, also of those that a queue drops.
    pub(super) table_bytes: f64,
    /// Below level 0, but for FIFO; levels with data alone.
    pub(super) levels: Vec<Level>,
    pub(super) index_bytes: f64,
    pub(super) filter_bytes: f64,
    /// Bytes written for each byte put, the log included.
    pub(super) write_amplification: f64,
    /// Bytes of tables for each byte of live data in them, at the most that stays.
    pub(super) space_amplification: f64,
    /// Sorted runs usually, and when writers are stopped; infinite: none stops for them.
    pub(super) runs: (f64, f64),
    /// Data blocks that a lookup looks into: of a key that is there, and of one that is not.
    pub(super) blocks: (f64, f64),
}

impl Tree {
    pub(super) fn files(&self) -> f64 {
        self.levels.iter().map(Level::files).sum()
    }
}

/// A family's part.
#[derive(Clone, Debug)]
pub(super) struct FamilyFigures {
    /// Memtables at most.
    pub(super) memtable_bytes: f64,
    /// A file that a flush writes, at most.
    pub(super) flushed_bytes: f64,
    /// With `--data`.
    pub(super) tree: Option<Tree>,
    /// Index and filter are in the block cache, or with the open tables.
    pub(super) metadata_in_cache: bool,
}

/// Memory at most, by holder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryFigures {
    pub(super) memtables: f64,
    pub(super) cache: f64,
    /// Indexes and filters of open tables, outside of the cache.
    pub(super) metadata: f64,
    pub(super) open_tables: f64,
    pub(super) file_metadata: f64,
    pub(super) jobs: f64,
}

impl MemoryFigures {
    pub(super) fn all(&self) -> f64 {
        self.memtables + self.cache + self.metadata + self.open_tables + self.file_metadata + self.jobs
    }
}

/// All figures.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// In the order of the subject's families.
    pub(super) families: Vec<FamilyFigures>,
    pub(super) memory: MemoryFigures,
    /// Bytes of log after which memtables are flushed.
    pub(super) wal_limit: f64,
    /// Index and filter blocks that want to be in the cache.
    pub(super) cached_metadata: f64,
    /// Tables of all families.
    pub(super) files: f64,
}

impl Figures {
    pub(super) fn of(subject: &Subject, asked: &Asked) -> Self {
        let count = subject.families.len().max(1) as f64;
        let share = asked.data.map(|data| data as f64 / count);
        let mut families: Vec<_> =
            subject.families.iter().map(|family| FamilyFigures::of(&family.used, share, asked)).collect();
        simulate(subject, &mut families, asked);
        let trees = || families.iter().filter_map(|family| Some((family.metadata_in_cache, family.tree.as_ref()?)));
        let files: f64 = trees().map(|(_, tree)| tree.files()).sum();
        let metadata_of = |in_cache: bool| -> f64 {
            let those = trees().filter(|(found, _)| *found == in_cache);
            those.map(|(_, tree)| tree.index_bytes + tree.filter_bytes).sum()
        };
        let open = match subject.db.max_open_files {
            -1 => files,
            most => files.min(f64::from(most.max(0))),
        };
        let open_share = if files > 0.0 { open / files } else { 0.0 };
        let memtables: f64 = families.iter().map(|family| family.memtable_bytes).sum();
        let wal_limit = match subject.db.max_total_wal_size {
            0 => 4.0 * memtables,
            limit => limit as f64,
        };
        let bound = subject.db.db_write_buffer_size as f64;
        let has_budget = subject.db.components.memory_budget.is_some();
        let memory = MemoryFigures {
            // Beside those that are written to there are as many that wait for their flush.
            memtables: if bound > 0.0 { memtables.min(2.0 * bound) } else { memtables },
            cache: cache_bytes(subject, asked),
            metadata: metadata_of(false) * open_share,
            open_tables: open * OPEN_TABLE_BYTES,
            file_metadata: files * FILE_METADATA_BYTES,
            jobs: job_bytes(&subject.db, &subject.families, asked),
        };
        // A budget has all holders within it.
        let memory =
            if has_budget { MemoryFigures { cache: memory.cache, ..MemoryFigures::default() } } else { memory };
        Self { wal_limit, cached_metadata: metadata_of(true), files, memory, families }
    }
}

/// Puts the write amplification of simulations into universal families.
fn simulate(subject: &Subject, families: &mut [FamilyFigures], asked: &Asked) {
    type Known<'a> = (&'a ColumnFamilyOptions, Option<f64>);
    let mut known: Vec<Known<'_>> = Vec::new();
    for (family, figures) in subject.families.iter().zip(families) {
        let Some(tree) = figures.tree.as_mut() else { continue };
        let options = &family.used;
        if options.compaction_style != CompactionStyle::Universal || options.disable_auto_compactions {
            continue;
        }
        let is_same = |other: &ColumnFamilyOptions| {
            (&other.settings, &other.table, &other.filter_policy)
                == (&options.settings, &options.table, &options.filter_policy)
        };
        let found = known.iter().find(|(other, _)| is_same(other)).map(|(_, found)| *found);
        let simulated = match found {
            Some(simulated) => simulated,
            None if known.len() < SIMULATIONS => {
                let simulated = written(&subject.db, options, tree.data_bytes, asked);
                known.push((options, simulated));
                simulated
            }
            None => None,
        };
        if let Some(written) = simulated {
            tree.write_amplification = 1.0 + written;
        }
    }
}

/// Bytes written to tables for each byte put, of random keys that are put twice, by simulation.
fn written(db: &DbOptions, family: &ColumnFamilyOptions, data: f64, asked: &Asked) -> Option<f64> {
    let size = |bytes: u64| usize::try_from(bytes).ok();
    let entry = Entry { key_size: size(asked.key_size)?, value_size: size(asked.value_size)? };
    let keys = (data / entry.bytes().max(1) as f64) as u64;
    let puts = Phase { order: Order::Random, puts: keys };
    let request = Request {
        db: DbOptions { settings: db.settings.clone(), ..DbOptions::default() },
        family: family.clone(),
        phases: vec![puts, puts],
        compression_ratio: asked.compression_ratio,
        most_files: SIMULATED_FILES,
        ..Request::new(keys, entry)
    };
    let plan = request.run(&mut |_| {}).ok()?;
    Some(plan.whole.write_amplification).filter(|written| written.is_finite())
}

/// Every cache once: the database's, and those of families.
fn cache_bytes(subject: &Subject, asked: &Asked) -> f64 {
    if let Some(bytes) = asked.cache {
        return bytes as f64;
    }
    if let Some(budget) = &subject.db.components.memory_budget {
        return budget.bytes() as f64;
    }
    let default = ferrock::options::CacheOptions::default().capacity_bytes as f64;
    let of_db = subject.db.components.block_cache.as_ref().map_or(default, |cache| cache.capacity() as f64);
    let own: f64 = subject
        .families
        .iter()
        .filter_map(|family| family.used.block_cache.as_ref())
        .map(|cache| cache.capacity() as f64)
        .sum();
    let shares = subject.families.iter().any(|family| family.used.block_cache.is_none() && uses_cache(&family.used));
    own + if shares { of_db } else { 0.0 }
}

fn uses_cache(family: &ColumnFamilyOptions) -> bool {
    family.table_factory == TableFactory::BlockBased && !family.table.no_block_cache
}

/// Flushes and compactions at once: buffers of what they write and read, and index and filter of the table that is
/// being written.
fn job_bytes(db: &DbOptions, families: &[Family], asked: &Asked) -> f64 {
    /// Inputs that are read ahead with the whole `compaction_readahead_size`; more share it.
    const INPUTS: f64 = 4.0;
    let jobs = f64::from(jobs(db)) * f64::from(db.max_subcompactions.max(1));
    let buffers = db.writable_file_max_buffer_size as f64 + INPUTS * db.compaction_readahead_size as f64;
    let largest = families.iter().map(|family| {
        let bytes = family.used.target_file_size_base as f64;
        // A bulk load has files as large as they come; what compression saves is left out.
        let (index, filter) = metadata(&family.used, bytes, asked);
        index + filter
    });
    jobs * (buffers + largest.fold(0.0, f64::max))
}

/// Flushes and compactions at once.
pub(super) fn jobs(db: &DbOptions) -> i32 {
    if db.max_background_compactions == -1 && db.max_background_flushes == -1 {
        return db.max_background_jobs;
    }
    db.max_background_compactions.max(1).saturating_add(db.max_background_flushes.max(1))
}

/// Bytes of index and filter of so many bytes of keys and values.
fn metadata(family: &ColumnFamilyOptions, data_bytes: f64, asked: &Asked) -> (f64, f64) {
    let entries = data_bytes / (asked.key_size + asked.value_size).max(1) as f64;
    if let TableFactory::Plain(plain) = &family.table_factory {
        return (0.0, entries * f64::from(plain.bloom_bits_per_key.max(0)) / 8.0);
    }
    let blocks = data_bytes / family.table.block_size.max(1) as f64;
    let index = blocks.min(entries) * (asked.key_size as f64 + INDEX_ENTRY_BYTES);
    (index, entries * filter_bits(family) / 8.0)
}

/// Bits of filter for each key.
pub(super) fn filter_bits(family: &ColumnFamilyOptions) -> f64 {
    match family.filter_policy {
        FilterPolicy::Bloom { millibits_per_key } => f64::from(millibits_per_key) / 1000.0,
        FilterPolicy::Ribbon { millibits_per_key, .. } => 0.7 * f64::from(millibits_per_key) / 1000.0,
        FilterPolicy::None | FilterPolicy::ReadOnly => 0.0,
    }
}

/// Share of tables without a key that the filter lets pass.
fn false_positives(family: &ColumnFamilyOptions) -> f64 {
    match family.filter_policy {
        FilterPolicy::Bloom { millibits_per_key: bits } | FilterPolicy::Ribbon { millibits_per_key: bits, .. }
            if bits > 0 =>
        {
            0.6185_f64.powf(f64::from(bits) / 1000.0)
        }
        _ => 1.0,
    }
}

/// The compression of most of the data.
pub(super) fn last_compression(family: &ColumnFamilyOptions) -> CompressionType {
    let last = usize::try_from(family.num_levels - 1).unwrap_or(0);
    family.compression_for(last, 1, true).0
}

impl FamilyFigures {
    fn of(family: &ColumnFamilyOptions, share: Option<f64>, asked: &Asked) -> Self {
        let ratio = |kind| if kind == CompressionType::NoCompression { 1.0 } else { asked.compression_ratio };
        let flushed = family.write_buffer_size as f64 * f64::from(family.min_write_buffer_number_to_merge.max(1));
        let is_in_cache = family.table.cache_index_and_filter_blocks
            || family.table.index_type == IndexType::TwoLevelIndexSearch && family.table.partition_filters;
        let mut figures = Self {
            memtable_bytes: family.write_buffer_size as f64 * f64::from(family.max_write_buffer_number.max(1)),
            flushed_bytes: flushed * ratio(family.compression_for(0, 1, false).0),
            tree: None,
            metadata_in_cache: is_in_cache && uses_cache(family),
        };
        figures.tree = share.map(|data| tree(family, &figures, data, ratio(last_compression(family)), asked));
        figures
    }
}

fn tree(family: &ColumnFamilyOptions, figures: &FamilyFigures, data: f64, ratio: f64, asked: &Asked) -> Tree {
    let (all_indexes, all_filters) = metadata(family, data, asked);
    let table_bytes = data * ratio + all_indexes + all_filters;
    let is_queue = family.compaction_style == CompactionStyle::Fifo;
    let limit = family.compaction_options_fifo.limit_bytes() as f64;
    let bytes = if is_queue { table_bytes.min(limit) } else { table_bytes };
    let levels = levels(family, figures, bytes);
    let last = levels.last().map_or(1.0, |level| level.bytes / bytes.max(1.0));
    let kept = bytes / table_bytes.max(1.0);
    let filtered = if family.optimize_filters_for_hits && !is_queue { 1.0 - last } else { kept };
    let trigger = |count: i32| f64::from(count.max(1));
    let of_level_0 = trigger(family.level0_file_num_compaction_trigger);
    let stop = trigger(family.level0_stop_writes_trigger);
    let files = levels.iter().map(Level::files).sum();
    let (runs, space_amplification) = match family.compaction_style {
        CompactionStyle::Fifo | CompactionStyle::None => ((files, f64::INFINITY), 1.0),
        _ if family.disable_auto_compactions => ((files, f64::INFINITY), 1.0),
        CompactionStyle::Level => {
            let below = levels.len() as f64;
            ((of_level_0 / 2.0 + below, stop + below), space_of_levels(family, &levels))
        }
        CompactionStyle::Universal => {
            let percent = f64::from(family.compaction_options_universal.max_size_amplification_percent);
            ((of_level_0, stop.max(of_level_0)), 1.0 + percent / 100.0)
        }
    };
    let passes = false_positives(family);
    let passed_at_last = if family.optimize_filters_for_hits { 1.0 } else { passes };
    // Nine of ten keys lie in the last of the levels; in a queue a key lies anywhere.
    let older = (runs.0 - 1.0).max(0.0);
    let before = if runs.1.is_finite() { older } else { older / 2.0 };
    Tree {
        data_bytes: data,
        table_bytes,
        index_bytes: all_indexes * kept,
        filter_bytes: all_filters * filtered,
        write_amplification: 1.0 + ratio * rewrites(family, figures, &levels),
        space_amplification,
        runs,
        blocks: (1.0 + passes * before, passes * older + passed_at_last),
        levels,
    }
}

fn space_of_levels(family: &ColumnFamilyOptions, levels: &[Level]) -> f64 {
    let last = levels.last().map_or(0.0, |level| level.bytes);
    let above: f64 = levels.iter().rev().skip(1).map(|level| level.bytes).sum();
    // With fixed targets the last level may have just begun, and the one above it may hide all of it.
    let hidden = if family.level_compaction_dynamic_level_bytes {
        above / last.max(1.0)
    } else {
        (above / last.max(1.0)).min(1.0)
    };
    1.0 + hidden
}

/// Levels with data, from the top.
fn levels(family: &ColumnFamilyOptions, figures: &FamilyFigures, bytes: f64) -> Vec<Level> {
    let of_target = |level: usize| {
        let steps = i32::try_from(level.saturating_sub(1)).unwrap_or(i32::MAX);
        family.target_file_size_base as f64 * f64::from(family.target_file_size_multiplier.max(1)).powi(steps)
    };
    let last = usize::try_from(family.num_levels - 1).unwrap_or(0);
    let at = |level: usize, bytes: f64| Level { level, bytes, file_bytes: of_target(level).min(bytes.max(1.0)) };
    let in_level_0 = || vec![Level { level: 0, bytes, file_bytes: figures.flushed_bytes.min(bytes).max(1.0) }];
    match family.compaction_style {
        CompactionStyle::Fifo | CompactionStyle::None => in_level_0(),
        _ if family.disable_auto_compactions => in_level_0(),
        CompactionStyle::Universal if last == 0 => vec![Level { level: 0, bytes, file_bytes: bytes.max(1.0) }],
        CompactionStyle::Universal => vec![at(last, bytes)],
        CompactionStyle::Level if family.level_compaction_dynamic_level_bytes => {
            let multiplier = family.max_bytes_for_level_multiplier.max(1.0);
            let base = family.max_bytes_for_level_base as f64;
            let (mut count, mut sum, mut smallest) = (1, 1.0, 1.0);
            while count < last && bytes / sum * smallest > base {
                smallest /= multiplier;
                sum += smallest;
                count += 1;
            }
            let of_last = bytes / sum;
            (0..count).rev().map(|above| at(last - above, of_last / multiplier.powi(above as i32))).collect()
        }
        CompactionStyle::Level => {
            let (mut levels, mut rest) = (Vec::new(), bytes);
            let mut target = family.max_bytes_for_level_base as f64;
            for level in 1..=last {
                let here = if level == last { rest } else { rest.min(target) };
                levels.push(at(level, here));
                rest -= here;
                if rest <= 0.0 {
                    break;
                }
                let additional = family.max_bytes_for_level_multiplier_additional.get(level).copied().unwrap_or(1);
                target *= family.max_bytes_for_level_multiplier.max(1.0) * f64::from(additional.max(1));
            }
            levels
        }
    }
}

/// Times that a byte is written to tables, were none compressed.
fn rewrites(family: &ColumnFamilyOptions, figures: &FamilyFigures, levels: &[Level]) -> f64 {
    let trigger = f64::from(family.level0_file_num_compaction_trigger.max(1));
    match family.compaction_style {
        _ if family.disable_auto_compactions => 1.0,
        CompactionStyle::Fifo | CompactionStyle::None => 1.0,
        CompactionStyle::Universal => {
            let bytes: f64 = levels.iter().map(|level| level.bytes).sum();
            let flushes = (bytes / figures.flushed_bytes.max(1.0)).max(1.0);
            1.0 + REWRITES_OF_RUNS * fewest_rewrites(flushes, trigger - 2.0)
        }
        CompactionStyle::Level => {
            let level_0 = trigger * figures.flushed_bytes.max(1.0);
            let mut sizes: Vec<f64> = levels.iter().map(|level| level.bytes).collect();
            if sizes.len() > 1 {
                // A base level that is smaller takes more before it is compacted.
                sizes[0] = sizes[0].max(family.max_bytes_for_level_base as f64).min(sizes[1]);
            }
            let first = sizes.first().map_or(0.0, |bytes| 1.0 + (bytes / level_0).min(MOST_OF_BASE));
            let below = sizes.windows(2).map(|pair| 1.0 + OVERLAP_PART * pair[1] / pair[0].max(1.0));
            1.0 + first + below.sum::<f64>()
        }
    }
}

/// The fewest rewrites `w` of a byte with which `runs` sorted runs take so many flushes: `(w + runs)` over `runs` of
/// them.
fn fewest_rewrites(flushes: f64, runs: f64) -> f64 {
    let runs = runs.clamp(1.0, 100.0);
    let (mut rewrites, mut taken) = (0.0, 1.0);
    while taken < flushes && rewrites < 1000.0 {
        rewrites += 1.0;
        taken *= (rewrites + runs) / rewrites;
    }
    rewrites
}
