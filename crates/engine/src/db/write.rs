//! Writing: one leader a time takes a group of batches to the log and to the memtables.
//!
//! ```text
//! leader: check errors, stalls, full memtables -> collect -> number -> log (-> sync) -> insert -> publish -> verdicts
//! ```
//!
//! The sequence number is published after the inserts: a reader sees a batch whole or
//! not at all, and never one that is not in the log.

use super::DbCore;
use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::db::direct_writes::{self, Replaced};
use crate::db::make_room::{make_room, wait_for_low_pri};
use crate::db::{in_place_updates, successive_merges, switch_memtable, tracked_logs};
use crate::jobs::background_error::Reason;
use crate::metrics::Counters;
use crate::options::TableFactory;
use crate::options::{DbOptions, WriteOptions};
use crate::write::insert::{InsertMode, Inserter, Target};
use crate::write::queue::{LeaderGuard, Member, Role};
use crate::write::request::{PreWriteCheck, WriteExtra, WriteGroup, WriteRequest};
use crate::write::timer::GroupTimer;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber};
use ferrock_format::compression::CompressionType;
use ferrock_format::log::{self, MAX_COMPRESSED_RECORD_BYTES};
use ferrock_format::write_batch::{Record, WriteBatch};
use ferrock_memtable::MemTable;
use ferrock_statistics::{Histogram, PerfLaps, PerfMetric, Ticker};
use ferrock_vfs::{IoKind, IoPriority};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A leader with a batch of at most this size takes at most this much more, so that a small write does not wait long.
const SMALL_BATCH_BYTES: usize = 128 << 10;
/// Groups from this size on are inserted by their members in parallel; below it, waking them costs more.
const PARALLEL_INSERT_BYTES: usize = 16 << 10;

/// Writes a batch atomically.
pub(crate) fn write(core: &DbCore, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
    write_from(core, batch, None, options)
}

/// As [`write`](write()), but the batch stays the caller's, and has the number of its first entry.
pub(crate) fn write_lent(core: &DbCore, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
    let extra = Arc::new(WriteExtra::default());
    let result = write_from(core, std::mem::take(batch), Some(Arc::clone(&extra)), options);
    // None only where the thread that had the batch panicked: then nothing of it was written.
    if let Some(back) = extra.take_batch() {
        *batch = back;
    }
    result
}

/// As [`write`](write()), but `check` may refuse the batch while no other thread writes.
pub(super) fn write_checked(
    core: &DbCore,
    batch: WriteBatch,
    options: &WriteOptions,
    check: PreWriteCheck,
) -> Result<()> {
    if core.families.load().has_in_place() {
        return Err(Error::not_supported(
            "a write with a check needs to know when a key was last written, which inplace_update_support does not keep",
        ));
    }
    write_from(core, batch, Some(Arc::new(WriteExtra::with_check(check))), options)
}

fn write_from(core: &DbCore, batch: WriteBatch, extra: Option<Arc<WriteExtra>>, options: &WriteOptions) -> Result<()> {
    let _watch = core.metrics.watch_write(&*core.env.clock);
    let mut laps = PerfLaps::begin_with_waits();
    // From here on every return takes the batch home.
    let mut request = WriteRequest::Batch { batch, options: *options, first: SequenceNumber(0), checked: None, extra };
    core.jobs.check_open()?;
    if options.sync && options.disable_wal {
        return Err(Error::invalid_argument("Sync writes has to enable WAL."));
    }
    if options.rate_limiter_priority.is_some() {
        check_rate_limiter_priority(core, options)?;
    }
    if request.byte_size() > MAX_COMPRESSED_RECORD_BYTES && !options.disable_wal {
        check_record_limit(core, request.byte_size())?;
    }
    if let WriteRequest::Batch { batch, checked, .. } = &mut request {
        *checked = check_batch(core, batch, options)?;
        core.tracer.write(batch);
    }
    if options.low_pri {
        wait_for_low_pri(core, options, request.byte_size())?;
    }
    laps.lap(PerfMetric::WritePreAndPostProcessTime);
    let role = core.writes.queue().join(request);
    laps.lap_of_wait(PerfMetric::WriteThreadWaitNanos);
    match role {
        Role::Leader(guard, request) => {
            let verdict = lead(core, guard, request, &mut laps);
            // What listeners do is not the write's: they may write, too.
            laps.lap(PerfMetric::WritePreAndPostProcessTime);
            core.events.tell_collected();
            verdict
        }
        Role::Insert(request, group, inserter) => {
            insert_for_group(core, &group, &request);
            laps.lap(PerfMetric::WriteMemtableTime);
            let verdict = inserter.wait();
            laps.lap_of_wait(PerfMetric::WriteThreadWaitNanos);
            verdict
        }
        Role::Verdict(verdict) => verdict,
    }
}

