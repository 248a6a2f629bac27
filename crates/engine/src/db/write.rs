//! Writing: one leader a time takes a group of batches to the log and to the memtables.
//!
//! ```text
//! leader: check errors, stalls, full memtables -> collect -> number -> log (-> sync) -> insert -> publish -> verdicts
//! ```
//!
//! The sequence number is published after the inserts: a reader sees a batch whole or
//! not at all, and never one that is not in the log.

use super::DbCore;
use crate::background_error::Reason;
use crate::column_family::FamilyMap;
use crate::metrics::Statistics;
use crate::options::WriteOptions;
use crate::write::controller::StallCondition;
use crate::write::insert::{InsertMode, Inserter, Target};
use crate::write::queue::{LeaderGuard, Member, Role};
use crate::write::request::{BatchHome, WriteGroup, WriteRequest};
use crate::write::timer::GroupTimer;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};
use ferrock_format::write_batch::{Record, WriteBatch};
use ferrock_options::WriteBufferManager;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A leader with a batch of at most this size takes at most this much more, so that a small write does not wait long.
const SMALL_BATCH_BYTES: usize = 128 << 10;
/// Groups from this size on are inserted by their members in parallel; below it, waking them costs more.
const PARALLEL_INSERT_BYTES: usize = 16 << 10;

impl DbCore {
    /// Writes a batch atomically.
    pub(crate) fn write(self: &Arc<Self>, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        self.write_from(batch, None, options)
    }

    /// As [`write`](Self::write), but the batch stays the caller's, and has the number of its first entry.
    pub(crate) fn write_lent(self: &Arc<Self>, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        let home = Arc::new(BatchHome::default());
        let result = self.write_from(std::mem::take(batch), Some(Arc::clone(&home)), options);
        // Empty only where the thread that had the batch panicked: then nothing of it was written.
        if let Some(back) = home.lock().take() {
            *batch = back;
        }
        result
    }

    fn write_from(
        self: &Arc<Self>,
        batch: WriteBatch,
        home: Option<Arc<BatchHome>>,
        options: &WriteOptions,
    ) -> Result<()> {
        // From here on every return takes the batch home.
        let mut request = WriteRequest::Batch { batch, options: *options, first: SequenceNumber(0), checked: 0, home };
        self.check_open()?;
        if options.sync && options.disable_wal {
            return Err(Error::invalid_argument("Sync writes has to enable WAL."));
        }
        if let WriteRequest::Batch { batch, checked, .. } = &mut request {
            *checked = self.check_batch(batch, options)?;
        }
        match self.writes.queue().join(request) {
            Role::Leader(guard, request) => self.lead(&guard, request),
            Role::Insert(request, group, inserter) => {
                self.insert_for_group(&group, &request);
                inserter.wait()
            }
            Role::Verdict(verdict) => verdict,
        }
    }

