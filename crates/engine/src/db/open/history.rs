//! The family of the history of statistics, in an open.
//!
//! ```text
//! for writing                            opened where it is, with RocksDB's options for it unless a caller names it
//! for writing, persist_stats_to_disk     made where it is not, with the versions of its form
//! for reading, persist_stats_to_disk     opened where it is
//! secondary, follower                    opened where it is named
//! ```
//!
//! A caller that does not name the family has no handle for it. A family of this name that is no history, or one of a
//! newer version, makes an open with `persist_stats_to_disk` fail, and is not touched. RocksDB drops it and begins
//! anew, which was rejected: it may be a program's.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::db::stats_history::family;
use crate::db::{families, search, write};
use crate::options::{ColumnFamilyOptions, ReadOptions, WriteOptions};
use ferrock_base::{Error, Result};
use ferrock_format::compression::CompressionType;
use ferrock_format::stats_history::{self, COLUMN_FAMILY, COMPATIBLE_VERSION_KEY, FORMAT_VERSION_KEY, VERSION};
use ferrock_format::write_batch::WriteBatch;
use std::sync::Arc;

/// The options of the family: RocksDB's, for little data that is hardly ever read.
pub(super) fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = 2 << 20;
    options.target_file_size_base = 2 << 20;
    options.max_bytes_for_level_base = 10 << 20;
    options.soft_pending_compaction_bytes_limit = 256 << 20;
    options.hard_pending_compaction_bytes_limit = 1 << 30;
    options.compression = CompressionType::NoCompression;
    options
}

/// Makes the family of the history where the options ask for one, or looks whether the one that is there can be added
/// to.
///
/// # Errors
/// `Not implemented` of a family of a newer version, `Invalid argument` of one of this name that is no history, and
/// those of a new family and of a write.
pub(super) fn begin(core: &Arc<DbCore>) -> Result<()> {
    if !core.options.load().persist_stats_to_disk {
        return Ok(());
    }
    let data = match family(core) {
        Some(data) => data,
        None => {
            let mut options = family_options();
            options.settle_in(&core.options.load());
            families::create_family(core, COLUMN_FAMILY, options)?
        }
    };
    match (version(core, &data, FORMAT_VERSION_KEY)?, version(core, &data, COMPATIBLE_VERSION_KEY)?) {
        (Some(_), Some(compatible)) if compatible <= VERSION => return Ok(()),
        (Some(newer), Some(_)) => {
            return Err(Error::not_supported(format!(
                "column family {COLUMN_FAMILY} is of version {newer}, this library reads version {VERSION}: drop the \
                 family, or open with persist_stats_to_disk off"
            )));
        }
        _ => {}
    }
    // A crash may have left it without an entry.
    if !is_empty(&data) {
        return Err(Error::invalid_argument(format!(
            "column family {COLUMN_FAMILY} has entries and no versions of a history of statistics: drop the family, or \
             open with persist_stats_to_disk off"
        )));
    }
    let mut batch = WriteBatch::new();
    batch.put_cf(data.id, FORMAT_VERSION_KEY, &stats_history::value(VERSION))?;
    batch.put_cf(data.id, COMPATIBLE_VERSION_KEY, &stats_history::value(VERSION))?;
    write::write(core, batch, &WriteOptions::default())
}

/// A version that the family tells.
fn version(core: &DbCore, data: &ColumnFamilyData, key: &[u8]) -> Result<Option<u64>> {
    let value = search::get(core, data, &ReadOptions::default(), key)?;
    Ok(value.and_then(|value| stats_history::parse_number(&value)))
}

/// True where neither memtables nor tables have an entry.
fn is_empty(data: &ColumnFamilyData) -> bool {
    let pinned = data.super_version.load();
    data.memtable.load().is_empty() && pinned.immutable.is_empty() && pinned.version.num_files() == 0
}
