//! What an open database tells: all numbers as one value, and RocksDB's properties.

use super::Db;
use crate::column_family::ColumnFamily;
use crate::db::{StatsHistory, map_properties, metrics, properties, read_history, stats};
use crate::metrics::Metrics;
use ferrock_base::Result;
use std::collections::BTreeMap;

impl Db {
    /// All numbers of the database, its families and levels as one typed value: for dashboards, and for a program that
    /// looks after itself. It works on a database that is open for reading, takes no lock that writers need for longer
    /// than a look, and its cost grows with the number of tables.
    ///
    /// The crate `ferrock` makes a page of it that Prometheus reads: `ferrock::metrics::prometheus`.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// let metrics = db.metrics();
    /// assert_eq!((metrics.writes.batches, metrics.background.totals.flushes), (1, 1));
    /// let family = metrics.family("default").expect("every database has it");
    /// assert_eq!((family.levels[0].files, family.sorted_runs(), family.write_amplification()), (1, 1, 1.0));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        metrics::metrics(self.core())
    }

    /// The value of a property of the default family; `None` when no property has that name.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("1"));
    /// assert!(db.property("rocksdb.no-such-property").is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn property(&self, name: &str) -> Option<String> {
        properties::property(self.core(), &self.core().default_family().ok()?, name)
    }

    /// The value of a property of a family.
    #[must_use]
    pub fn property_cf(&self, family: &ColumnFamily, name: &str) -> Option<String> {
        properties::property(self.core(), &family.data, name)
    }

    /// The value of a property that is a number.
    #[must_use]
    pub fn int_property(&self, name: &str) -> Option<u64> {
        properties::int_property(self.core(), &self.core().default_family().ok()?, name)
    }

    /// The value of a property of a family that is a number.
    #[must_use]
    pub fn int_property_cf(&self, family: &ColumnFamily, name: &str) -> Option<u64> {
        properties::int_property(self.core(), &family.data, name)
    }

    /// The sum over all families of a property that is a number; `None` when no number has that name, or a family does
    /// not have it.
    ///
    /// As RocksDB's `GetAggregatedIntProperty`: a block cache that several families share counts once, and what is of
    /// the database (`num-snapshots`) is added as often as there are families. A sum that is too large is `u64::MAX`.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let logs = db.create_column_family("logs", ferrock::ColumnFamilyOptions::default())?;
    /// db.put(b"key", b"value")?;
    /// db.put_cf(&logs, b"key", b"value", &ferrock::WriteOptions::default())?;
    /// assert_eq!(db.int_property("rocksdb.estimate-num-keys"), Some(1));
    /// assert_eq!(db.aggregated_int_property("rocksdb.estimate-num-keys"), Some(2));
    /// assert_eq!(db.aggregated_int_property("rocksdb.cfstats"), None, "a text");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn aggregated_int_property(&self, name: &str) -> Option<u64> {
        properties::aggregated_int_property(self.core(), name)
    }

    /// What the properties tell that count begins from zero, for the database and all families: `cfstats` and
    /// `dbstats` with their intervals and uptime, `cf-write-stall-stats`, `db-write-stall-stats`, the histograms of
    /// `cf-file-histogram`, and `background-errors`.
    ///
    /// As RocksDB's `ResetStats`; [`metrics`](Self::metrics) and the `Statistics` of the options go on, as counters of
    /// a page that is scraped must not go back (`Statistics::reset` is for the latter). Works on any open database.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// assert!(db.property("dbstats").is_some_and(|text| text.contains("Cumulative writes: 1 writes")));
    /// db.reset_stats();
    /// assert!(db.property("dbstats").is_some_and(|text| text.contains("Cumulative writes: 0 writes")));
    /// assert_eq!(db.metrics().writes.batches, 1);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn reset_stats(&self) {
        stats::reset(self.core());
    }

    /// By how much each ticker of `Components::statistics` grew, snapshot by snapshot: those that were taken from
    /// `start_seconds` on and before `end_seconds`, in seconds since the beginning of 1970, the oldest first.
    ///
    /// A snapshot is taken every `stats_persist_period_sec` while the database is open for writing and has statistics,
    /// and kept in memory within `stats_history_buffer_size` bytes, or with `persist_stats_to_disk` in the family
    /// `___rocksdb_stats_history___`. The first one tells what came since the open.
    /// Neither [`reset_stats`](Self::reset_stats) nor a reset of the statistics takes anything from it. As RocksDB's
    /// `GetStatsHistory`, whose maps have tickers that did not grow, too.
    ///
    /// # Errors
    /// None of a history in memory. Of one in the family: those of a read, `Corruption` for a value that is no number,
    /// and `Invalid argument` where a secondary or follower was opened without the family.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # use std::sync::Arc;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// options.components.statistics = Some(Arc::new(ferrock::statistics::Statistics::default()));
    /// options.stats_persist_period_sec = 60;
    /// let db = ferrock::Db::open(directory.path(), options)?;
    /// // Hours later, the number of keys that were written in each minute:
    /// for snapshot in db.stats_history(0, u64::MAX)? {
    ///     let snapshot = snapshot?;
    ///     println!("{} {:?}", snapshot.unix_seconds, snapshot.increases.get("rocksdb.number.keys.written"));
    /// }
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn stats_history(&self, start_seconds: u64, end_seconds: u64) -> Result<StatsHistory> {
        read_history::history(self.core(), start_seconds, end_seconds)
    }

    /// The value of a property of the default family that is a map, with RocksDB's keys; `None` when no map has that
    /// name ([`MAP_PROPERTIES`](crate::MAP_PROPERTIES) has all), or a table that it is about cannot be opened.
    ///
    /// Maps count from the open on, or from [`reset_stats`](Self::reset_stats), and begin no interval of the texts.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// let stats = db.map_property("rocksdb.cfstats").expect("a map");
    /// assert_eq!(stats["compaction.L0.NumFiles"], "1.000000");
    /// assert_eq!(db.map_property("rocksdb.dbstats").expect("a map")["db.user_keys_written"], "1");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn map_property(&self, name: &str) -> Option<BTreeMap<String, String>> {
        map_properties::map_property(self.core(), &self.core().default_family().ok()?, name)
    }

    /// The value of a property of a family that is a map.
    #[must_use]
    pub fn map_property_cf(&self, family: &ColumnFamily, name: &str) -> Option<BTreeMap<String, String>> {
        map_properties::map_property(self.core(), &family.data, name)
    }
}