/// Refuses a priority that a write cannot have, with RocksDB's messages.
#[cold]
fn check_rate_limiter_priority(core: &DbCore, options: &WriteOptions) -> Result<()> {
    if !matches!(options.rate_limiter_priority, None | Some(IoPriority::User)) {
        return Err(Error::invalid_argument(
            "WriteOptions::rate_limiter_priority only allows Env::IO_TOTAL and Env::IO_USER due to implementation \
             constraints",
        ));
    }
    if options.disable_wal || core.options.load().manual_wal_flush {
        return Err(Error::invalid_argument(
            "WriteOptions::rate_limiter_priority currently only supports rate-limiting automatic WAL flush, which \
             requires `WriteOptions::disableWAL` and `DBOptions::manual_wal_flush` both set to false",
        ));
    }
    Ok(())
}

/// Refuses a batch that is too large for a record of a compressed log.
#[cold]
fn check_record_limit(core: &DbCore, batch_bytes: usize) -> Result<()> {
    let compression = core.options.load().wal_compression;
    if compression == CompressionType::NoCompression {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "a batch of {batch_bytes} bytes for a log with wal_compression {}, which takes {MAX_COMPRESSED_RECORD_BYTES} \
         at most; write smaller batches, or open with wal_compression kNoCompression",
        compression.option_name()
    )))
}

/// Waits for the rate limiter, for what is about to go into the log. A leader holds no lock: what waits behind it are
/// the writers that the limiter is to slow down, those of its own group and the next ones.
#[cold]
pub(crate) fn wait_for_limiter(core: &DbCore, options: &DbOptions, priority: IoPriority, logged_bytes: usize) {
    if let Some(limiter) = core.rate_limiter(options, IoKind::Write) {
        limiter.request(logged_bytes as u64, priority);
    }
}

/// Runs `work` while no thread writes, and never once the database is closed: the directory may be another opener's
/// then.
pub(crate) fn exclusively<R>(core: &DbCore, work: impl FnOnce() -> R) -> Result<R> {
    match core.writes.queue().join(WriteRequest::Exclusive) {
        Role::Leader(guard, _) => {
            core.writes.publisher().wait_for_inserts();
            let result = core.jobs.check_open().map(|()| work());
            drop(guard);
            core.events.tell_collected();
            result
        }
        Role::Verdict(verdict) => Err(verdict
            .err()
            .unwrap_or_else(|| Error::new(ErrorKind::Aborted, "an exclusive section was taken for a write"))),
        Role::Insert(..) => Err(Error::new(ErrorKind::Aborted, "an exclusive section was taken for a write")),
    }
}

