//! The logs of an open database, for all threads.
//!
//! ```text
//!                  made --switch--\
//!                                  v
//! append (one leader) ---------> current --switch--> unsynced --> being synced --> closed
//!                                  |                      \--------------/  one thread at a time, writers go on
//!                                  +-- sync: those before it first
//! ```
//!
//! Locks: `closed`, then `wal`. A writer takes `wal` alone, and `closed` when it syncs, for it has to wait for the logs
//! before its own in any case. The file of the next log is made before `wal` is taken; one that could not be used, as
//! what waited in the log before it could not be written, is kept for the next switch. Logs that were switched away
//! from and the directory are synced without `wal`: appends go on meanwhile. Only the current log is synced under it,
//! as an append and a sync of one file exclude each other.
//!
//! Invariant: [`sync`](Logs::sync) returns only when every byte appended before it is durable. A switch between the
//! sync of the closed logs and that of the current one is noticed, and the closed ones are synced again.

use super::wal::{CurrentSync, LiveLog, LogMaker, OpenLog, Wal, WalOptions};
use ferrock_base::{FileNumber, Result, SequenceNumber};
use ferrock_tree::places::FilePlaces;
use ferrock_vfs::FileSystem;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How much there is in logs that are still needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogSize {
    /// Bytes of all of them.
    pub(crate) bytes: u64,
    /// Logs besides the current one.
    pub(crate) older: usize,
    /// All of them.
    pub(crate) files: usize,
}

/// The logs that are still needed, at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogsView {
    /// Oldest first, the current one last. The size is that of whole records which are in the file: what is reserved
    /// behind them does not count.
    pub(crate) logs: Vec<LiveLog>,
    /// The newest sequence number that is in a log. What a failed write left behind is beyond it.
    pub(crate) last_logged: SequenceNumber,
}

/// Where the batches of a write group went.
#[derive(Debug)]
pub(crate) struct Appended {
    /// Of the logs with the group.
    pub(crate) size: LogSize,
    /// What [`Logs::take_back`] needs.
    logged_before: SequenceNumber,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Logs {
    maker: LogMaker,
    /// A log that was made and not used.
    spare: Mutex<Option<OpenLog>>,
    /// Logs being synced, oldest first. One that failed stays until it is released, so that every sync fails.
    closed: Mutex<VecDeque<OpenLog>>,
    wal: Mutex<Wal>,
}

impl Logs {
    pub(crate) fn new(file_system: Arc<dyn FileSystem>, places: Arc<FilePlaces>, options: WalOptions) -> Self {
        let bytes_per_sync = AtomicU64::new(options.bytes_per_sync);
        let strict_bytes_per_sync = AtomicBool::new(options.strict_bytes_per_sync);
        Self {
            wal: Mutex::new(Wal::new(options.manual_flush, options.track)),
            maker: LogMaker { file_system, places, bytes_per_sync, strict_bytes_per_sync, options },
            spare: Mutex::default(),
            closed: Mutex::default(),
        }
    }

    /// Logs that are made from now on are written back every so many bytes, and wait for what was started before if
    /// `is_strict`.
    pub(crate) fn set_bytes_per_sync(&self, bytes: u64, is_strict: bool) {
        self.maker.bytes_per_sync.store(bytes, Ordering::Relaxed);
        self.maker.strict_bytes_per_sync.store(is_strict, Ordering::Relaxed);
    }

    /// Appends one record made of `parts`: a batch of `count` sequence numbers from `first` on. It survives a crash of
    /// the process (unless flushing is manual), and a crash of the machine after [`sync`](Self::sync). The caller leads
    /// the write queue.
    pub(crate) fn append(&self, first: SequenceNumber, count: u32, parts: &[&[u8]]) -> Result<Appended> {
        let mut wal = self.wal.lock();
        let logged_before = wal.last_logged();
        match wal.append(first, count, parts) {
            Ok(()) => Ok(Appended { size: size_of(&wal), logged_before }),
            Err(error) => {
                wal.set_last_logged(logged_before);
                Err(error)
            }
        }
    }

    /// The sync behind an append failed: a crash may take the record away or leave it, and the next log must not say
    /// that it follows it.
    pub(crate) fn take_back(&self, appended: &Appended) {
        self.wal.lock().set_last_logged(appended.logged_before);
    }

    /// Bytes of records that wait for a flush.
    pub(crate) fn kept_back_bytes(&self) -> usize {
        self.wal.lock().kept_back_bytes()
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&self) -> Result<()> {
        self.wal.lock().flush()
    }

    /// Makes everything appended durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.sync_behind(&|| Ok(()))
    }

