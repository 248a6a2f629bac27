//! The flags that shape a run, as typed values.

use crate::flags::Values;
use crate::reports::{self, Reports};
use ferrock::statistics::PerfLevel;
use std::path::PathBuf;
use std::time::Duration;

/// How the benchmarks are run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) benchmarks: String,
    pub(crate) directory: PathBuf,
    pub(crate) use_existing_db: bool,
    pub(crate) readonly: bool,
    pub(crate) num: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) deletes: u64,
    pub(crate) merge_keys: u64,
    /// How long a timed benchmark runs; 0: a number of operations counts.
    pub(crate) duration_us: u64,
    pub(crate) ops_between_duration_checks: u64,
    pub(crate) threads: usize,
    pub(crate) key_size: usize,
    pub(crate) prefix_size: usize,
    pub(crate) keys_per_prefix: u64,
    pub(crate) value_size: usize,
    pub(crate) compression_ratio: f64,
    pub(crate) batch_size: u64,
    /// 0: from the clock.
    pub(crate) seed: u64,
    pub(crate) sync: bool,
    pub(crate) disable_wal: bool,
    pub(crate) verify: bool,
    pub(crate) verify_checksum: bool,
    pub(crate) seek_nexts: u64,
    /// 0: no bound.
    pub(crate) max_scan_distance: u64,
    pub(crate) reverse_iterator: bool,
    pub(crate) total_order_seek: bool,
    pub(crate) auto_prefix_mode: bool,
    pub(crate) prefix_same_as_start: bool,
    pub(crate) readahead_size: usize,
    pub(crate) async_io: bool,
    pub(crate) adaptive_readahead: bool,
    pub(crate) auto_readahead_size: bool,
    pub(crate) read_write_percent: u64,
    pub(crate) merge_read_percent: u64,
    pub(crate) delete_percent: u64,
    /// Writes of a thread for a range that it deletes; 0: none is deleted.
    pub(crate) writes_per_range_tombstone: u64,
    pub(crate) writes_before_delete_range: u64,
    pub(crate) max_num_range_tombstones: u64,
    pub(crate) range_tombstone_width: u64,
    pub(crate) expand_range_tombstones: bool,
    pub(crate) rate_limit_user_ops: bool,
    pub(crate) rate_limit_auto_wal_flush: bool,
    pub(crate) write_rate_limit: u64,
    pub(crate) read_rate_limit: u64,
    pub(crate) histogram: bool,
    pub(crate) statistics: bool,
    pub(crate) progress: bool,
    /// Operations between two reports, or between two looks at the clock for one.
    pub(crate) stats_interval: u64,
    pub(crate) stats_interval_seconds: u64,
    pub(crate) stats_per_interval: bool,
    pub(crate) jobs_per_interval: bool,
    pub(crate) reports: Option<Reports>,
    pub(crate) times_open: bool,
    /// What threads count of themselves; `None`: nothing.
    pub(crate) perf_level: Option<PerfLevel>,
    pub(crate) json: bool,
    pub(crate) merge_operator: String,
    /// An experiment instead of benchmarks, when this is not empty.
    pub(crate) experiment: String,
    pub(crate) scale: f64,
    /// 0: as many as the experiment likes.
    pub(crate) rounds: u32,
    /// Where pages, plots and figures go.
    pub(crate) out: Option<PathBuf>,
}

/// Values and keys longer than this are a slip of the keyboard.
const MAX_SIZE_BYTES: usize = 1 << 30;
const MAX_THREADS: usize = 4096;

fn reports(values: &Values) -> Result<Option<Reports>, String> {
    let interval = Duration::from_secs(values.at_least("report_interval_seconds", 0)?);
    let file = PathBuf::from(values.text("report_file"));
    if interval.is_zero() {
        return Ok(None);
    }
    reports::check(&file)?;
    Ok(Some(Reports { file, interval }))
}

fn perf_level(values: &Values) -> Result<Option<PerfLevel>, String> {
    let number = values.at_least("perf_level", 0)?;
    match PerfLevel::from_number(number) {
        Some(PerfLevel::Uninitialized | PerfLevel::Disable) => Ok(None),
        Some(level) => Ok(Some(level)),
        None => Err(format!("--perf_level={number} is not one of 0 and 1 (nothing) to 6 (everything)")),
    }
}