/// Refuses what could fail after the log has it: unknown families, inverted ranges, merges without operator.
/// Returns the generation of the families that were looked at; `None` for a batch of the family that is always there.
fn check_batch(core: &DbCore, batch: &WriteBatch, options: &WriteOptions) -> Result<Option<u64>> {
    if batch.is_simple() {
        return Ok(None);
    }
    let families = core.families.load();
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
            None if options.ignore_missing_column_families && !families.is_leaving(id) => continue,
            None => {
                return Err(Error::invalid_argument(format!(
                    "Invalid column family specified in write batch: family {id} does not exist; it may have been dropped"
                )));
            }
        };
        if matches!(record, Record::Merge { .. }) && last != Some(id) {
            if data.options.load().merge_operator.is_none() {
                return Err(Error::not_supported(format!(
                    "Provide a merge_operator when opening DB: column family {} has none to merge with",
                    data.name
                )));
            }
            last = Some(id);
        }
        if matches!(record, Record::DeleteRange { .. })
            && let factory @ TableFactory::Plain(_) = &data.options.load().table_factory
        {
            return Err(Error::not_supported(format!(
                "CFD::DeleteRange not supported for table type {} in CF {}",
                factory.name(),
                data.name
            )));
        }
        if let Record::PutEntity { entity, .. } = record
            && data.writes_directly()
        {
            direct_writes::check_entity(entity)?;
        }
        if let Record::DeleteRange { begin, end, .. } = record
            && data.comparator.user().compare(begin, end).is_gt()
        {
            let (begin, end) = (begin.escape_ascii(), end.escape_ascii());
            return Err(Error::invalid_argument(format!("delete_range: begin {begin} is behind end {end}")));
        }
    }
    Ok(Some(families.generation()))
}

fn lead(
    core: &DbCore,
    guard: LeaderGuard<'_, WriteRequest, WriteGroup>,
    mut request: WriteRequest,
    laps: &mut PerfLaps,
) -> Result<()> {
    let WriteRequest::Batch { batch, options, checked, .. } = &request else { return Ok(()) };
    let options = *options;
    // Looked at once: what changes meanwhile counts for the next group.
    let db_options = core.options.load();
    let room = make_room(core, &db_options, &options, batch.byte_size());
    laps.lap(PerfMetric::WriteSchedulingFlushesCompactionsTime);
    room?;
    // Families come and go only while no writer leads: what holds now holds until the end of the group.
    let families = core.families.load();
    if checked.is_some_and(|generation| generation != families.generation()) {
        check_batch(core, batch, &options)?;
    }
    if request.has_check() || families.has_callback() || families.has_direct() {
        core.writes.publisher().wait_for_inserts();
        core.jobs.check_error()?;
    }
    request.check(core.visible())?;
    let mut members: Vec<Member<WriteRequest, WriteGroup>> = Vec::new();
    let mut own = None;
    let group_bytes = if families.has_callback() {
        own = in_place_updates::resolve(core, &families, &mut request)?;
        request.byte_size()
    } else {
        let bound = usize::try_from(db_options.max_write_batch_group_size_bytes).unwrap_or(usize::MAX);
        // A group is one record of the log.
        let bound = bound.min(MAX_COMPRESSED_RECORD_BYTES);
        collect_group(&guard, request.byte_size(), bound, &options, families.generation(), &mut members)
    };
    core.writes.memory_pace().note_group(group_bytes);
    if let Some(own) = own.take_if(|_| request.is_empty()) {
        // Every put of it changes nothing.
        request.put_back(own);
        return Ok(());
    }

    let first = core.writes.publisher().given().plus(1);
    let count = number_batches(&mut request, &mut members, first);
    if core.tracer.keeps_write_order() {
        trace_group(core, own.as_ref(), &request, &members);
    }
    // A group of log data alone takes no number.
    let last = SequenceNumber(first.0 - 1 + count);
    let counters = core.metrics.counters();
    let group_number = Counters::get(&counters.write_groups);
    let mut timer = GroupTimer::start(&*core.env.clock, group_number, group_bytes, options.sync, laps);
    let mut replaced = Replaced::default();
    let mut verdict = Ok(());
    let mut log_bytes = group_bytes;
    if families.has_direct() {
        verdict = direct_writes::replace(core, &families, &mut request, &mut members).map(|batches| replaced = batches);
        verdict = verdict.inspect_err(|error| note_value_error(core, error));
        if verdict.is_ok() && options.sync {
            verdict = direct_writes::sync_all(core);
        }
        let works = std::iter::once(&request).chain(members.iter().filter_map(Member::work));
        log_bytes = works.map(WriteRequest::byte_size).sum();
    }
    if options.disable_wal {
        core.writes.note_unlogged();
    } else if verdict.is_ok() {
        if let Some(priority) = options.rate_limiter_priority {
            wait_for_limiter(core, &db_options, priority, log::legacy_size_bytes(log_bytes));
        }
        timer.begin_part();
        verdict = append_group(core, &request, &members, first, count, options.sync);
        timer.lap(&counters.wal_us, PerfMetric::WriteWalTime);
        if verdict.is_err() {
            // The record may be in the log, whole. Its numbers must not be given again: recovery would take the
            // next log, which repeats them, for one that goes back in time, and leave it out.
            core.writes.publisher().wait_for_inserts();
            core.writes.publisher().skip(last);
        }
    }
    let mut guard = Some(guard);
    if verdict.is_ok() {
        let beside_others = db_options.allow_concurrent_memtable_write
            && !families.has_callback()
            && !families.has_direct()
            && !merges_on_write(&families, &request, &members);
        let by_members = beside_others && !members.is_empty() && group_bytes >= PARALLEL_INSERT_BYTES;
        let inserts = Inserts { beside_others, by_members };
        verdict =
            insert_group(core, &db_options, &families, (&request, &mut members), last, inserts, &mut guard, &mut timer);
    }
    note_group(core, members.len() as u64 + 1, count, [group_bytes, log_bytes], &options);
    if families.has_direct() {
        replaced.put_back(&mut request, &mut members);
    }
    // The next group begins while the members of this one are told: what they wrote can be read.
    drop(guard);
    for member in members {
        member.finish(verdict.clone());
    }
    if let Some(own) = own {
        request.put_back(own);
    }
    verdict
}