    /// Makes everything appended durable, and before it what records refer to: `before` is called when it is settled
    /// which records the next sync takes, so that none comes between. Where the current log is synced it is called
    /// under `wal`, which writers wait for.
    pub(crate) fn sync_behind(&self, before: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut closed = self.closed.lock();
        loop {
            self.sync_all(&mut closed, before)?;
            let mut wal = self.wal.lock();
            before()?;
            let outcome = wal.sync_current()?;
            drop(wal);
            match outcome {
                CurrentSync::Done => return self.sync_directory(),
                CurrentSync::ClosedLogsFirst => {}
            }
        }
    }

    /// Makes the logs that were switched away from durable, and their names: also those of logs that another thread
    /// synced, whose sync of the directory failed then. `before` as for [`sync_behind`](Self::sync_behind).
    pub(crate) fn sync_closed(&self, before: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut closed = self.closed.lock();
        self.sync_all(&mut closed, before)?;
        self.sync_directory()
    }

    fn sync_all(&self, closed: &mut VecDeque<OpenLog>, before: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut wal = self.wal.lock();
        closed.append(&mut wal.take_unsynced());
        closed.retain(|log| !wal.is_released(log.number));
        drop(wal);
        if !closed.is_empty() {
            before()?;
        }
        while let Some(log) = closed.front_mut() {
            let synced = log.sync();
            // What it held may have come into tables meanwhile.
            if synced.is_err() && !self.wal.lock().is_released(log.number) {
                return synced;
            }
            if let Some(log) = closed.pop_front()
                && synced.is_ok()
            {
                let (number, size_bytes) = (log.number, log.size_bytes());
                log.close()?;
                self.wal.lock().note_finished(number, size_bytes);
            }
        }
        Ok(())
    }

    /// Takes the logs that were written to their end and became durable since the last call, where logs are tracked.
    /// None while a name is not durable, as it may be that of one of them: a later sync sees to it.
    pub(crate) fn take_finished(&self) -> Vec<LiveLog> {
        if !self.maker.options.track {
            return Vec::new();
        }
        let mut wal = self.wal.lock();
        if wal.unsynced_name().is_some() { Vec::new() } else { wal.take_finished() }
    }

    /// Makes the names of the logs durable.
    pub(crate) fn sync_directory(&self) -> Result<()> {
        let Some(newest) = self.wal.lock().unsynced_name() else { return Ok(()) };
        self.maker.file_system.sync_dir(self.maker.places.log_directory())?;
        self.wal.lock().note_directory_synced(newest);
        Ok(())
    }

    /// Proves that the current log takes records and can be synced, by the follow record that the batch at `next` would
    /// come behind.
    pub(crate) fn prove(&self, next: SequenceNumber, before: &dyn Fn() -> Result<()>) -> Result<()> {
        self.wal.lock().append_follow_record(next)?;
        self.sync_behind(before)
    }

    /// Begins a new log when the current one has records; the number of the log that the next records go to. The caller
    /// leads the write queue and holds no lock that another thread may want.
    pub(crate) fn switch_if_used(&self, new_number: impl FnOnce() -> FileNumber) -> Result<FileNumber> {
        let wal = self.wal.lock();
        if wal.is_current_empty() {
            return Ok(wal.current_number());
        }
        drop(wal);
        let spare = self.spare.lock().take();
        self.switch(spare.map_or_else(|| self.maker.make(new_number()), Ok)?)
    }

    fn switch(&self, log: OpenLog) -> Result<FileNumber> {
        let number = log.number;
        let mut wal = self.wal.lock();
        if let Err(error) = wal.flush_before_switch() {
            *self.spare.lock() = Some(log);
            return Err(error);
        }
        wal.switch(log);
        Ok(number)
    }

    /// Begins the first log of an open, behind those that recovery keeps, after everything up to `last`.
    pub(crate) fn begin(&self, kept: Vec<LiveLog>, last: SequenceNumber, number: FileNumber) -> Result<()> {
        let log = self.maker.make(number)?;
        let mut wal = self.wal.lock();
        kept.into_iter().for_each(|log| wal.keep_recovered(log));
        wal.set_last_logged(last);
        drop(wal);
        self.switch(log).map(|_| ())
    }

    /// Number of the log being written; 0 before there is one.
    pub(crate) fn current_number(&self) -> FileNumber {
        self.wal.lock().current_number()
    }

    /// Number of the oldest log still needed.
    pub(crate) fn oldest(&self) -> FileNumber {
        self.wal.lock().oldest()
    }

    /// Every log that is still needed, oldest first. What waits for a flush is not counted.
    ///
    /// # Errors
    /// `ShutdownInProgress` when they were closed.
    pub(crate) fn live(&self) -> Result<Vec<LiveLog>> {
        self.wal.lock().live_logs()
    }

