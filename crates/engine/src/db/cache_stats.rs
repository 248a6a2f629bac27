//! What the block cache holds, by role, as RocksDB's properties tell it.
//!
//! The numbers are kept as entries come and go, so they are of this moment: nothing is collected, and the fast form is
//! the same as the other.

use super::{Db, DbCore};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use ferrock_cache::{CacheStats, EntryRole, RoleStats};
use ferrock_table::TableBlockCache;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Names of the properties that are maps.
pub const MAP_PROPERTIES: &[&str] =
    &["block-cache-entry-stats", "fast-block-cache-entry-stats", "cf-write-stall-stats", "db-write-stall-stats"];

/// Roles that RocksDB lists and this engine has no entries of.
const ROLES_OF_NOTHING: [&str; 2] = ["deprecated-filter-block", "blob-cache"];

impl Db {
    /// The value of a property of the default family that is a map; `None` when no map has that name.
    #[must_use]
    pub fn map_property(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.core().map_property(&self.core().default_family().ok()?, name)
    }

    /// The value of a property of a family that is a map.
    #[must_use]
    pub fn map_property_cf(&self, family: &ColumnFamily, name: &str) -> Option<BTreeMap<String, String>> {
        self.core().map_property(&family.data, name)
    }
}

impl DbCore {
    fn map_property(&self, data: &Arc<ColumnFamilyData>, name: &str) -> Option<BTreeMap<String, String>> {
        let name = name.strip_prefix("rocksdb.").unwrap_or(name);
        if !MAP_PROPERTIES.contains(&name) {
            return None;
        }
        if let Some(map) = self.stall_map(data, name) {
            return Some(map);
        }
        let started_us = self.clock.monotonic_us();
        let options = data.options.load();
        let cache = self.block_cache_of(&options);
        let stats = cache.stats();
        let seconds = self.clock.monotonic_us().saturating_sub(started_us) as f64 / 1e6;
        let mut map = BTreeMap::from([
            ("id".to_owned(), id(cache)),
            ("capacity".to_owned(), cache.capacity().to_string()),
            ("secs_for_last_collection".to_owned(), format!("{seconds:.6}")),
            ("secs_since_last_collection".to_owned(), "0".to_owned()),
        ]);
        let mut add = |role: &str, of_role: &RoleStats| {
            map.insert(format!("count.{role}"), of_role.entry_count.to_string());
            map.insert(format!("bytes.{role}"), of_role.usage_bytes.to_string());
            map.insert(format!("percent.{role}"), format!("{:.6}", percent(of_role.usage_bytes, cache.capacity())));
        };
        for role in EntryRole::ALL {
            add(&hyphenated(role.name()), stats.role(role));
        }
        for role in ROLES_OF_NOTHING {
            add(role, &RoleStats::default());
        }
        Some(map)
    }
}

/// The cache and its entries, in lines.
pub(super) fn text(cache: &TableBlockCache) -> String {
    let stats = cache.stats();
    let mut out = format!(
        "Block cache {} capacity: {} usage: {} pinned: {} table: {} occupancy: {} shards: {}\n",
        id(cache),
        kilobytes(cache.capacity() as u64),
        kilobytes(cache.usage() as u64),
        kilobytes(cache.pinned_usage() as u64),
        kilobytes(cache.table_bytes() as u64),
        stats.total().entry_count,
        cache.shard_count(),
    );
    add_line(&mut out, "Block cache entry stats(count,size,portion):", &stats, |of_role| {
        let is_there = of_role.entry_count > 0 || of_role.usage_bytes > 0;
        let portion = significant(percent(of_role.usage_bytes, cache.capacity()));
        is_there.then(|| format!("{},{},{portion}%", of_role.entry_count, kilobytes(of_role.usage_bytes as u64)))
    });
    add_line(&mut out, "Block cache lookups(hits,misses,inserts,rejections,evictions):", &stats, |of_role| {
        let RoleStats { hits, misses, inserts, rejections, evictions, .. } = *of_role;
        let is_used = hits + misses + inserts + rejections + evictions > 0;
        is_used.then(|| format!("{hits},{misses},{inserts},{rejections},{evictions}"))
    });
    out
}

fn add_line(out: &mut String, title: &str, stats: &CacheStats, of_role: impl Fn(&RoleStats) -> Option<String>) {
    out.push_str(title);
    for role in EntryRole::ALL {
        if let Some(numbers) = of_role(stats.role(role)) {
            let _ = write!(out, " {}({numbers})", role.name());
        }
    }
    out.push('\n');
}

/// Tells two caches of one machine apart.
fn id(cache: &TableBlockCache) -> String {
    format!("ClockCache@{:p}#{}", std::ptr::from_ref(cache), std::process::id())
}

fn percent(bytes: usize, capacity: usize) -> f64 {
    if capacity == 0 { 0.0 } else { 100.0 * bytes as f64 / capacity as f64 }
}

/// At most six significant digits.
fn significant(value: f64) -> String {
    let whole_digits = if value >= 1.0 { value.log10() as usize + 1 } else { 0 };
    let text = format!("{value:.*}", 6usize.saturating_sub(whole_digits));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// As RocksDB writes sizes here: in KB at least, where a KB has 1024 bytes.
fn kilobytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// `DataBlock` as `data-block`.
fn hyphenated(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_portions_are_written_as_rocksdb_writes_them() {
        let names: Vec<String> = EntryRole::ALL.iter().map(|role| hyphenated(role.name())).collect();
        assert_eq!(names[0], "data-block");
        assert!(names.contains(&"compression-dictionary-building-buffer".to_owned()));
        assert_eq!(names.last().map(String::as_str), Some("misc"));
        let written: Vec<String> = [0.0, 0.001_049, 12.5, 99.999_99, 100.0].map(significant).into();
        assert_eq!(written, ["0", "0.001049", "12.5", "100", "100"]);
        assert_eq!([90, 8 << 20, 3 << 40].map(kilobytes), ["0.09 KB", "8.00 MB", "3.00 TB"]);
    }
}
