//! Logs that no family needs any more and that are kept for a while, for readers of updates.
//!
//! ```text
//! WAL_DIR/000012.log --synced, renamed, directory synced--> WAL_DIR/archive/000012.log --too old, or too much--> gone
//! ```
//!
//! The options `wal_ttl_seconds` and `wal_size_limit_mb` turn it on. The rules are RocksDB's:
//!
//! | both are | an archived log goes | looked at, at most every |
//! |---|---|---|
//! | 0 | never; no log is archived | |
//! | a ttl | when it was last written more than `wal_ttl_seconds` ago | half of that, 600 s at most |
//! | a size | the oldest first, while all of them have more than `wal_size_limit_mb`; empty ones always | 600 s |
//! | both | by its age first, then by the size | as for a ttl |
//!
//! Looks are made when a log is archived and by clean-ups: a database without any change looks at nothing.
//!
//! Invariants:
//! - What a log holds is durable before it has its new name: of an archived log no record is lost to a crash.
//! - A log without a byte is not archived.
//! - A log that a reader has open is not removed ([`FileRegistry::pin_log`](super::FileRegistry::pin_log)). Renames do
//!   not disturb it.
//! - A failure leaves the log where it is, for the next clean-up. It costs space and nothing else.

use crate::info_log::InfoLog;
use ferrock_base::clock::Clock;
use ferrock_base::{FileNumber, Result};
use ferrock_format::file_name::{self, ARCHIVE_DIRECTORY, FileKind};
use ferrock_options::DbOptions;
use ferrock_tree::places::create_directory;
use ferrock_vfs::{FileSystem, WritableOptions, WritePurpose};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds between two looks at the archive, at most.
const MOST_SECONDS_BETWEEN_LOOKS: u64 = 600;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LogArchive {
    file_system: Arc<dyn FileSystem>,
    directory: PathBuf,
    clock: Arc<dyn Clock>,
    /// 0: none goes by its age.
    ttl_seconds: u64,
    /// 0: none goes by the size of all.
    limit_bytes: u64,
    /// When the archive was looked at last, in seconds since 1970; 0: not yet.
    looked_at_seconds: AtomicU64,
    /// When a look came across a log whose file system keeps no times: it tells 0.
    first_seen_seconds: Mutex<BTreeMap<FileNumber, u64>>,
}

/// The directory of archived logs.
pub(crate) fn archive_of(log_directory: &Path) -> PathBuf {
    log_directory.join(ARCHIVE_DIRECTORY)
}

impl LogArchive {
    /// `None` where the options keep no logs.
    pub(crate) fn of(
        options: &DbOptions,
        file_system: &Arc<dyn FileSystem>,
        log_directory: &Path,
        clock: &Arc<dyn Clock>,
    ) -> Option<Self> {
        options.settings.keeps_logs().then(|| Self {
            file_system: Arc::clone(file_system),
            directory: archive_of(log_directory),
            clock: Arc::clone(clock),
            ttl_seconds: options.wal_ttl_seconds,
            limit_bytes: options.wal_size_limit_mb.saturating_mul(1 << 20),
            looked_at_seconds: AtomicU64::new(0),
            first_seen_seconds: Mutex::default(),
        })
    }

    /// Makes the directory, durably.
    pub(crate) fn prepare(&self) -> Result<()> {
        if self.file_system.exists(&self.directory)? {
            return Ok(());
        }
        create_directory(&*self.file_system, &self.directory)
    }

    /// Moves a log here that no family needs. One without a byte is removed.
    ///
    /// # Errors
    /// Those of the file system; the log is then where it was, or here already.
    pub(crate) fn take(&self, path: &Path, number: FileNumber) -> Result<()> {
        if self.file_system.file_size(path)? == 0 {
            return self.file_system.remove_file(path);
        }
        let options = WritableOptions::for_purpose(WritePurpose::Log);
        self.file_system.reopen_writable(path, &options)?.sync()?;
        self.prepare()?;
        self.file_system.rename(path, &self.directory.join(file_name::log(number)))?;
        self.file_system.sync_dir(&self.directory)
    }

    /// Seconds between two looks.
    fn period_seconds(&self) -> u64 {
        let by_age = if self.ttl_seconds > 0 { (self.ttl_seconds / 2).max(1) } else { u64::MAX };
        by_age.min(MOST_SECONDS_BETWEEN_LOOKS)
    }