    /// How much there is in logs that are still needed.
    pub(crate) fn size(&self) -> LogSize {
        size_of(&self.wal.lock())
    }

    /// The logs that are still needed, for a reader: what waited for a flush is in the file then.
    ///
    /// # Errors
    /// That of the flush. A log that failed before is no error: nothing waits for it any more. `ShutdownInProgress`
    /// when the logs were closed.
    pub(crate) fn view(&self) -> Result<LogsView> {
        let mut wal = self.wal.lock();
        wal.flush_for_reader()?;
        Ok(LogsView { logs: wal.live_logs()?, last_logged: wal.last_logged() })
    }

    /// The last sequence number that counts in a log which is written no more; `None` where that is not known.
    pub(crate) fn ended_with(&self, number: FileNumber) -> Option<SequenceNumber> {
        self.wal.lock().ended_with(number)
    }

    /// Up to where the logs before `number` go.
    pub(crate) fn began_after(&self, number: FileNumber) -> Option<SequenceNumber> {
        self.wal.lock().began_after(number)
    }

    /// Forgets the logs before `number` and returns their numbers: no family needs them.
    pub(crate) fn release_before(&self, number: FileNumber) -> Vec<FileNumber> {
        self.wal.lock().release_before(number)
    }

    /// Closes the logs for good.
    pub(crate) fn close(&self) -> Result<()> {
        let spare = self.spare.lock().take();
        let unused = spare.map_or(Ok(()), OpenLog::close);
        let mut closed = self.closed.lock();
        let mut wal = self.wal.lock();
        closed.append(&mut wal.take_unsynced());
        let mut result = Ok(());
        while let Some(log) = closed.pop_front() {
            result = result.and(log.close());
        }
        result.and(wal.close()).and(unused)
    }
}