    /// Runs `work` while no thread writes, and never once the database is closed: the directory may be another opener's
    /// then.
    pub(crate) fn exclusively<R>(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) -> R) -> Result<R> {
        match self.writes.queue().join(WriteRequest::Exclusive) {
            Role::Leader(_guard, _) => self.check_open().map(|()| work(self)),
            Role::Verdict(verdict) => Err(verdict
                .err()
                .unwrap_or_else(|| Error::new(ErrorKind::Aborted, "an exclusive section was taken for a write"))),
            Role::Insert(..) => Err(Error::new(ErrorKind::Aborted, "an exclusive section was taken for a write")),
        }
    }

    /// Refuses what could fail after the log has it: unknown families, inverted ranges, merges without operator.
    /// Returns the generation of the families that were looked at.
    fn check_batch(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<u64> {
        let families = self.families.load();
        if batch.is_simple() && !families.has_read_only() {
            return Ok(families.generation());
        }
        let mut last = None;
        for record in batch.iter() {
            let record = record?;
            let Some(id) = record.column_family() else {
                if matches!(record, Record::LogData(_) | Record::Noop) {
                    continue;
                }
                return Err(Error::not_supported("two-phase commit records in a batch"));
            };
            let data = match families.get(id) {
                Some(data) => data,
                None if options.ignore_missing_column_families => continue,
                None => {
                    return Err(Error::invalid_argument(format!(
                        "Invalid column family specified in write batch: family {id} does not exist; it may have been dropped"
                    )));
                }
            };
            if families.has_read_only() && data.is_read_only() {
                return Err(Error::not_supported(format!(
                    "column family {} takes no writes: compaction_style = kCompactionStyleFIFO is not built yet, and nothing \
                     would drop its old tables",
                    data.name
                )));
            }
            if matches!(record, Record::Merge { .. }) && last != Some(id) {
                if data.options.load().merge_operator.is_none() {
                    return Err(Error::not_supported(format!(
                        "Provide a merge_operator when opening DB: column family {} has none to merge with",
                        data.name
                    )));
                }
                last = Some(id);
            }
            if let Record::DeleteRange { begin, end, .. } = record
                && data.comparator.user().compare(begin, end).is_gt()
            {
                let (begin, end) = (begin.escape_ascii(), end.escape_ascii());
                return Err(Error::invalid_argument(format!("delete_range: begin {begin} is behind end {end}")));
            }
        }
        Ok(families.generation())
    }

    fn lead(
        self: &Arc<Self>,
        guard: &LeaderGuard<'_, WriteRequest, WriteGroup>,
        mut request: WriteRequest,
    ) -> Result<()> {
        let WriteRequest::Batch { batch, options, checked, .. } = &request else { return Ok(()) };
        let options = *options;
        self.make_room(&options, batch.byte_size())?;
        // Families come and go only while no writer leads: what holds now holds until the end of the group.
        let families = self.families.load_full();
        if *checked != families.generation() {
            self.check_batch(batch, &options)?;
        }
        let mut members: Vec<Member<WriteRequest, WriteGroup>> = Vec::new();
        let group_bytes = self.collect_group(guard, batch.byte_size(), &options, families.generation(), &mut members);

        let first = self.visible().plus(1);
        let count = number_batches(&mut request, &mut members, first);
        let statistics = self.metrics.statistics();
        let group_number = Statistics::get(&statistics.write_groups);
        let mut timer = GroupTimer::start(&*self.clock, group_number, group_bytes, options.sync);
        let mut verdict = Ok(());
        if options.disable_wal {
            self.writes.note_unlogged();
        } else {
            verdict = self.append_group(&request, &members, first, count, options.sync);
            timer.lap(&statistics.wal_us);
            if verdict.is_err() {
                // The record may be in the log, whole. Its numbers must not be given again: recovery would take the
                // next log, which repeats them, for one that goes back in time, and leave it out.
                self.writes.publish(SequenceNumber(first.0 - 1 + count));
            }
        }
        if verdict.is_ok() {
            let in_parallel = !members.is_empty()
                && group_bytes >= PARALLEL_INSERT_BYTES
                && self.options.load().allow_concurrent_memtable_write;
            verdict = if in_parallel {
                self.insert_in_parallel(families, &request, &mut members, options.ignore_missing_column_families)
            } else {
                self.insert_alone(&families, &request, &members, options.ignore_missing_column_families)
            };
            verdict = verdict.inspect_err(|error| self.set_background_error(Reason::MemTable, error));
            timer.lap(&statistics.memtable_us);
        }
        if verdict.is_ok() {
            // The last number given; a group of log data alone takes none.
            self.writes.publish(SequenceNumber(first.0 - 1 + count));
        }
        self.note_group(members.len() as u64 + 1, count, group_bytes as u64, &options);
        for member in members {
            member.finish(verdict.clone());
        }
        verdict
    }

    fn note_group(&self, batches: u64, keys: u64, bytes: u64, options: &WriteOptions) {
        let statistics = self.metrics.statistics();
        Statistics::add(&statistics.write_groups, 1);
        Statistics::add(&statistics.batches_written, batches);
        Statistics::add(&statistics.keys_written, keys);
        Statistics::add(&statistics.bytes_written, bytes);
        if !options.disable_wal {
            Statistics::add(&statistics.wal_bytes, bytes);
        }
        if options.sync {
            Statistics::add(&statistics.wal_syncs, 1);
        }
    }

    fn collect_group(
        &self,
        guard: &LeaderGuard<'_, WriteRequest, WriteGroup>,
        leader_bytes: usize,
        options: &WriteOptions,
        generation: u64,
        members: &mut Vec<Member<WriteRequest, WriteGroup>>,
    ) -> usize {
        let bound = usize::try_from(self.options.load().max_write_batch_group_size_bytes).unwrap_or(usize::MAX);
        let limit = if leader_bytes <= SMALL_BATCH_BYTES.min(bound / 8) { leader_bytes + bound / 8 } else { bound };
        let mut total = leader_bytes;
        guard.collect(members, |work| match work {
            WriteRequest::Exclusive => false,
            WriteRequest::Batch { batch, options: own, checked, .. } => {
                let fits = *checked == generation
                    && (!own.sync || options.sync)
                    && own.disable_wal == options.disable_wal
                    && own.ignore_missing_column_families == options.ignore_missing_column_families
                    && total + batch.byte_size() <= limit;
                if fits {
                    total += batch.byte_size();
                }
                fits
            }
        });
        total
    }

    /// One record for the whole group: the batches' records behind one header.
    fn append_group(
        &self,
        request: &WriteRequest,
        members: &[Member<WriteRequest, WriteGroup>],
        first: SequenceNumber,
        count: u64,
        sync: bool,
    ) -> Result<()> {
        let count = u32::try_from(count)
            .map_err(|_| Error::invalid_argument("a write group of more than 2^32 records; write smaller batches"))?;
        let header = WriteBatch::encode_header(first, count);
        let batches = std::iter::once(request).chain(members.iter().filter_map(Member::work));
        let records = batches.filter_map(|work| match work {
            WriteRequest::Batch { batch, .. } => Some(batch.records()),
            WriteRequest::Exclusive => None,
        });
        let logs = self.writes.logs();
        let appended = if members.is_empty() {
            let own = match request {
                WriteRequest::Batch { batch, .. } => batch.records(),
                WriteRequest::Exclusive => &[],
            };
            logs.append(first, count, &[&header, own])
        } else {
            let parts: Vec<&[u8]> = std::iter::once(&header[..]).chain(records).collect();
            logs.append(first, count, &parts)
        };
        let synced = appended.and_then(|appended| {
            if self.passes_log_limit(appended.size) {
                self.writes.ask_for_room();
            }
            if sync { logs.sync().inspect_err(|_| logs.take_back(&appended)) } else { Ok(()) }
        });
        synced.inspect_err(|error| self.set_background_error(Reason::Write, error))
    }

    fn insert_alone(
        &self,
        families: &FamilyMap,
        request: &WriteRequest,
        members: &[Member<WriteRequest, WriteGroup>],
        ignore_missing: bool,
    ) -> Result<()> {
        for work in std::iter::once(request).chain(members.iter().filter_map(Member::work)) {
            if let WriteRequest::Batch { batch, first, .. } = work {
                self.insert_batch(families, batch, *first, InsertMode::Exclusive, ignore_missing)?;
            }
        }
        Ok(())
    }

    fn insert_in_parallel(
        &self,
        families: Arc<FamilyMap>,
        request: &WriteRequest,
        members: &mut [Member<WriteRequest, WriteGroup>],
        ignore_missing: bool,
    ) -> Result<()> {
        let group = Arc::new(WriteGroup::new(families, ignore_missing, members.len() + 1));
        self.metrics.statistics().parallel_groups.fetch_add(1, Ordering::Relaxed);
        members.iter_mut().for_each(|member| member.let_insert(Arc::clone(&group)));
        self.insert_for_group(&group, request);
        group.wait()
    }

    /// Inserts a batch beside the other members of its group.
    fn insert_for_group(&self, group: &WriteGroup, request: &WriteRequest) {
        group.insert(request, |families, batch, first| {
            self.insert_batch(families, batch, first, InsertMode::Concurrent, group.ignores_missing())
        });
    }

    /// Inserts a numbered batch and marks memtables that became full.
    pub(crate) fn insert_batch(
        &self,
        families: &FamilyMap,
        batch: &WriteBatch,
        first: SequenceNumber,
        mode: InsertMode,
        ignore_missing: bool,
    ) -> Result<()> {
        let mut touched: [Option<u32>; 4] = [None; 4];
        let mut overflow = false;
        let mut inserter = Inserter::new(mode, first, |id| {
            let Some(data) = families.get(id) else {
                return if ignore_missing { Ok(Target::Skip) } else { Err(missing_family(id)) };
            };
            match touched.iter_mut().find(|slot| slot.is_none() || **slot == Some(id)) {
                Some(slot) => *slot = Some(id),
                None => overflow = true,
            }
            Ok(Target::MemTable(Arc::clone(data), data.memtable.load_full()))
        });
        inserter.insert_all(batch.iter())?;
        drop(inserter);
        if overflow {
            families.iter().for_each(|data| self.note_memtable_size(data));
        } else {
            touched
                .into_iter()
                .flatten()
                .filter_map(|id| families.get(id))
                .for_each(|data| self.note_memtable_size(data));
        }
        Ok(())
    }

    fn note_memtable_size(&self, data: &crate::column_family::ColumnFamilyData) {
        let memtable = data.memtable.load();
        if memtable.approximate_memory_bytes() >= data.options.load().write_buffer_size
            && !data.is_memtable_full.swap(true, Ordering::AcqRel)
        {
            self.writes.ask_for_room();
        }
        let options = self.options.load();
        if let Some(manager) = &options.components.write_buffer_manager {
            memtable.report_memory();
            if manager.should_flush() {
                self.writes.ask_for_room();
            }
        }
        let budget = options.db_write_buffer_size;
        if budget > 0 && self.memtable_bytes() >= budget {
            self.writes.ask_for_room();
        }
    }

    /// Bytes of the memtables that are being written.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.families.load().iter().map(|data| data.memtable.load().approximate_memory_bytes() as u64).sum()
    }

    fn check_background_error(&self) -> Result<()> {
        if self.has_background_error.load(Ordering::Acquire) {
            self.state.lock().error.check()?;
        }
        Ok(())
    }

    /// What stands between a leader and its write: an error, a stall, a full memtable, too much log.
    fn make_room(self: &Arc<Self>, options: &WriteOptions, bytes: usize) -> Result<()> {
        self.check_background_error()?;
        // Another database may have taken the memory.
        let wants_memory = |manager: &Arc<WriteBufferManager>| manager.should_flush();
        if self.writes.is_room_needed()
            || self.options.load().components.write_buffer_manager.as_ref().is_some_and(wants_memory)
        {
            self.switch_full_memtables()?;
        }
        self.wait_for_memory(options)?;
        loop {
            match self.writes.controller().condition() {
                StallCondition::Normal => return Ok(()),
                StallCondition::Delayed => {
                    let delay = self.writes.controller().delay(&*self.clock, bytes as u64);
                    if delay.is_zero() {
                        return Ok(());
                    }
                    if options.no_slowdown {
                        return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
                    }
                    let before = self.clock.monotonic_us();
                    self.writes.controller().sleep(&*self.clock, delay);
                    let slept = self.clock.monotonic_us().saturating_sub(before);
                    self.metrics.statistics().stall_us.fetch_add(slept, Ordering::Relaxed);
                    self.check_background_error()?;
                    if self.writes.controller().condition() != StallCondition::Stopped {
                        return Ok(());
                    }
                }
                StallCondition::Stopped => {
                    if options.no_slowdown {
                        return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
                    }
                    self.wait_while_stopped()?;
                }
            }
        }
    }

    /// Waits while memtables hold more than a manager with `allow_stall` lets them. Not when hardly any of it is this
    /// database's: then waiting could last for ever.
    fn wait_for_memory(self: &Arc<Self>, options: &WriteOptions) -> Result<()> {
        let Some(manager) = self.options.load().components.write_buffer_manager.clone() else { return Ok(()) };
        if !manager.should_stall() {
            return Ok(());
        }
        if options.no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
        }
        let before = self.clock.monotonic_us();
        self.metrics.statistics().memory_stalls.fetch_add(1, Ordering::Relaxed);
        let mut result = Ok(());
        while result.is_ok() && manager.should_stall() && self.begin_flush_of_something(&manager)? {
            manager.wait_for_room(Duration::from_millis(100));
            result = self.check_open();
        }
        self.metrics
            .statistics()
            .stall_us
            .fetch_add(self.clock.monotonic_us().saturating_sub(before), Ordering::Relaxed);
        result
    }

    fn wait_while_stopped(self: &Arc<Self>) -> Result<()> {
        let before = self.clock.monotonic_us();
        let mut state = self.state.lock();
        let mut result = Ok(());
        while result.is_ok() && self.writes.controller().condition() == StallCondition::Stopped {
            if self.writes.controller().is_over() {
                result =
                    Err(Error::new(ErrorKind::ShutdownInProgress, "writes are stopped, and the database is closing"));
                break;
            }
            // The time limit is a safety net: every change of the condition notifies.
            self.changed.wait_for(&mut state, Duration::from_millis(500));
            result = state.error.check().and_then(|()| self.check_open());
        }
        drop(state);
        let waited = self.clock.monotonic_us().saturating_sub(before);
        self.metrics.statistics().stall_us.fetch_add(waited, Ordering::Relaxed);
        result
    }
}

/// Gives every batch of the group its first sequence number; returns how many numbers the group takes.
fn number_batches(
    request: &mut WriteRequest,
    members: &mut [Member<WriteRequest, WriteGroup>],
    first: SequenceNumber,
) -> u64 {
    let mut next = first;
    for work in std::iter::once(request).chain(members.iter_mut().filter_map(Member::work_mut)) {
        if let WriteRequest::Batch { batch, first, .. } = work {
            *first = next;
            next = next.plus(u64::from(batch.count()));
        }
    }
    next.0 - first.0
}

#[cold]
fn missing_family(id: u32) -> Error {
    Error::new(ErrorKind::ColumnFamilyDropped, format!("column family {id} was dropped while the batch was written"))
}
