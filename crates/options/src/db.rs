//! Options of a whole database: RocksDB's names and defaults.

use super::components::Components;
use super::daily_offpeak::DailyOffpeak;
use super::db_path::DbPath;
use super::passthrough::Passthrough;
use ferrock_base::Temperature;
use ferrock_base::option_enum;
use ferrock_base::option_table;
use ferrock_base::option_table::Violation;
use ferrock_format::compression::CompressionType;
use ferrock_format::log::WalRecoveryMode;
use ferrock_vfs::MmapReads;
use std::ops::{Deref, DerefMut};

option_enum! {
    /// How much goes into the LOG.
    pub enum InfoLogLevel {
        /// Everything.
        Debug = "DEBUG_LEVEL",
        /// What happens: opens, flushes, compactions.
        Info = "INFO_LEVEL",
        /// What a reader should look at.
        Warn = "WARN_LEVEL",
        /// What went wrong.
        Error = "ERROR_LEVEL",
        /// What stopped the database.
        Fatal = "FATAL_LEVEL",
        /// The header of a file alone.
        Header = "HEADER_LEVEL",
    }
}

/// Table files kept open when the bound that was set means nothing; RocksDB keeps at least so many.
const LEAST_BOUND_OF_OPEN_FILES: i32 = 20;

option_table! {
    /// Settings of a whole database.
    pub struct DbSettings {
        /// Create the database when the directory has none.
        fixed create_if_missing: bool = false;
        /// Fail when the directory already has a database.
        fixed error_if_exists: bool = false;
        /// Create the column families named at open that do not exist.
        fixed create_missing_column_families: bool = false;
        /// Refuse to go on after the first sign of damage: in recovery, and in background work.
        fixed paranoid_checks: bool = true;
        /// Table files kept open; -1 keeps all. A small number bounds descriptors and memory and opens tables on
        /// demand. A bound that is set while the database is open is that of tables opened from then on: those that
        /// are kept open stay so for as long as they are in the tree.
        mutable max_open_files: i32 = -1, -1..=i32::MAX => LEAST_BOUND_OF_OPEN_FILES;
        /// Threads that open tables when the database opens.
        fixed max_file_opening_threads: i32 = 16, 1..=1024;
        /// Opening the database does not wait for its tables to be opened: threads do it behind it, and a table that
        /// cannot be opened is a background error. Needs `skip_stats_update_on_db_open`; not for FIFO compaction.
        fixed open_files_async: bool = false;
        /// Flushes and compactions at once; a quarter of them (at least one) flush.
        mutable max_background_jobs: i32 = 2, 1..=1024;
        /// Compactions at once. When it or `max_background_flushes` is not -1, these two count, each as 1 at least, and
        /// `max_background_jobs` does not.
        mutable max_background_compactions: i32 = -1, -1..=1024;
        /// Flushes at once: see `max_background_compactions`.
        mutable max_background_flushes: i32 = -1, -1..=1024;
        /// Threads that one compaction out of level 0, or one that a caller asked for, may use; 0 as 1.
        mutable max_subcompactions: u32 = 1, 0..=1024;
        /// Bytes of log over all column families after which the families that hold back the oldest log are flushed.
        /// 0: four times what all write buffers may hold.
        mutable max_total_wal_size: u64 = 0;
        /// Directory of the log; empty: that of the database. It is created when it is missing. An open that would
        /// leave logs unread in the place that the OPTIONS file names is refused.
        fixed wal_dir: String = String::new();
        /// Seconds that a log stays in `archive/` below the directory of the logs when nothing needs it any more, for
        /// [`updates_since`](crate::Db::updates_since); 0: it is removed at once, unless `wal_size_limit_mb` keeps it.
        /// Either of the two keeps logs. With both, the age counts first and then the size.
        fixed wal_ttl_seconds as "WAL_ttl_seconds": u64 = 0;
        /// MiB of logs that stay in `archive/`, of which the oldest go first; 0: no bound of the size where
        /// `wal_ttl_seconds` keeps logs, and else no log is kept.
        fixed wal_size_limit_mb as "WAL_size_limit_MB": u64 = 0;
        /// What damage in the log is accepted at open.
        fixed wal_recovery_mode: WalRecoveryMode = WalRecoveryMode::PointInTimeRecovery;
        /// Open the newest state of each family whose tables and blob files are all there, without what logs hold, and
        /// whatever CURRENT says: for a directory that was copied in part, or has lost files. What is found is in the
        /// LOG; the logs go to `lost/` below the directory of the database, and tables that no state has are removed.
        /// It is for one open: OPTIONS files are written without it, and `Db::open_with_latest_options` does not take
        /// it from those of RocksDB. Opens that only read refuse it.
        fixed best_efforts_recovery: bool = false;
        /// The log stays in the process until `flush_wal`; a process that dies loses it.
        fixed manual_wal_flush: bool = false;
        /// Compression of the records of logs: `Zstd`, which makes a frame of each write group, or none. Every other
        /// one counts as none, with a note.
        /// Logs are read whatever this says; a change is that of logs begun after the next open.
        fixed wal_compression: CompressionType = CompressionType::NoCompression;
        /// The MANIFEST lists the logs that are still needed, were written to their end and synced, with their sizes.
        /// An open refuses a database in which one of them is missing or shorter.
        fixed track_and_verify_wals_in_manifest: bool = false;
        /// Reserve space for the log ahead of writing; off also turns off appending through a mapping.
        fixed allow_fallocate: bool = true;
        /// The temperature that logs are created with, a hint to the file system.
        fixed wal_write_temperature: Temperature = Temperature::Unknown;
        /// That of the MANIFEST, CURRENT, IDENTITY and OPTIONS files.
        fixed metadata_write_temperature: Temperature = Temperature::Unknown;
        /// Bytes of MANIFEST after which a new one is begun.
        mutable max_manifest_file_size: u64 = 1 << 30, 1..=u64::MAX;
        /// A MANIFEST may also grow to this many percent more than the compact one it began as.
        mutable max_manifest_space_amp_pct: i32 = 500, 0..=i32::MAX;
        /// Read the MANIFEST back when the database is closed, and write a new one where it is damaged.
        mutable verify_manifest_content_on_close: bool = false;
        /// Bytes of space that a MANIFEST reserves ahead of its end, with `allow_fallocate`; 0 for none. What is not
        /// written is given back when the file is closed.
        mutable manifest_preallocation_size: usize = 4 << 20;
        /// Write the database's id into the MANIFEST.
        fixed write_dbid_to_manifest: bool = true;
        /// Write the database's id into the file IDENTITY.
        fixed write_identity_file: bool = true;
        /// Compare every table's id with the one in the MANIFEST when it is opened.
        fixed verify_sst_unique_id_in_manifest: bool = true;
        /// Do not flush what the log held when the database is opened; keep the log.
        fixed avoid_flush_during_recovery: bool = false;
        /// Families are flushed together, all that hold anything, and become durable in one step: what was written
        /// without a log is after a crash at one point of the history in all families. Any flush is one of all.
        fixed atomic_flush: bool = false;
        /// Do not flush at close what was written without log.
        mutable avoid_flush_during_shutdown: bool = false;
        /// Read tables past the system's page cache.
        fixed use_direct_reads: bool = false;
        /// Flush and compact past the system's page cache.
        fixed use_direct_io_for_flush_and_compaction: bool = false;
        /// Have compactions read their inputs past the system's page cache, through files of their own. It is for
        /// databases whose other reads go through it.
        fixed use_direct_io_for_compaction_reads: bool = false;
        /// Read tables through memory maps. Unsafe where files may be cut or changed: see [`MmapReads`].
        fixed allow_mmap_reads: MmapReads = MmapReads::OFF;
        /// Tell the system that table reads are random.
        fixed advise_random_on_open: bool = true;
        /// Attempts to accept writes again, without a call, after an error whose cause may pass, such as a full disk;
        /// 0 or less: none. `Db::resume` is not bounded by it.
        fixed max_bgerror_resume_count: i32 = i32::MAX;
        /// Microseconds between two such attempts.
        fixed bgerror_resume_retry_interval: u64 = 1_000_000;
        /// Bytes a second that writers get while compaction is behind. 0: 16 MiB.
        mutable delayed_write_rate: u64 = 16 << 20;
        /// Start writing the bytes of tables and blob files back every so many bytes; 0: every MiB of tables.
        mutable bytes_per_sync: u64 = 0;
        /// The same for the log. While the database is open a change begins a new log.
        mutable wal_bytes_per_sync: u64 = 0;
        /// With either of the two, or the MiB of tables: an append that starts writing back waits until what was
        /// started before is on the device, so that no more than about twice as many bytes of a file are on their way
        /// to it. For the log it begins with a new log.
        mutable strict_bytes_per_sync: bool = false;
        /// Bytes that a compaction reads ahead of each of its inputs; less where there are more than four at the same
        /// time.
        mutable compaction_readahead_size: usize = 2 << 20;
        /// Bytes buffered in the process before a table being written goes to the system.
        mutable writable_file_max_buffer_size: u64 = 1 << 20, 4096..=(1 << 32);
        /// Every family of universal compaction is opened with `cf_allow_ingest_behind`; RocksDB's older option.
        fixed allow_ingest_behind: bool = false;
        /// Members of a write group insert into the memtable in parallel.
        fixed allow_concurrent_memtable_write: bool = true;
        /// Bytes that a write group may hold.
        fixed max_write_batch_group_size_bytes: u64 = 1 << 20, 1..=u64::MAX;
        /// Bytes of all memtables together after which the largest is flushed; 0: no bound.
        fixed db_write_buffer_size: u64 = 0;
        /// Least important messages that still go into the LOG.
        fixed info_log_level: InfoLogLevel = InfoLogLevel::Info;
        /// LOG files kept, the current one included.
        fixed keep_log_file_num: usize = 1000, 1..=usize::MAX;
        /// Bytes of LOG after which a new one is begun. 0: 64 MiB, for an unbounded log fills disks.
        fixed max_log_file_size: u64 = 0;
        /// Hours of each day, in UTC, in which files are compacted that `periodic_compaction_seconds` makes due before
        /// these hours come again; empty: none.
        mutable daily_offpeak_time_utc: DailyOffpeak = DailyOffpeak::default();
        /// Seconds between two dumps of statistics into the LOG; 0: none.
        mutable stats_dump_period_sec: u32 = 600;
        /// Seconds between two snapshots of `Components::statistics` for [`stats_history`](crate::Db::stats_history);
        /// 0: none.
        mutable stats_persist_period_sec: u32 = 600;
        /// Bytes of the snapshots that are kept in memory, of which the oldest go first; 0: none is kept.
        mutable stats_history_buffer_size: usize = 1 << 20;
        /// Snapshots go into the column family `___rocksdb_stats_history___`, which the open makes, instead of memory.
        /// Nothing bounds it: delete from it what is no longer wanted.
        fixed persist_stats_to_disk: bool = false;
        /// Most seconds between two looks for compactions that are due by age (`ttl`, `periodic_compaction_seconds`,
        /// `bottommost_file_compaction_delay`, ages of temperatures) while nothing else changes the tree; 0 counts as
        /// 1. Where a family has an age of less than five times as long, the looks are a fifth of it apart. At the
        /// default there are none where all ages are 30 days, the default of `ttl`, or more.
        mutable max_compaction_trigger_wakeup_seconds: u64 = 43200;
        /// Milliseconds between two catch-ups of a follower (`Db::open_as_follower`) by its own thread; 0 counts as 1.
        fixed follower_refresh_catchup_period_ms: u64 = 10_000;
        /// How often such a catch-up is tried until one succeeds; 0: never, and only `Db::try_catch_up_with_primary`
        /// catches up.
        fixed follower_catchup_retry_count: u64 = 10;
        /// Milliseconds between two of these attempts.
        fixed follower_catchup_retry_wait_ms: u64 = 100;
    }
}

