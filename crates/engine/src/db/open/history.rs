//! The family of the history of statistics, in an open.
//!
//! ```text
//! for writing                            opened where it is, with RocksDB's options for it unless a caller names it
//! for writing, persist_stats_to_disk     made where it is not, with the versions of its form
//! for reading, persist_stats_to_disk     opened where it is
//! secondary, follower                    opened where it is named
//! ```
//!
//! A caller that does not name the family has no handle for it. Into a family of this name that is no history, cannot
//! be read or is of a newer version nothing is written: the LOG says so, and the database is open without a history. To
//! refuse the open was tried: nothing that takes the options of the OPTIONS file could then open the database at all.
//! RocksDB drops the family and begins anew, which was rejected: it may be a program's.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::db::{families, iter_source, search, write};
use crate::options::{ColumnFamilyOptions, ReadOptions, WriteOptions};
use ferrock_base::{Error, ErrorKind, Result};
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
/// to. `named` has its options where the caller names it.
///
/// # Errors
/// Those of a new family and of a write; `Invalid argument` for a new one with another comparator.
pub(super) fn begin(core: &Arc<DbCore>, named: Option<ColumnFamilyOptions>) -> Result<()> {
    if !core.options.load().persist_stats_to_disk {
        return Ok(());
    }
    let data = core.families.load().by_name(COLUMN_FAMILY).cloned();
    let data = match data {
        Some(data) => data,
        None => {
            let mut options = named.unwrap_or_else(family_options);
            if !options.comparator.is_bytewise() {
                return Err(Error::invalid_argument(format!(
                    "column family {COLUMN_FAMILY}: the history of statistics is in the order of bytes; leave its \
                     comparator as it is"
                )));
            }
            options.settle_in(&core.options.load());
            families::create_family(core, COLUMN_FAMILY, options)?
        }
    };
    let unusable = match is_begun(core, &data) {
        Ok(true) => None,
        Ok(false) => match write_versions(core, data.id) {
            // Other databases have the memory; this one does not wait for it at its open.
            Err(error) if error.kind() == ErrorKind::Incomplete => Some(error),
            written => {
                written?;
                None
            }
        },
        Err(error) => Some(error),
    };
    match unusable {
        None => core.metrics.history().set_family(data.id),
        Some(error) => core.events.log().warn(|| format!("persist_stats_to_disk: no statistics are kept: {error}")),
    }
    Ok(())
}

/// Whether the family has the versions of a history. Without them it is one that a crash left empty, or whose rows were
/// deleted.
///
/// # Errors
/// `Not implemented` of a family of a newer version, `Invalid argument` of one that is no history, and those of a read.
fn is_begun(core: &Arc<DbCore>, data: &Arc<ColumnFamilyData>) -> Result<bool> {
    match (version(core, data, FORMAT_VERSION_KEY)?, version(core, data, COMPATIBLE_VERSION_KEY)?) {
        (Some(_), Some(compatible)) if compatible <= VERSION => return Ok(true),
        (Some(newer), Some(_)) => {
            return Err(Error::not_supported(format!(
                "column family {COLUMN_FAMILY} is of version {newer}, this library reads version {VERSION}: drop the \
                 family to begin anew"
            )));
        }
        _ => {}
    }
    let mut iter = iter_source::iter(core, data, &ReadOptions::default());
    iter.seek_to_first();
    iter.status()?;
    let is_of_a_history = |key: &[u8]| {
        stats_history::parse_key(key).is_some() || [FORMAT_VERSION_KEY, COMPATIBLE_VERSION_KEY].contains(&key)
    };
    if iter.valid() && !is_of_a_history(iter.key()) {
        return Err(Error::invalid_argument(format!(
            "column family {COLUMN_FAMILY} is no history of statistics, its first key is {}: drop the family to begin \
             one",
            iter.key().escape_ascii()
        )));
    }
    Ok(false)
}

fn write_versions(core: &DbCore, family: u32) -> Result<()> {
    let mut batch = WriteBatch::new();
    batch.put_cf(family, FORMAT_VERSION_KEY, &stats_history::value(VERSION))?;
    batch.put_cf(family, COMPATIBLE_VERSION_KEY, &stats_history::value(VERSION))?;
    write::write(core, batch, &WriteOptions { no_slowdown: true, ..WriteOptions::default() })
}

/// A version that the family tells.
fn version(core: &DbCore, data: &ColumnFamilyData, key: &[u8]) -> Result<Option<u64>> {
    let value = search::get(core, data, &ReadOptions::default(), key)?;
    Ok(value.and_then(|value| stats_history::parse_number(&value)))
}
