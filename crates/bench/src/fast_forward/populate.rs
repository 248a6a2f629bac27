//! Writing the data sets: the normal write path without log, one full compaction into the last level.
//!
//! ```text
//! DIR/NAME            all rows in the last level
//! DIR/NAME-in-K       row i in table i mod K: the first in the last level, the others in level 0
//! DIR/NAME.json       what it was written with; a run that wants something else refuses it
//! ```

use super::arguments::{Arguments, Switch};
use super::dataset::{DataSet, Kind};
use ferrock::options::{BottommostLevelCompaction, FilterPolicy, PrefixExtractor};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, WriteBatch, WriteOptions};
use ferrock_console::failure::{Failure, Result};
use ferrock_format::compression::CompressionType;
use ferrock_table::options::{IndexType, PartitionFromLevel, PinningTier};
use ferrock_vfs::{default_file_system, read_file, write_file_synced};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const ROWS_PER_BATCH: i64 = 500;
const LAST_LEVEL: usize = 6;
/// Larger than any data set: all rows in one table.
const ONE_FILE_BYTES: u64 = 1 << 50;

/// How the tables are written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Writing {
    pub(crate) block_size: u64,
    pub(crate) metadata_block_size: u64,
    pub(crate) index_restart: i32,
    pub(crate) row_filter: bool,
    pub(crate) partition_cut: bool,
    pub(crate) row_bounds: bool,
    pub(crate) pad_to_sector: u64,
    pub(crate) file_size: u64,
    pub(crate) flush_threshold: u64,
}

impl Writing {
    pub(crate) fn of(arguments: &Arguments) -> Self {
        Self {
            block_size: arguments.block_size,
            metadata_block_size: arguments.metadata_block_size,
            index_restart: arguments.index_restart,
            row_filter: arguments.row_filter == Switch::On,
            partition_cut: arguments.partition_cut == Switch::On,
            row_bounds: arguments.row_bounds == Switch::On,
            pad_to_sector: arguments.pad_to_sector,
            file_size: arguments.file_size,
            flush_threshold: arguments.flush_threshold,
        }
    }

    /// The options of a data set's column family.
    pub(crate) fn family(&self, kind: Kind) -> ColumnFamilyOptions {
        let mut family = read_options_of(kind.prefix_bytes());
        family.write_buffer_size = usize::try_from(self.flush_threshold).unwrap_or(usize::MAX);
        family.max_write_buffer_number = 4;
        family.compression = CompressionType::NoCompression;
        family.disable_auto_compactions = true;
        // Tables are to stay in level 0.
        family.level0_slowdown_writes_trigger = i32::MAX;
        family.level0_stop_writes_trigger = i32::MAX;
        family.soft_pending_compaction_bytes_limit = 0;
        family.hard_pending_compaction_bytes_limit = 0;
        family.target_file_size_base = if self.file_size == 0 { ONE_FILE_BYTES } else { self.file_size };
        family.max_compaction_bytes = ONE_FILE_BYTES;
        let table = &mut family.table;
        table.block_size = self.block_size;
        table.metadata_block_size = self.metadata_block_size;
        table.index_block_restart_interval = self.index_restart;
        table.index_type = IndexType::TwoLevelIndexSearch;
        table.whole_key_filtering = self.row_filter;
        table.partition_cut = self.partition_cut;
        table.row_bounds = self.row_bounds;
        table.pad_to_sector = self.pad_to_sector;
        // A filter of prefixes alone has one of the large partition, but as many as there are small ones.
        table.partition_filters = self.row_filter || !kind.is_large();
        table.partition_from_level = PartitionFromLevel::Level(0);
        family
    }

    fn describe(&self, data: &DataSet, arguments: &Arguments, tables: u32) -> Value {
        json!({
            "dataset": data.kind.name(),
            "rows": data.rows,
            "value_size": arguments.value_size,
            "unique_values": arguments.unique_values,
            "random_seed": arguments.random_seed,
            "tables": tables,
            "block_size": self.block_size,
            "metadata_block_size": self.metadata_block_size,
            "index_restart": self.index_restart,
            "row_filter": self.row_filter,
            "partition_cut": self.partition_cut,
            "row_bounds": self.row_bounds,
            "pad_to_sector": self.pad_to_sector,
            "file_size": self.file_size,
            "flush_threshold": self.flush_threshold,
        })
    }
}