/// Writes the batches of a group into a trace, as they were given: before values go to blob files. `own` is the batch
/// of a group of one that callbacks have changed.
#[cold]
fn trace_group(
    core: &DbCore,
    own: Option<&WriteBatch>,
    request: &WriteRequest,
    members: &[Member<WriteRequest, WriteGroup>],
) {
    for work in std::iter::once(request).chain(members.iter().filter_map(Member::work)) {
        if let WriteRequest::Batch { batch, .. } = work {
            core.tracer.write_in_order(own.unwrap_or(batch));
        }
    }
}

/// How a group may be put into the memtables.
#[derive(Clone, Copy)]
struct Inserts {
    /// While threads of other groups insert.
    beside_others: bool,
    /// Each member puts its own batch, too.
    by_members: bool,
}

/// Puts a group, which is in the log, into the memtables, and lets readers see it behind the groups before it. The
/// leadership goes on to the next writer where its group can be logged meanwhile.
fn insert_group(
    core: &DbCore,
    db_options: &DbOptions,
    families: &Arc<FamilyMap>,
    (request, members): (&WriteRequest, &mut [Member<WriteRequest, WriteGroup>]),
    last: SequenceNumber,
    inserts: Inserts,
    guard: &mut Option<LeaderGuard<'_, WriteRequest, WriteGroup>>,
    timer: &mut GroupTimer<'_>,
) -> Result<()> {
    let WriteRequest::Batch { options, .. } = request else { return Ok(()) };
    let ignore_missing = options.ignore_missing_column_families;
    let turn = core.writes.publisher().begin_insert(last);
    let mut unfinished = Unfinished(Some(core));
    if inserts.beside_others && guard.as_ref().is_some_and(LeaderGuard::expects_writer) {
        *guard = None;
    }
    timer.begin_part();
    let inserted = if inserts.by_members {
        insert_in_parallel(core, Arc::clone(families), request, members, ignore_missing)
    } else if guard.is_none() {
        insert_alone(core, db_options, families, request, members, InsertMode::Concurrent, ignore_missing)
    } else {
        turn.wait();
        insert_alone(core, db_options, families, request, members, InsertMode::Exclusive, ignore_missing)
    };
    unfinished.0 = None;
    timer.lap(&core.metrics.counters().memtable_us, PerfMetric::WriteMemtableTime);
    turn.wait();
    core.seqno_times.note(last, &*core.env.clock);
    // Before the turn ends: a thread that waits for that must not have half a group flushed.
    if let Err(error) = &inserted {
        core.jobs.set_error(Reason::MemTable, error);
    }
    turn.end(inserted)
}

/// Notes an error, when it is dropped with a database, for the thread that inserts panics. It is declared behind the
/// turn of the group, which so ends later.
struct Unfinished<'a>(Option<&'a DbCore>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(core) = self.0 {
            let error = Error::new(ErrorKind::Aborted, "a thread panicked while it put a write into the memtable");
            core.jobs.set_error(Reason::MemTable, &error);
        }
    }
}

