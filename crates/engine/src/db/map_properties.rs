//! Properties that are maps, with RocksDB's keys. All values are texts, numbers with a fraction with six digits of it.
//!
//! | map | keys |
//! |---|---|
//! | `cfstats` | `compaction.L0.NumFiles`, ...: each column of the text, of each of its levels and of `Sum`; stalls |
//! | `dbstats` | `db.user_keys_written`, ...; stalls |
//! | `aggregated-table-properties[-at-levelN]` | `num_entries`, ...: sums over tables |
//! | `cf-write-stall-stats`, `db-write-stall-stats` | `total-stops`, ... |
//! | `block-cache-entry-stats`, `fast-...` | `count.data-block`, ... |
//!
//! A map counts from the open on, or from the last reset, and leaves the intervals of the texts as they are.

use super::{DbCore, metrics, properties};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::metrics::stats_text::{self, LevelRow};
use crate::metrics::{cache, stalls};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names of the properties that are maps (`N` is a level).
pub const MAP_PROPERTIES: &[&str] = &[
    "cfstats",
    "dbstats",
    "cf-write-stall-stats",
    "db-write-stall-stats",
    "aggregated-table-properties",
    "aggregated-table-properties-at-levelN",
    "block-cache-entry-stats",
    "fast-block-cache-entry-stats",
];

/// See [`Db::map_property`](super::Db::map_property).
pub(super) fn map_property(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    name: &str,
) -> Option<BTreeMap<String, String>> {
    let name = name.strip_prefix("rocksdb.").unwrap_or(name);
    let pinned = data.super_version.load();
    if let Some(level) = name.strip_prefix("aggregated-table-properties-at-level") {
        let level = level.parse().ok().filter(|level| *level < pinned.version.num_levels())?;
        return aggregated(data, &pinned, Some(level));
    }
    match name {
        "cfstats" => Some(family_map(data, &pinned)),
        "dbstats" => {
            let mut map = core.metrics.database_map(core.env.clock.monotonic_us());
            map.extend(stalls::database_map(core.metrics.told_memory_stops()));
            Some(map)
        }
        "aggregated-table-properties" => aggregated(data, &pinned, None),
        "block-cache-entry-stats" | "fast-block-cache-entry-stats" => {
            Some(cache::map(core.block_cache_of(&pinned.options), &*core.env.clock))
        }
        _ => properties::stalls(core, data, name),
    }
}

fn family_map(data: &ColumnFamilyData, pinned: &SuperVersion) -> BTreeMap<String, String> {
    let jobs = data.jobs.told();
    let levels = metrics::levels(pinned, &jobs);
    let rows: Vec<LevelRow> = levels.iter().map(LevelRow::from).collect();
    let mut map = stats_text::family_map(&rows, &jobs);
    map.extend(data.stalls.told().map());
    map
}

/// As in RocksDB there is none where a table cannot be opened.
fn aggregated(
    data: &ColumnFamilyData,
    pinned: &SuperVersion,
    level: Option<usize>,
) -> Option<BTreeMap<String, String>> {
    let total = properties::aggregated_properties(data, pinned, level).ok()?;
    Some(total.aggregated_values().into_iter().map(|(name, sum)| (name.to_owned(), sum.to_string())).collect())
}