/// The options of a family that reads need; none of them changes the tables.
pub(crate) fn read_options_of(prefix_bytes: usize) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.prefix_extractor = Some(PrefixExtractor::Fixed(prefix_bytes));
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.table.cache_index_and_filter_blocks = true;
    family.table.pin_top_level_index_and_filter = true;
    // A filter of prefixes alone is one small block.
    family.table.metadata_cache_options.unpartitioned_pinning = PinningTier::All;
    family
}

/// Where a data set is.
pub(crate) fn directory_of(root: &Path, kind: Kind, tables: u32) -> PathBuf {
    root.join(if tables == 1 { kind.name().to_owned() } else { format!("{}-in-{tables}", kind.name()) })
}

/// The data set's directory, written if it is not there.
pub(crate) fn provide(
    root: &Path,
    data: &DataSet,
    arguments: &Arguments,
    tables: u32,
    is_new: bool,
    bar: &ProgressBar,
) -> Result<PathBuf> {
    let file_system = default_file_system();
    let directory = directory_of(root, data.kind, tables);
    let note = directory.with_extension("json");
    let writing = Writing::of(arguments);
    let wanted = writing.describe(data, arguments, tables);
    if !is_new && file_system.exists(&note)? {
        let text = read_file(&*file_system, &note)?;
        let found: Value = serde_json::from_slice(&text).unwrap_or(Value::Null);
        if found == wanted {
            return Ok(directory);
        }
        let differs = wanted.as_object().into_iter().flatten().filter(|(name, value)| found.get(name) != Some(value));
        let differs: Vec<String> = differs.map(|(name, value)| format!("{name} is not {value}")).collect();
        let message = "was written with other arguments; give those, or --populate to write it anew";
        return Err(Failure::Usage(format!("{}: {message} ({})", directory.display(), differs.join(", "))));
    }
    if file_system.exists(&note)? {
        file_system.remove_file(&note)?;
    }
    if file_system.exists(&directory)? {
        Db::destroy(&directory, &DbOptions::default())?;
    }
    file_system.create_dir_all(&directory)?;
    write(&directory, data, &writing, tables, bar)?;
    write_file_synced(&*file_system, &note, format!("{wanted:#}\n").as_bytes())?;
    Ok(directory)
}

fn write(directory: &Path, data: &DataSet, writing: &Writing, tables: u32, bar: &ProgressBar) -> Result<()> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let families = vec![("default".to_owned(), writing.family(data.kind))];
    let (db, families) = Db::open_cf(directory, options, families)?;
    bar.reset();
    bar.set_length(data.rows as u64);
    bar.set_message(format!("write {} in {tables}", data.kind.name()));
    for class in 0..tables {
        write_rows(&db, data, i64::from(class), i64::from(tables), bar)?;
        db.flush()?;
        if class == 0 {
            bar.set_message(format!("compact {}", data.kind.name()));
            let options = CompactRangeOptions {
                change_level: true,
                target_level: Some(LAST_LEVEL),
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            for family in &families {
                db.compact_range_cf(family, None, None, &options)?;
            }
        }
    }
    drop(families);
    db.close()?;
    Ok(())
}

fn write_rows(db: &Db, data: &DataSet, class: i64, classes: i64, bar: &ProgressBar) -> Result<()> {
    let mut scratch = Vec::new();
    let mut row = class;
    while row < data.rows {
        let mut batch = WriteBatch::new();
        let end = (row + ROWS_PER_BATCH * classes).min(data.rows);
        while row < end {
            batch.put(&data.key(row), data.value(row, &mut scratch))?;
            row += classes;
            bar.inc(1);
        }
        db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() })?;
    }
    Ok(())
}