/// Options of a whole database: its settings, and the components it works with.
///
/// ```
/// # extern crate ferrock_options as ferrock;
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// options.max_background_jobs = 4;
/// ```
#[derive(Clone, Debug, Default)]
pub struct DbOptions {
    /// What an OPTIONS file can hold.
    pub settings: DbSettings,
    /// What it cannot: file system, clock, caches.
    pub components: Components,
    /// Directories of tables; none: the database's own. As in RocksDB no OPTIONS file has them.
    pub db_paths: Vec<DbPath>,
    /// RocksDB's options that have no meaning here (yet), as an OPTIONS file had them.
    pub passthrough: Passthrough,
}

impl Deref for DbOptions {
    type Target = DbSettings;
    fn deref(&self) -> &DbSettings {
        &self.settings
    }
}

impl DerefMut for DbOptions {
    fn deref_mut(&mut self) -> &mut DbSettings {
        &mut self.settings
    }
}

impl DbSettings {
    /// True when logs that nothing needs any more are moved to the archive.
    #[must_use]
    #[doc(hidden)]
    pub fn keeps_logs(&self) -> bool {
        self.wal_ttl_seconds > 0 || self.wal_size_limit_mb > 0
    }
}

impl DbOptions {
    /// Every value that means nothing. A number that is only out of its bounds is none of them: it is brought to the
    /// nearest good one when the database is opened.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut settings = self.settings.clone();
        settings.bring_into_bounds();
        let mut violations = settings.violations();
        if self.settings.keep_log_file_num == 0 {
            violations.push(Violation {
                name: "keep_log_file_num".to_owned(),
                value: "0".to_owned(),
                bound: "not a number of files: keep_log_file_num must be greater than 0".to_owned(),
            });
        }
        // Every other one counts as none.
        if self.settings.wal_compression == CompressionType::Zstd
            && let Err(error) = CompressionType::Zstd.check_built()
        {
            violations.push(Violation {
                name: "wal_compression".to_owned(),
                value: CompressionType::Zstd.option_name().to_owned(),
                bound: error.message().to_owned(),
            });
        }
        violations
    }

    /// Bytes of LOG after which a new one is begun.
    #[must_use]
    #[doc(hidden)]
    pub fn info_log_limit_bytes(&self) -> u64 {
        if self.max_log_file_size == 0 { 64 << 20 } else { self.max_log_file_size }
    }
}