fn size_of(wal: &Wal) -> LogSize {
    let files = wal.older_count() + usize::from(wal.current_number() != FileNumber(0));
    LogSize { bytes: wal.total_bytes(), older: wal.older_count(), files }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::{ErrorKind, Temperature};
    use ferrock_format::write_batch::WriteBatch;
    use ferrock_vfs::{CrashPolicy, MemoryFileSystem, read_file};
    use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, OperationKind};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const DIRECTORY: &str = "/db";

    fn logs(file_system: Arc<dyn FileSystem>) -> Logs {
        let directory = PathBuf::from(DIRECTORY);
        file_system.create_dir_all(&directory).unwrap();
        file_system.sync_dir(Path::new("/")).unwrap();
        let places = Arc::new(FilePlaces::new(directory.clone(), directory, &[]));
        let options = WalOptions {
            manual_flush: false,
            allow_fallocate: false,
            bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            compress: false,
            track: false,
            temperature: Temperature::Unknown,
            expected_bytes: 0,
        };
        let logs = Logs::new(file_system, places, options);
        logs.begin(Vec::new(), SequenceNumber(0), FileNumber(1)).unwrap();
        logs
    }

    /// Appends a record of one entry with that number.
    fn append(logs: &Logs, number: u64) -> Result<Appended> {
        let mut batch = WriteBatch::new();
        batch.put(&number.to_le_bytes(), b"value").unwrap();
        let header = WriteBatch::encode_header(SequenceNumber(number), 1);
        logs.append(SequenceNumber(number), 1, &[&header, batch.records()])
    }

    fn bytes(file_system: &dyn FileSystem, number: u64) -> u64 {
        read_file(file_system, &Path::new(DIRECTORY).join(format!("{number:06}.log")))
            .map_or(0, |read| read.len() as u64)
    }

    #[test]
    fn a_sync_makes_all_logs_durable_and_their_names() {
        let memory = MemoryFileSystem::new();
        let logs = logs(Arc::new(memory.clone()));
        for (number, next) in [(1, 2), (2, 3), (3, 4)] {
            append(&logs, number).unwrap();
            assert_eq!(logs.switch_if_used(|| FileNumber(next)).unwrap(), FileNumber(next));
        }
        assert_eq!(logs.switch_if_used(|| FileNumber(9)).unwrap(), FileNumber(4), "it has no record");
        let size = append(&logs, 4).unwrap().size;
        assert_eq!((size, size.older), (logs.size(), 3));
        assert_eq!(bytes(&memory.crash_clone(CrashPolicy::KeepNothingUnsynced), 1), 0);
        logs.sync().unwrap();
        let crashed = memory.crash_clone(CrashPolicy::KeepNothingUnsynced);
        for number in 1..=4 {
            assert!(bytes(&crashed, number) > 0, "log {number}");
        }
        assert_eq!(logs.release_before(FileNumber(3)), [FileNumber(1), FileNumber(2)]);
        assert_eq!((logs.oldest(), logs.current_number(), logs.size().older), (FileNumber(3), FileNumber(4), 1));
        logs.close().unwrap();
        assert!(append(&logs, 5).is_err());
    }

    /// Writers go on while logs that were switched away from, and the directory, are synced.
    #[test]
    fn only_the_current_log_is_synced_while_writers_wait() {
        let memory = MemoryFileSystem::new();
        let logs = Arc::new(logs(Arc::new(memory.clone())));
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        append(&logs, 2).unwrap();
        let (free, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (looking, is_free, is_held) = (Arc::clone(&logs), Arc::clone(&free), Arc::clone(&held));
        memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("sync") {
                let counter = if looking.wal.try_lock().is_some() { &is_free } else { &is_held };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })));
        logs.sync_closed(&|| Ok(())).unwrap();
        assert_eq!((free.load(Ordering::Relaxed), held.load(Ordering::Relaxed)), (2, 0), "a log and the directory");
        logs.sync().unwrap();
        assert_eq!((free.load(Ordering::Relaxed), held.load(Ordering::Relaxed)), (2, 1), "the current log");
        memory.set_operation_hook(None);
    }

    /// What a record refers to is made durable before it: a record of a writer that comes between is left to the next
    /// sync.
    #[test]
    fn no_record_comes_between_what_it_refers_to_and_its_sync() {
        let memory = MemoryFileSystem::new();
        let logs = logs(Arc::new(memory.clone()));
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        let durable = |number| bytes(&memory.crash_clone(CrashPolicy::KeepNothingUnsynced), number);
        let others_write = || {
            assert_eq!(durable(1), 0, "it is called before the sync");
            append(&logs, 2)?;
            logs.switch_if_used(|| FileNumber(3)).map(drop)
        };
        logs.sync_closed(&others_write).unwrap();
        assert!(durable(1) > 0);
        assert_eq!(durable(2), 0, "its record is newer than what was made durable");
        // Where the current log is synced, no writer can come between.
        append(&logs, 3).unwrap();
        let calls = AtomicUsize::new(0);
        logs.sync_behind(&|| {
            let is_held = logs.wal.try_lock().is_none();
            assert_eq!(
                is_held,
                calls.fetch_add(1, Ordering::Relaxed) == 1,
                "first for log 2, then for the current one"
            );
            assert_eq!((durable(2) > 0, durable(3)), (is_held, 0));
            Ok(())
        })
        .unwrap();
        assert_eq!((calls.into_inner(), durable(3) > 0), (2, true));
    }

    /// Writers go on while the file of the next log is made, and a log that could not be used is used the next time.
    #[test]
    fn a_log_is_made_before_writers_wait() {
        let memory = MemoryFileSystem::new();
        let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
        let directory = PathBuf::from(DIRECTORY);
        memory.create_dir_all(&directory).unwrap();
        let places = Arc::new(FilePlaces::new(directory.clone(), directory, &[]));
        let options = WalOptions {
            manual_flush: true,
            allow_fallocate: false,
            bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            compress: false,
            track: false,
            temperature: Temperature::Unknown,
            expected_bytes: 0,
        };
        let logs = Arc::new(Logs::new(Arc::clone(&faults) as Arc<dyn FileSystem>, places, options));
        logs.begin(Vec::new(), SequenceNumber(0), FileNumber(1)).unwrap();
        append(&logs, 1).unwrap();
        let (looking, made) = (Arc::clone(&logs), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&made);
        memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("create") {
                assert!(looking.wal.try_lock().is_some(), "{line}");
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })));
        let rule = faults.add_rule(FaultRule::new(OperationKind::Append, "000001.log", Fault::Io));
        assert!(logs.switch_if_used(|| FileNumber(2)).is_err(), "what waits in the old log comes first");
        assert_eq!(logs.current_number(), FileNumber(1));
        faults.remove_rule(rule);
        assert_eq!(logs.switch_if_used(|| FileNumber(3)).unwrap(), FileNumber(2), "the one that was made");
        append(&logs, 2).unwrap();
        assert_eq!(logs.switch_if_used(|| FileNumber(4)).unwrap(), FileNumber(4));
        assert_eq!(made.load(Ordering::Relaxed), 2);
        memory.set_operation_hook(None);
    }

    /// A switch that comes between the sync of the closed logs and that of the current one hides no log.
    #[test]
    fn a_log_that_is_switched_away_from_during_a_sync_is_synced_too() {
        let memory = MemoryFileSystem::new();
        let logs = Arc::new(logs(Arc::new(memory.clone())));
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        append(&logs, 2).unwrap();
        let (switching, has_switched) = (Arc::clone(&logs), AtomicUsize::new(0));
        memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("sync") && has_switched.fetch_add(1, Ordering::Relaxed) == 0 {
                switching.switch_if_used(|| FileNumber(3)).unwrap();
            }
        })));
        logs.sync().unwrap();
        memory.set_operation_hook(None);
        let crashed = memory.crash_clone(CrashPolicy::KeepNothingUnsynced);
        assert!(bytes(&crashed, 1) > 0 && bytes(&crashed, 2) > 0);
    }

    #[test]
    fn a_log_that_failed_fails_every_sync_until_it_is_released() {
        let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
        let logs = logs(Arc::clone(&faults) as Arc<dyn FileSystem>);
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        let rule = faults.add_rule(FaultRule::new(OperationKind::Sync, "000001.log", Fault::Io));
        assert!(logs.sync_closed(&|| Ok(())).is_err());
        faults.remove_rule(rule);
        append(&logs, 2).unwrap();
        assert!(logs.sync().is_err(), "a sync that succeeds now would prove nothing");
        assert!(logs.sync_closed(&|| Ok(())).is_err());
        assert_eq!(logs.release_before(FileNumber(2)), [FileNumber(1)]);
        logs.prove(SequenceNumber(3), &|| Ok(())).unwrap();
        logs.sync_closed(&|| Ok(())).unwrap();
    }

    /// A reader that comes behind the close is told so: without the log that was written last the others look whole.
    #[test]
    fn closed_logs_are_not_listed() {
        let logs = logs(Arc::new(MemoryFileSystem::new()));
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        append(&logs, 2).unwrap();
        let numbers = |logs: Vec<LiveLog>| logs.iter().map(|log| log.number.0).collect::<Vec<_>>();
        assert_eq!(numbers(logs.live().unwrap()), [1, 2]);
        assert_eq!(numbers(logs.view().unwrap().logs), [1, 2]);
        logs.close().unwrap();
        assert_eq!(logs.live().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
        assert_eq!(logs.view().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    }

    #[test]
    fn where_a_log_ended_is_known_when_the_next_one_is_gone() {
        let logs = logs(Arc::new(MemoryFileSystem::new()));
        for (number, next) in [(1, 2), (2, 3), (3, 4)] {
            let appended = append(&logs, number).unwrap();
            if number == 2 {
                logs.take_back(&appended);
            }
            logs.switch_if_used(|| FileNumber(next)).unwrap();
        }
        let ends = || (0..5).map(|log| logs.ended_with(FileNumber(log)).map(|last| last.0)).collect::<Vec<_>>();
        // The second one has a record that was taken back, and log 0 is of an earlier open.
        let expected = [Some(0), Some(1), Some(1), Some(3), None];
        assert_eq!(ends(), expected);
        assert_eq!(logs.release_before(FileNumber(4)).len(), 3);
        assert_eq!(ends(), expected);
        let begun = |number| FileNumber(10 + number);
        for number in 0..5000 {
            append(&logs, 10 + number).unwrap();
            logs.switch_if_used(|| begun(number)).unwrap();
            logs.release_before(begun(number));
        }
        // Of an old one it is not known any more, of those before this open it is.
        assert_eq!([0, 2].map(|log| logs.ended_with(FileNumber(log)).map(|last| last.0)), [Some(0), None]);
        assert_eq!(logs.ended_with(begun(4998)), Some(SequenceNumber(5009)));
    }

    /// A log whose bytes are durable and whose name is not: a flush that comes behind the sync that failed makes it so.
    #[test]
    fn names_of_logs_that_another_thread_synced_are_made_durable() {
        let memory = MemoryFileSystem::new();
        let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
        let logs = logs(Arc::clone(&faults) as Arc<dyn FileSystem>);
        append(&logs, 1).unwrap();
        logs.switch_if_used(|| FileNumber(2)).unwrap();
        let rule = faults.add_rule(FaultRule::new(OperationKind::SyncDir, "*", Fault::Io));
        assert!(logs.sync().is_err());
        assert!(logs.sync_closed(&|| Ok(())).is_err());
        faults.remove_rule(rule);
        assert_eq!(bytes(&memory.crash_clone(CrashPolicy::KeepNothingUnsynced), 1), 0);
        logs.sync_closed(&|| Ok(())).unwrap();
        assert!(bytes(&memory.crash_clone(CrashPolicy::KeepNothingUnsynced), 1) > 0);
    }
}