/// True when a batch of the group has an operand that may have to be merged with what other threads would be inserting.
fn merges_on_write(families: &FamilyMap, request: &WriteRequest, members: &[Member<WriteRequest, WriteGroup>]) -> bool {
    let wants = |id| families.get(id).is_some_and(|data| data.options.load().max_successive_merges > 0);
    let merges = |work: &WriteRequest| match work {
        WriteRequest::Batch { batch, .. } if !batch.is_simple() => {
            let mut merges = batch.iter().filter_map(|record| match record {
                Ok(record @ Record::Merge { .. }) => record.column_family(),
                _ => None,
            });
            merges.any(wants)
        }
        _ => false,
    };
    merges(request) || members.iter().filter_map(Member::work).any(merges)
}

/// A value that cannot be taken fails its group alone; a file that failed, the writes behind it, too.
fn note_value_error(core: &DbCore, error: &Error) {
    if error.kind() != ErrorKind::InvalidArgument {
        core.jobs.set_error(Reason::Write, error);
    }
}

/// `bytes` are those of the batches, and those that a log gets.
fn note_group(core: &DbCore, batches: u64, keys: u64, bytes: [usize; 2], options: &WriteOptions) {
    let [bytes, log_bytes] = bytes.map(|bytes| bytes as u64);
    let counters = core.metrics.counters();
    Counters::add(&counters.write_groups, 1);
    Counters::add(&counters.batches_written, batches);
    Counters::add(&counters.keys_written, keys);
    Counters::add(&counters.bytes_written, bytes);
    if !options.disable_wal {
        Counters::add(&counters.wal_bytes, log_bytes);
    }
    if options.disable_wal {
        Counters::add(&counters.unlogged_batches, batches);
    }
    if options.sync {
        Counters::add(&counters.wal_syncs, 1);
    }
    let Some(recorder) = core.metrics.recorder() else { return };
    recorder.add(Ticker::NumberKeysWritten, keys);
    recorder.add(Ticker::BytesWritten, bytes);
    recorder.add(Ticker::WriteDoneBySelf, 1);
    recorder.add(Ticker::WriteDoneByOther, batches - 1);
    recorder.record(Histogram::BytesPerWrite, bytes);
    if !options.disable_wal {
        recorder.add(Ticker::WalFileBytes, log_bytes);
        recorder.add(Ticker::WriteWithWal, batches);
    }
}