    /// True for one caller when the period since the last look is over.
    fn begin_look(&self, now: u64) -> bool {
        let last = self.looked_at_seconds.load(Ordering::Relaxed);
        let is_due = last == 0 || last.saturating_add(self.period_seconds()) <= now || last > now;
        is_due && self.looked_at_seconds.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Removes what is too old and too much, when the time for a look has come. `remove` removes the log of a number
    /// unless a reader has it open, and tells whether it is gone.
    pub(crate) fn purge(&self, log: &InfoLog, remove: impl Fn(&Path, FileNumber) -> bool) {
        let now = self.clock.unix_seconds();
        if self.begin_look(now)
            && let Err(error) = self.look(now, log, &remove)
        {
            log.warn(|| format!("looking for archived logs to remove: {error}"));
        }
    }

    fn modified(&self, path: &Path, number: FileNumber, now: u64) -> Result<u64> {
        let modified = self.file_system.modified_unix_seconds(path)?;
        if modified > 0 { Ok(modified) } else { Ok(*self.first_seen_seconds.lock().entry(number).or_insert(now)) }
    }

    fn look(&self, now: u64, log: &InfoLog, remove: &impl Fn(&Path, FileNumber) -> bool) -> Result<()> {
        let mut kept = Vec::new();
        let numbers = log_numbers(&*self.file_system, &self.directory)?;
        self.first_seen_seconds.lock().retain(|number, _| numbers.contains(number));
        for number in numbers {
            let path = self.directory.join(file_name::log(number));
            let modified = if self.ttl_seconds > 0 { self.modified(&path, number, now)? } else { now };
            let size_bytes = self.file_system.file_size(&path)?;
            let is_useless = self.limit_bytes > 0 && size_bytes == 0;
            let is_old = self.ttl_seconds > 0 && now.saturating_sub(modified) > self.ttl_seconds;
            if (is_old || is_useless) && remove(&path, number) {
                log.info(|| format!("removed the archived log {number}: last written {modified}, now {now}"));
            } else {
                kept.push((number, size_bytes));
            }
        }
        if self.limit_bytes == 0 {
            return Ok(());
        }
        let mut total: u64 = kept.iter().map(|(_, size_bytes)| size_bytes).sum();
        for (number, size_bytes) in kept {
            if total <= self.limit_bytes {
                break;
            }
            if remove(&self.directory.join(file_name::log(number)), number) {
                total -= size_bytes;
                log.info(|| format!("removed the archived log {number}: the archive has its limit"));
            }
        }
        Ok(())
    }
}

/// Numbers of the logs in a directory, sorted; none where there is no such directory.
pub(crate) fn log_numbers(file_system: &dyn FileSystem, directory: &Path) -> Result<Vec<FileNumber>> {
    let names = match file_system.children(directory) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        names => names?,
    };
    let parsed = names.iter().filter_map(|name| file_name::parse(name));
    let mut numbers: Vec<_> = parsed.filter(|name| name.kind == FileKind::Log).map(|name| name.number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use ferrock_vfs::MemoryFileSystem;
    use std::cell::RefCell;
    use std::time::Duration;

    const LOGS: &str = "/db";

    struct Place {
        clock: Arc<ManualClock>,
        memory: MemoryFileSystem,
        file_system: Arc<dyn FileSystem>,
        archive: LogArchive,
        info_log: Arc<InfoLog>,
    }

    fn place(ttl_seconds: u64, limit_mb: u64) -> Place {
        let clock = Arc::new(ManualClock::new(1_000_000_000_000_000));
        let as_clock: Arc<dyn Clock> = clock.clone();
        let memory = MemoryFileSystem::new();
        memory.set_unix_seconds(clock.unix_seconds());
        let file_system: Arc<dyn FileSystem> = Arc::new(memory.clone());
        file_system.create_dir_all(Path::new(LOGS)).unwrap();
        let mut options = DbOptions::default();
        options.wal_ttl_seconds = ttl_seconds;
        options.wal_size_limit_mb = limit_mb;
        let archive = LogArchive::of(&options, &file_system, Path::new(LOGS), &as_clock).unwrap();
        archive.prepare().unwrap();
        let info_log = InfoLog::without_file(Arc::clone(&file_system), as_clock, None);
        Place { clock, memory, file_system, archive, info_log }
    }

    impl Place {
        fn archive_log(&self, number: u64, bytes: usize) {
            let path = Path::new(LOGS).join(file_name::log(FileNumber(number)));
            let options = WritableOptions::for_purpose(WritePurpose::Log);
            let mut file = self.file_system.create_writable(&path, &options).unwrap();
            file.append(&vec![7; bytes]).unwrap();
            file.close().unwrap();
            self.archive.take(&path, FileNumber(number)).unwrap();
            assert!(!self.file_system.exists(&path).unwrap());
        }

        /// The logs that are left when those of `pinned` cannot be removed.
        fn purge(&self, pinned: &[u64]) -> Vec<u64> {
            let asked = RefCell::new(Vec::new());
            self.archive.purge(&self.info_log, |path, number| {
                asked.borrow_mut().push(number);
                !pinned.contains(&number.0) && self.file_system.remove_file(path).is_ok()
            });
            let numbers = log_numbers(&*self.file_system, &archive_of(Path::new(LOGS))).unwrap();
            numbers.iter().map(|number| number.0).collect()
        }

        fn pass_seconds(&self, seconds: u64) {
            self.clock.advance(Duration::from_secs(seconds));
            self.memory.set_unix_seconds(self.clock.unix_seconds());
        }
    }

    #[test]
    fn logs_go_by_age_and_are_looked_at_twice_in_it() {
        let place = place(100, 0);
        place.archive_log(1, 10);
        assert_eq!(place.purge(&[]), [1]);
        place.pass_seconds(60);
        place.archive_log(2, 10);
        assert_eq!(place.purge(&[]), [1, 2]);
        place.pass_seconds(41);
        assert_eq!(place.purge(&[]), [1, 2], "101 seconds old, and looked at 41 seconds ago");
        place.pass_seconds(9);
        assert_eq!(place.purge(&[1]), [1, 2], "a reader has it open");
        place.pass_seconds(50);
        assert_eq!(place.purge(&[]), [2], "exactly 100 seconds old is not too old");
        place.pass_seconds(50);
        assert!(place.purge(&[]).is_empty());
    }

    #[test]
    fn without_times_of_files_the_age_counts_from_the_first_look() {
        let place = place(100, 0);
        place.memory.set_unix_seconds(0);
        place.archive_log(1, 10);
        assert_eq!(place.purge(&[]), [1]);
        place.clock.advance(Duration::from_secs(100));
        assert_eq!(place.purge(&[]), [1]);
        place.clock.advance(Duration::from_secs(50));
        assert!(place.purge(&[]).is_empty());
    }

    #[test]
    fn the_oldest_go_by_size_and_the_newest_stay() {
        let place = place(0, 1);
        for number in [3, 4, 5] {
            place.archive_log(number, 400 << 10);
        }
        assert_eq!(place.purge(&[]), [4, 5]);
        place.archive_log(6, 400 << 10);
        place.pass_seconds(599);
        assert_eq!(place.purge(&[]), [4, 5, 6]);
        place.pass_seconds(1);
        assert_eq!(place.purge(&[4]), [4, 6], "the next one goes for what a reader has open");
        place.archive_log(7, 2 << 20);
        place.pass_seconds(600);
        assert!(place.purge(&[]).is_empty(), "one that is larger than the limit goes, too");
    }

    #[test]
    fn both_rules_count_and_empty_logs_are_not_archived() {
        let place = place(5_000, 1);
        place.archive_log(1, 0);
        place.archive_log(2, 600 << 10);
        place.pass_seconds(4_000);
        for number in [3, 4, 5] {
            place.archive_log(number, 300 << 10);
        }
        assert_eq!(place.purge(&[]), [3, 4, 5], "by the size");
        place.pass_seconds(5_001);
        assert!(place.purge(&[]).is_empty(), "by the age");
    }

    #[test]
    fn what_was_archived_survives_a_crash() {
        let memory = MemoryFileSystem::new();
        let file_system: Arc<dyn FileSystem> = Arc::new(memory.clone());
        file_system.create_dir_all(Path::new(LOGS)).unwrap();
        file_system.sync_dir(Path::new("/")).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(0));
        let mut options = DbOptions::default();
        options.wal_ttl_seconds = 9;
        let archive = LogArchive::of(&options, &file_system, Path::new(LOGS), &clock).unwrap();
        let path = Path::new(LOGS).join("000004.log");
        let mut file = file_system.create_writable(&path, &WritableOptions::for_purpose(WritePurpose::Log)).unwrap();
        file.append(b"a record").unwrap();
        file.close().unwrap();
        archive.take(&path, FileNumber(4)).unwrap();
        let crashed = memory.crash_clone(ferrock_vfs::CrashPolicy::KeepNothingUnsynced);
        let read = ferrock_vfs::read_file(&crashed, &Path::new(LOGS).join("archive/000004.log")).unwrap();
        assert_eq!(read, b"a record");
    }
}
