//! What the block cache holds, by role, as RocksDB's properties tell it.
//!
//! The numbers are kept as entries come and go, so they are of this moment: nothing is collected, and the fast form is
//! the same as the other.

use ferrock_base::clock::Clock;
use ferrock_cache::{CacheStats, EntryRole, RoleStats};
use ferrock_table::TableBlockCache;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Roles that RocksDB lists and this engine has no entries of.
const ROLES_OF_NOTHING: [&str; 2] = ["deprecated-filter-block", "blob-cache"];

/// The counts of a cache as the map that RocksDB's `block-cache-entry-stats` is.
pub(crate) fn map(cache: &TableBlockCache, clock: &dyn Clock) -> BTreeMap<String, String> {
    let started_us = clock.monotonic_us();
    let stats = cache.stats();
    let seconds = clock.monotonic_us().saturating_sub(started_us) as f64 / 1e6;
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
    map
}

/// The cache and its entries, in lines.
pub(crate) fn text(cache: &TableBlockCache) -> String {
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
pub(super) fn kilobytes(bytes: u64) -> String {
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