impl Settings {
    /// Reads the flags.
    pub(crate) fn new(values: &Values) -> Result<Self, String> {
        let num: u64 = values.at_least("num", 1)?;
        let or_num = |name: &str| -> Result<u64, String> {
            let count: i64 = values.get(name)?;
            Ok(u64::try_from(count).unwrap_or(num))
        };
        let settings = Self {
            benchmarks: values.text("benchmarks").to_owned(),
            directory: match values.text("db") {
                "" => std::env::temp_dir().join("ferrock-db_bench"),
                directory => directory.into(),
            },
            use_existing_db: values.bool("use_existing_db"),
            readonly: values.bool("readonly"),
            num,
            reads: or_num("reads")?,
            writes: or_num("writes")?,
            deletes: or_num("deletes")?,
            merge_keys: or_num("merge_keys")?.max(1),
            duration_us: values.at_least("duration", 0_u64)?.saturating_mul(1_000_000),
            ops_between_duration_checks: values.at_least("ops_between_duration_checks", 1)?,
            threads: values.at_least("threads", 1)?,
            key_size: values.at_least("key_size", 1)?,
            prefix_size: values.at_least("prefix_size", 0)?,
            keys_per_prefix: values.at_least("keys_per_prefix", 0)?,
            value_size: values.at_least("value_size", 0)?,
            compression_ratio: values.at_least("compression_ratio", 0.0)?,
            batch_size: values.at_least("batch_size", 1)?,
            seed: values.at_least("seed", 0)?,
            sync: values.bool("sync"),
            disable_wal: values.bool("disable_wal"),
            verify: values.bool("verify"),
            verify_checksum: values.bool("verify_checksum"),
            seek_nexts: values.at_least("seek_nexts", 0)?,
            max_scan_distance: values.at_least("max_scan_distance", 0)?,
            reverse_iterator: values.bool("reverse_iterator"),
            total_order_seek: values.bool("total_order_seek"),
            auto_prefix_mode: values.bool("auto_prefix_mode"),
            prefix_same_as_start: values.bool("prefix_same_as_start"),
            readahead_size: values.at_least("readahead_size", 0)?,
            async_io: values.bool("async_io"),
            adaptive_readahead: values.bool("adaptive_readahead"),
            auto_readahead_size: values.bool("auto_readahead_size"),
            read_write_percent: values.at_least("readwritepercent", 0)?,
            merge_read_percent: values.at_least("mergereadpercent", 0)?,
            delete_percent: values.at_least("deletepercent", 0)?,
            writes_per_range_tombstone: values.at_least("writes_per_range_tombstone", 0)?,
            writes_before_delete_range: values.at_least("writes_before_delete_range", 0)?,
            max_num_range_tombstones: values.at_least("max_num_range_tombstones", 0)?,
            range_tombstone_width: values.at_least("range_tombstone_width", 1)?,
            expand_range_tombstones: values.bool("expand_range_tombstones"),
            rate_limit_user_ops: values.bool("rate_limit_user_ops"),
            rate_limit_auto_wal_flush: values.bool("rate_limit_auto_wal_flush"),
            write_rate_limit: values.at_least("benchmark_write_rate_limit", 0)?,
            read_rate_limit: values.at_least("benchmark_read_rate_limit", 0)?,
            histogram: values.bool("histogram"),
            statistics: values.bool("statistics"),
            progress: values.bool("progress_reports"),
            stats_interval: values.at_least("stats_interval", 0)?,
            stats_interval_seconds: values.at_least("stats_interval_seconds", 0)?,
            stats_per_interval: values.at_least::<i64>("stats_per_interval", 0)? > 0,
            jobs_per_interval: values.at_least::<i64>("thread_status_per_interval", 0)? > 0,
            reports: reports(values)?,
            times_open: values.bool("report_open_timing"),
            perf_level: perf_level(values)?,
            json: values.bool("json"),
            merge_operator: values.text("merge_operator").to_owned(),
            experiment: values.text("experiment").to_owned(),
            scale: values.get("scale")?,
            rounds: values.at_least("rounds", 0)?,
            out: Some(values.text("out")).filter(|out| !out.is_empty()).map(PathBuf::from),
        };
        settings.check()?;
        Ok(settings)
    }

    /// True when the last of a thread's `written` keys, which a batch of `size` has added, is one behind which a range
    /// is deleted.
    pub(crate) fn is_range_deletion_due(&self, written: u64, size: u64) -> bool {
        let per = self.writes_per_range_tombstone;
        let deletions = |written: u64| written.saturating_sub(self.writes_before_delete_range).checked_div(per);
        let (before, now) = (deletions(written - size), deletions(written));
        now > before && now <= Some(self.max_num_range_tombstones)
    }

    fn check(&self) -> Result<(), String> {
        if self.key_size > MAX_SIZE_BYTES || self.value_size > MAX_SIZE_BYTES || self.batch_size > 1 << 24 {
            return Err("key_size and value_size are at most 1 GiB, batch_size at most 16 million".to_owned());
        }
        if self.threads > MAX_THREADS {
            return Err(format!("--threads={} is more than {MAX_THREADS}", self.threads));
        }
        if self.keys_per_prefix > 0 && (self.prefix_size == 0 || self.prefix_size > self.key_size) {
            return Err("--keys_per_prefix needs a --prefix_size between 1 and --key_size".to_owned());
        }
        let ratio = self.compression_ratio;
        if ratio > 1.0 {
            return Err(format!("--compression_ratio={ratio} is more than 1"));
        }
        if self.read_write_percent > 100 {
            return Err(format!("--readwritepercent={} is more than 100", self.read_write_percent));
        }
        if self.merge_read_percent > 100 || self.read_write_percent + self.delete_percent > 100 {
            return Err(
                "--mergereadpercent, and --readwritepercent and --deletepercent together, are at most 100: give \
                        a smaller one"
                    .to_owned(),
            );
        }
        if self.experiment.is_empty() && (self.out.is_some() || self.rounds > 0) {
            return Err("--out and --rounds need --experiment".to_owned());
        }
        if !(0.0001..=1000.0).contains(&self.scale) {
            return Err(format!("--scale={} is not between 0.0001 and 1000", self.scale));
        }
        if self.readonly && !self.use_existing_db {
            return Err("--readonly needs --use_existing_db".to_owned());
        }
        Ok(())
    }
}