fn collect_group(
    guard: &LeaderGuard<'_, WriteRequest, WriteGroup>,
    leader_bytes: usize,
    bound: usize,
    options: &WriteOptions,
    generation: u64,
    members: &mut Vec<Member<WriteRequest, WriteGroup>>,
) -> usize {
    let limit = if leader_bytes <= SMALL_BATCH_BYTES.min(bound / 8) { leader_bytes + bound / 8 } else { bound };
    let mut total = leader_bytes;
    guard.collect(members, |work| match work {
        WriteRequest::Exclusive => false,
        // It is checked by the thread that leads, before anything of its group is logged.
        work if work.has_check() => false,
        WriteRequest::Batch { batch, options: own, checked, .. } => {
            let fits = checked.is_none_or(|checked| checked == generation)
                && (!own.sync || options.sync)
                && own.disable_wal == options.disable_wal
                && own.rate_limiter_priority == options.rate_limiter_priority
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
    core: &DbCore,
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
    let logs = core.writes.logs();
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
        if switch_memtable::passes_log_limit(core, appended.size) {
            core.writes.ask_for_room();
        }
        if sync {
            let synced = core.metrics.timed_sync(&*core.env.clock, || logs.sync());
            synced.and_then(|()| tracked_logs::record(core)).inspect_err(|_| logs.take_back(&appended))
        } else {
            Ok(())
        }
    });
    synced.inspect_err(|error| core.jobs.set_error(Reason::Write, error))
}

fn insert_alone(
    core: &DbCore,
    db_options: &DbOptions,
    families: &FamilyMap,
    request: &WriteRequest,
    members: &[Member<WriteRequest, WriteGroup>],
    mode: InsertMode,
    ignore_missing: bool,
) -> Result<()> {
    let insert = |work: &WriteRequest| match work {
        WriteRequest::Batch { batch, first, .. } => {
            insert_batch(core, db_options, families, batch, *first, mode, ignore_missing)
        }
        WriteRequest::Exclusive => Ok(()),
    };
    insert(request)?;
    members.iter().filter_map(Member::work).try_for_each(insert)
}

fn insert_in_parallel(
    core: &DbCore,
    families: Arc<FamilyMap>,
    request: &WriteRequest,
    members: &mut [Member<WriteRequest, WriteGroup>],
    ignore_missing: bool,
) -> Result<()> {
    let group = Arc::new(WriteGroup::new(families, ignore_missing, members.len() + 1));
    core.metrics.counters().parallel_groups.fetch_add(1, Ordering::Relaxed);
    members.iter_mut().for_each(|member| member.let_insert(Arc::clone(&group)));
    // Also when this thread panics: the turn of the group must not end before all of it has.
    let inserting = group.until_all_have_inserted();
    insert_for_group(core, &group, request);
    drop(inserting);
    group.result()
}

/// Inserts a batch beside the other members of its group.
fn insert_for_group(core: &DbCore, group: &WriteGroup, request: &WriteRequest) {
    group.insert(request, |families, batch, first| {
        let db_options = core.options.load();
        insert_batch(core, &db_options, families, batch, first, InsertMode::Concurrent, group.ignores_missing())
    });
}

/// Inserts a numbered batch and marks memtables that became full.
pub(crate) fn insert_batch(
    core: &DbCore,
    db_options: &DbOptions,
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
        Ok(Target::MemTable(data, data.memtable.load()))
    })
    .merging(successive_merges::merged_value)
    .keeping(core.reads.snapshots());
    inserter.insert_all(batch.iter())?;
    let last = inserter.into_last();
    let note = |data: &ColumnFamilyData| note_memtable_size(core, db_options, data, &data.memtable.load());
    match last {
        Some(Target::MemTable(data, memtable)) if touched[1].is_none() => {
            note_memtable_size(core, db_options, data, &memtable);
        }
        _ if overflow => families.iter().for_each(|data| note(data)),
        _ => touched.into_iter().flatten().filter_map(|id| families.get(id)).for_each(|data| note(data)),
    }
    Ok(())
}

fn note_memtable_size(core: &DbCore, db_options: &DbOptions, data: &ColumnFamilyData, memtable: &MemTable) {
    memtable.note_written(|| core.env.clock.unix_seconds());
    if data.is_full(memtable) && !data.is_memtable_full.swap(true, Ordering::AcqRel) {
        core.writes.ask_for_room();
    }
    if let Some(manager) = &db_options.components.write_buffer_manager {
        memtable.report_memory();
        if manager.should_flush() {
            core.writes.ask_for_room();
        }
    }
    let budget = db_options.db_write_buffer_size;
    if budget > 0 && memtable_bytes(core) >= budget {
        core.writes.ask_for_room();
    }
}

/// Bytes of the memtables that are being written.
pub(crate) fn memtable_bytes(core: &DbCore) -> u64 {
    core.families.load().iter().map(|data| data.memtable.load().approximate_memory_bytes() as u64).sum()
}

/// Gives every batch of the group its first sequence number; returns how many numbers the group takes.
fn number_batches(
    request: &mut WriteRequest,
    members: &mut [Member<WriteRequest, WriteGroup>],
    first: SequenceNumber,
) -> u64 {
    let mut next = first;
    let mut number = |work: &mut WriteRequest| {
        if let WriteRequest::Batch { batch, first, .. } = work {
            *first = next;
            next = next.plus(u64::from(batch.count()));
        }
    };
    number(request);
    members.iter_mut().filter_map(Member::work_mut).for_each(number);
    next.0 - first.0
}

#[cold]
fn missing_family(id: u32) -> Error {
    Error::new(ErrorKind::ColumnFamilyDropped, format!("column family {id} was dropped while the batch was written"))
}
