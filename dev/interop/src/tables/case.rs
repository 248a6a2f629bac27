//! One database of two families, each of a row: Ferrock and RocksDB write it, each in a directory of its own, and each
//! reads what the other wrote. A process of its own.

use super::factors::{self, Row, RowFamily};
use crate::c_engine::CEngine;
use crate::check::{Checker, Reads};
use crate::engine::{Database, Engine, FAMILIES, OpenMode, Outcome, WriteHow};
use crate::ferrock_engine::FerrockEngine;
use crate::history::Writer;
use crate::model::Model;
use crate::properties::{self, Table};
use crate::random::Random;
use crate::settings::{Fixed, Release, Settings, TableKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a process is asked to do.
pub struct Job {
    pub release: Release,
    pub kind: TableKind,
    pub library: PathBuf,
    pub rows: Vec<Row>,
    pub seed: u64,
    pub directory: PathBuf,
}

struct Case {
    job: Job,
    families: Vec<RowFamily>,
    model: Model,
    comparisons: u64,
}

/// Options of Ferrock's own that make it write tables of RocksDB's form.
pub const AS_ROCKSDB: &[(&str, &str)] = &[("partition_from_level", "0")];

/// Ferrock's directory.
pub const OURS: &str = "ferrock";
/// RocksDB's directory.
pub const THEIRS: &str = "rocksdb";

/// Writes, reads, compares.
pub fn play(job: Job) -> Outcome<Value> {
    let mut random = Random::new(job.seed);
    let families: Vec<_> =
        job.rows.iter().map(|row| factors::family(job.kind, job.release, row, &mut random)).collect();
    if families.len() != FAMILIES.len() {
        return Err(format!("{} rows, wanted {}", families.len(), FAMILIES.len()));
    }
    let rocksdb = CEngine::load(&job.library)?;
    let mut fixed = Fixed::plain(
        job.release,
        families.iter().map(|family| family.order).collect(),
        families.iter().map(|family| family.merge).collect(),
        families.iter().map(|family| family.shortest_key).max().unwrap_or(0),
    );
    let lengths = |family: &RowFamily| if is_mapped(job.seed) { family.mapped_lengths } else { family.lengths };
    fixed.lengths = families.iter().map(lengths).collect();
    fixed.has_range_deletions = job.kind != TableKind::Plain;
    let mut case = Case { model: Model::new(&fixed), job, families, comparisons: 0 };
    let (ours, theirs) = (case.job.directory.join(OURS), case.job.directory.join(THEIRS));
    let release = format!("RocksDB {}", case.job.release.name());
    let said = case.write(&FerrockEngine, &ours, &fixed, true).map_err(|error| format!("Ferrock writes: {error}"))?;
    case.read(&rocksdb, &ours, &fixed, false, &said)
        .map_err(|error| format!("{release} reads what Ferrock wrote: {error}"))?;
    let said = case.write(&rocksdb, &theirs, &fixed, false).map_err(|error| format!("{release} writes: {error}"))?;
    case.read(&FerrockEngine, &theirs, &fixed, true, &said)
        .map_err(|error| format!("Ferrock reads what {release} wrote: {error}"))?;
    let directories = (ours, theirs);
    let (ours, theirs) = (properties::tables(&directories.0)?, properties::tables(&directories.1)?);
    let mut differences = case.compare(&ours, &theirs);
    if case.job.kind == TableKind::Plain && differences.is_empty() {
        differences = different_bytes((&directories.0, &ours), (&directories.1, &theirs))?;
    }
    if !differences.is_empty() {
        return Err(format!("properties of tables:\n    {}", differences.join("\n    ")));
    }
    let for_old = ours
        .iter()
        .filter(|table| case.job.kind == TableKind::Block && is_for_old(table))
        .map(|table| table.number)
        .collect::<Vec<_>>();
    let most_partitions = ours.iter().map(|table| table.properties.index_partitions).max();
    let rewritten = ours.len() + theirs.len();
    Ok(
        json!({"tables": rewritten, "comparisons": case.comparisons, "most_partitions": most_partitions, "for_old": for_old}),
    )
}

/// Whether plain tables are mapped.
fn is_mapped(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Whether 7.8.3 reads the table.
fn is_for_old(table: &Table) -> bool {
    let properties = &table.properties;
    properties.format_version <= 5
        && properties.separate_key_value_in_data_block == 0
        && properties.num_uniform_blocks.unwrap_or(0) == 0
}

impl Case {
    /// Three flushes and a compaction, with snapshots that keep versions: a table of level 1 or below, two of level 0.
    fn write(
        &mut self,
        engine: &dyn Engine,
        directory: &Path,
        fixed: &Fixed,
        is_ferrock: bool,
    ) -> Outcome<Vec<String>> {
        let mut settings = Settings {
            db: vec![
                ("create_if_missing".to_owned(), "true".to_owned()),
                ("create_missing_column_families".to_owned(), "true".to_owned()),
            ],
            families: self.families.iter().map(|family| family.settings.clone()).collect(),
        };
        if self.job.kind == TableKind::Plain {
            // Vectors and hashes want one writer at a time.
            settings.db.push(("allow_concurrent_memtable_write".to_owned(), "false".to_owned()));
            settings.db.push(("allow_mmap_reads".to_owned(), is_mapped(self.job.seed).to_string()));
        } else if is_ferrock {
            for (settings, family) in settings.families.iter_mut().zip(&self.families) {
                let as_rocksdb = AS_ROCKSDB.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                settings.table.extend(as_rocksdb.chain(family.own.iter().cloned()));
            }
        }
        let mut db = engine.open(directory, OpenMode::Create, &settings)?;
        let mut random = Random::new(self.job.seed ^ 0xda7a);
        let mut writer = Writer::new(fixed);
        let mut model = Model::new(fixed);
        let mut snapshots = Vec::new();
        for round in 0..3 {
            for part in 0..2 {
                let size = if round == 0 { 500 } else { 130 };
                let batch = writer.batch(size, &mut random);
                db.write(&batch, WriteHow::default())?;
                model.apply(&batch);
                if part == 0 {
                    db.snapshot()?;
                    snapshots.push(model.clone());
                }
            }
            for family in 0..FAMILIES.len() {
                db.flush(family)?;
            }
            if round == 0 {
                for family in 0..FAMILIES.len() {
                    db.compact(family, None, None, true)?;
                }
            }
        }
        let mut checker = self.checker(&*db, fixed, is_ferrock);
        for (number, model) in snapshots.iter().enumerate() {
            checker.snapshot(number, model)?;
        }
        checker.everything(&model)?;
        self.comparisons += checker.comparisons;
        self.model = model;
        let said = aggregated(&*db)?;
        db.close()?;
        Ok(said)
    }

    fn checker<'a>(&self, db: &'a dyn Database, fixed: &Fixed, is_ferrock: bool) -> Checker<'a> {
        let reads = |family: &RowFamily| if is_ferrock { Reads::All } else { family.rocksdb_reads };
        let reads = self.families.iter().map(reads).collect();
        let prefixes = self.families.iter().map(|family| family.prefix).collect();
        let random = Random::new(self.job.seed ^ 0xc4ec);
        Checker { db, random, comparisons: 0, shortest_key: fixed.shortest_key, prefixes, reads }
    }

    /// Compares all; the writer `said` what it thinks of its tables.
    fn read(
        &mut self,
        engine: &dyn Engine,
        directory: &Path,
        fixed: &Fixed,
        is_ferrock: bool,
        said: &[String],
    ) -> Outcome<()> {
        let db = engine.open(directory, OpenMode::ReadOnly, &Settings::default())?;
        let mut checker = self.checker(&*db, fixed, is_ferrock);
        checker.everything(&self.model)?;
        self.comparisons += checker.comparisons;
        // Plain tables have none, and RocksDB says so.
        if is_ferrock || self.job.kind != TableKind::Plain {
            db.verify_checksum().map_err(|error| format!("verify_checksum: {error}"))?;
        }
        let own = aggregated(&*db)?;
        db.close()?;
        for (own, said) in own.iter().zip(said) {
            self.compare_aggregated(own, said)?;
        }
        Ok(())
    }

    /// All that two engines say of the same tables; of what 7.8.3 says, what it knows.
    fn compare_aggregated(&self, own: &str, said: &str) -> Outcome<()> {
        let parts = |text: &str| -> BTreeMap<String, String> {
            let pairs = text.split("; ").filter_map(|part| part.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let (own, said) = (parts(own), parts(said));
        if own.is_empty() || self.job.release == Release::Current && own.len() != said.len() {
            return Err(format!("aggregated-table-properties: {own:?}, wanted {said:?}"));
        }
        for (name, value) in own {
            if said.get(&name).is_some_and(|said| *said != value) {
                return Err(format!("aggregated-table-properties: {name}={value}, wanted {}", said[&name]));
            }
        }
        Ok(())
    }

    fn compare(&self, ours: &[Table], theirs: &[Table]) -> Vec<String> {
        properties::differences(ours, theirs, |table, other, property| {
            let family = FAMILIES.iter().position(|name| *name == table.family);
            let Some(family) = family.and_then(|number| self.families.get(number)) else { return false };
            let is_old = self.job.release == Release::Old;
            // The ends of index partitions follow from the sizes of blocks, and handles from where blocks lie. 7.8.3
            // cannot say that filters do not end there.
            let is_filter = family.is_coupled && matches!(property.name, "filter_size" | "num_filter_entries");
            let is_filter_size = family.has_filter_partitions && property.name == "filter_size";
            (property.is_size || is_filter || is_filter_size || property.name == "num_uniform_blocks") && family.is_compressed
                || is_old && family.is_coupled && (is_filter || property.name.ends_with("index_size"))
                // 7.8.3 counts prefixes otherwise.
                || is_old && family.prefix.is_some() && matches!(property.name, "filter_size" | "num_filter_entries")
                // RocksDB writes partitions of filters that nothing goes into.
                || family.is_coupled && !family.has_filter_keys
                    && matches!(property.name, "filter_size" | "index_size" | "top_level_index_size")
                || !family.own.is_empty() && (property.is_size || follows_own_options(property.name))
                // RocksDB writes 0 into tables with a dictionary.
                || property.name == "num_data_blocks" && family.has_dictionary
                || properties::follows_early_ends(&table.properties, &other.properties, property)
                || is_old && is_newer(property.name)
        })
    }
}

/// Records, filter and index of plain tables are the same, byte by byte. What lies behind them says when and where a
/// table was written.
fn different_bytes(ours: (&Path, &[Table]), theirs: (&Path, &[Table])) -> Outcome<Vec<String>> {
    let bytes = |directory: &Path, table: &Table| -> Outcome<Vec<u8>> {
        let path = directory.join(format!("{:06}.sst", table.number));
        let mut bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let properties = &table.properties;
        bytes.truncate((properties.data_size + properties.filter_size + properties.index_size) as usize);
        Ok(bytes)
    };
    let mut different = Vec::new();
    for (our, their) in ours.1.iter().zip(theirs.1) {
        let (ours, theirs) = (bytes(ours.0, our)?, bytes(theirs.0, their)?);
        if ours != theirs {
            let at = ours.iter().zip(&theirs).take_while(|(our, their)| our == their).count();
            let place = format!("{} level {} table {}", our.family, our.level, our.number);
            different.push(format!("{place}: other bytes from {at} of {} on", ours.len()));
        }
    }
    Ok(different)
}

/// What an engine says about the tables of each family together.
fn aggregated(db: &dyn Database) -> Outcome<Vec<String>> {
    (0..FAMILIES.len()).map(|family| db.property(family, "rocksdb.aggregated-table-properties")).collect()
}

/// What depends on where Ferrock's own options end blocks and partitions, and what they say of it.
fn follows_own_options(name: &str) -> bool {
    matches!(
        name,
        "num_data_blocks"
            | "num_uniform_blocks"
            | "index_key_is_user_key"
            | "filter_size"
            | "num_filter_entries"
            | "user_collected"
    )
}

/// Properties that 7.8.3 does not write, or that say what it does not know.
fn is_newer(name: &str) -> bool {
    matches!(
        name,
        "format_version"
            | "num_uniform_blocks"
            | "data_block_restart_interval"
            | "index_block_restart_interval"
            | "key_smallest_seqno"
            | "key_largest_seqno"
            | "compression_options"
            | "decoupled_partitioned_filters"
            | "tail_start_offset"
            | "plain table's names"
            | "num_data_blocks_compression_rejected"
            | "num_data_blocks_compression_bypassed"
    )
}
