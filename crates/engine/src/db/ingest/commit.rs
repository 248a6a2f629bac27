//! The moment at which files become part of the tree, while writers are held.

use super::prepare::{Prepared, PreparedFamily, deletes_in, has_entry_in};
use super::prepared_file::PreparedFile;
use crate::column_family::ColumnFamilyData;
use crate::db::{DbCore, switch_memtable, write};
use crate::jobs::Switch;
use crate::jobs::background_error::Reason;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber, ValueType};
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_memtable::MemTable;
use ferrock_options::{CompactionShape, FlushReason};
use ferrock_statistics::{PerfMetric, PerfTimer};
use ferrock_tree::compaction::choice::{
    CompactionChoice, CompactionKind, CompactionReason, LevelInputs, RunningCompactions, RunningId,
};
use ferrock_tree::ingestion::{Incoming, Place, PlacementRules, place, place_behind};
use ferrock_tree::version::boundary::BoundaryRange;
use ferrock_tree::version::{FileMetadata, Version};
use std::sync::Arc;

/// The epoch of files that are ingested behind, older than all others: RocksDB's.
const EPOCH_BEHIND: u64 = 1;

/// When memtables are flushed that have keys of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flushes {
    /// By the caller, while writers go on.
    Outside,
    /// Here.
    WhileWritersAreHeld,
}

/// What became of an attempt.
pub(super) enum Attempt {
    Done(Placed),
    /// Memtables of these families have keys of the files.
    NeedsFlush(Vec<u32>),
}

/// By family, where its files went.
pub(super) type Placed = Vec<Vec<Place>>;

/// Takes the files in, unless memtables have to be flushed first.
pub(super) fn attempt(core: &DbCore, prepared: &mut Prepared<'_>, flushes: Flushes) -> Result<Attempt> {
    write::exclusively(core, || {
        let _timer = PerfTimer::begin(PerfMetric::FileIngestionBlockingLiveWritesNanos);
        core.jobs.check_error()?;
        check_not_dropped(core, &prepared.families)?;
        let ids = families_to_flush(&prepared.families)?;
        if !ids.is_empty() {
            if flushes == Flushes::Outside {
                return Ok(Attempt::NeedsFlush(ids));
            }
            flush_now(core, &ids)?;
        }
        // What was written before must not be lost where the files are kept. Little is left to be synced.
        core.sync_logs().inspect_err(|error| core.jobs.set_error(Reason::Write, error))?;
        install(core, prepared).map(Attempt::Done)
    })?
}

fn check_not_dropped(core: &DbCore, families: &[PreparedFamily<'_>]) -> Result<()> {
    let known = core.families.load();
    let is_known =
        |family: &PreparedFamily<'_>| known.get(family.data.id).is_some_and(|data| Arc::ptr_eq(data, &family.data));
    match families.iter().find(|family| !is_known(family)) {
        Some(family) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("cannot ingest an external file into a dropped CF: {}", family.data.name),
        )),
        None => Ok(()),
    }
}

/// The families of which a memtable has a key of a file.
fn families_to_flush(families: &[PreparedFamily<'_>]) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    // What memtables have hides what comes behind it.
    for family in families.iter().filter(|family| !family.options.ingest_behind) {
        let pinned = family.data.super_version.load();
        for memtable in std::iter::once(&pinned.memtable).chain(&pinned.immutable) {
            let Some(file) = overlapping(&family.data, memtable, &family.files)? else { continue };
            if !family.options.allow_blocking_flush {
                return Err(Error::invalid_argument(
                    "External file requires flush: a memtable has a key of its range, and allow_blocking_flush is off",
                )
                .in_file(&file.external_path));
            }
            ids.push(family.data.id);
            break;
        }
    }
    Ok(ids)
}

/// A file in whose range the memtable has a key, or deletes one.
fn overlapping<'f>(
    data: &ColumnFamilyData,
    memtable: &Arc<MemTable>,
    files: &'f [PreparedFile],
) -> Result<Option<&'f PreparedFile>> {
    if memtable.is_empty() && memtable.num_range_deletes() == 0 {
        return Ok(None);
    }
    let order = data.comparator.user();
    let (mut entries, tombstones) = (memtable.iter(), memtable.range_tombstones());
    for file in files {
        let range = &file.incoming.range;
        if tombstones.as_ref().is_some_and(|found| deletes_in(order, found, range))
            || has_entry_in(order, &mut entries, range)?
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Flushes memtables on the way: the thread leads the writers.
fn flush_now(core: &DbCore, ids: &[u32]) -> Result<()> {
    let reason = FlushReason::ExternalFileIngestion;
    let all = if core.jobs.is_flush_atomic() { core.jobs.families() } else { Vec::new() };
    let ids = if all.is_empty() { ids } else { &all };
    let switches: Vec<Switch> = ids.iter().map(|&id| Switch { id, flush_now: true, reason }).collect();
    switch_memtable::switch_memtables(core, &switches)?;
    let targets = core.jobs.request_flush(ids, false, reason);
    core.jobs.schedule();
    core.jobs.wait_for_flush(&targets)
}

/// What is marked against compactions. It is let go when this is dropped.
struct Marked<'a> {
    core: &'a DbCore,
    running: Vec<(u32, RunningId)>,
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        self.running.drain(..).for_each(|(id, running)| self.core.jobs.finish_manual_piece(id, running));
    }
}

fn install(core: &DbCore, prepared: &mut Prepared<'_>) -> Result<Placed> {
    let installs = core.installs.lock();
    let last = core.writes.publisher().given();
    let has_snapshots = core.reads.snapshots().oldest().is_some();
    let mut marked = Marked { core, running: Vec::new() };
    let (mut placed, mut edits) = (Vec::new(), Vec::new());
    for family in &prepared.families {
        let (places, edit) = place_family(core, family, has_snapshots, last, &mut marked)?;
        placed.push(places);
        edits.push(edit);
    }
    let numbers = edits.iter().flat_map(|edit| edit.new_files.iter().map(|file| file.largest_seqno));
    let newest = numbers.max().unwrap_or_default().max(last);
    if let Err(error) = core.versions.log_and_apply_atomic(edits) {
        // The edit may have reached the disk. Then the files stay, and no write gets a number of theirs.
        if core.versions.is_uncertain() {
            core.jobs.set_error(Reason::Manifest, &error);
            prepared.hand_over();
            core.writes.publisher().skip(newest);
        }
        return Err(error);
    }
    prepared.hand_over();
    let changes: Vec<_> = prepared.families.iter().map(|family| family.data.outside_changes.begin()).collect();
    for family in &prepared.families {
        core.jobs.install(family.data.id, core.versions.current(family.data.id));
    }
    // Behind that: a snapshot of this number sees the files from its begin.
    if newest > last {
        core.writes.publisher().skip(newest);
    }
    drop(changes);
    drop(marked);
    drop(installs);
    Ok(placed)
}

/// Chooses where the files of a family go, marks it, and says it for the MANIFEST.
fn place_family(
    core: &DbCore,
    family: &PreparedFamily<'_>,
    has_snapshots: bool,
    last: SequenceNumber,
    marked: &mut Marked<'_>,
) -> Result<(Vec<Place>, VersionEdit)> {
    let (data, options) = (&family.data, family.options);
    let version = core.versions.current(data.id);
    let version = version.ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]))?;
    // What comes behind must find numbers above 0.
    let is_above_reserved = version.reserves_last_level() && !options.allow_db_generated_files;
    let rules = PlacementRules {
        numbers_all: options.snapshot_consistency && has_snapshots || is_above_reserved,
        keeps_numbers: options.allow_db_generated_files,
        only_level_0: data.options.load().compaction_shape() == CompactionShape::Queue,
        only_last_level: options.fail_if_not_bottommost_level,
    };
    let incoming: Vec<Incoming> = family.files.iter().map(|file| file.incoming.clone()).collect();
    let mut places = Vec::new();
    let choose = |running: &RunningCompactions| {
        places = match options.ingest_behind {
            true => place_behind(&version, &incoming)?,
            false => place(&version, running, &incoming, rules, last)?,
        };
        let needs_number = places.iter().position(|place| place.sequence > SequenceNumber(0));
        if let Some(index) = needs_number.filter(|_| !options.allow_global_seqno) {
            return Err(Error::invalid_argument(
                "Global seqno is required, but disabled: the file overlaps keys that are there, another file, or the \
                 output of a compaction, or snapshots must not see it (allow_global_seqno)",
            )
            .in_file(&family.files[index].external_path));
        }
        Ok(marks(&version, &family.files, &places))
    };
    let running = core.jobs.begin_ingestion(data, choose)?;
    marked.running.extend(running.into_iter().map(|running| (data.id, running)));
    let mut edit = VersionEdit::for_column_family(data.id);
    for (file, place) in family.files.iter().zip(&places) {
        edit.new_files.push(new_file(core, family, file, *place)?);
    }
    Ok((places, edit))
}

/// As compactions that move the files to where they go: what begins meanwhile keeps away from there.
fn marks(version: &Arc<Version>, files: &[PreparedFile], places: &[Place]) -> Vec<CompactionChoice> {
    let reason = CompactionReason::ExternalSstIngestion;
    let mark = |(file, place): (&PreparedFile, &Place)| {
        let BoundaryRange { smallest, largest } = file.incoming.range.clone();
        let (smallest, largest) = (smallest.unwrap_or_default(), largest.unwrap_or_default());
        let file = NewFile { number: file.number, smallest, largest, ..NewFile::default() };
        let inputs = vec![LevelInputs { level: place.level, files: vec![Arc::new(FileMetadata::from(file))] }];
        CompactionChoice::of_whole_files(CompactionKind::Move, reason, version, inputs, place.level)
    };
    files.iter().zip(places).map(mark).collect()
}

fn new_file(core: &DbCore, family: &PreparedFamily<'_>, file: &PreparedFile, place: Place) -> Result<NewFile> {
    let (data, options) = (&family.data, family.options);
    let now_secs = core.env.clock.unix_seconds();
    let (smallest_seqno, largest_seqno) = file.kept.unwrap_or((place.sequence, place.sequence));
    let BoundaryRange { smallest, largest } = file.incoming.range.clone();
    let properties = &file.properties;
    Ok(NewFile {
        level: u32::try_from(place.level).unwrap_or(u32::MAX),
        number: file.number,
        size_bytes: file.size_bytes,
        smallest: numbered(smallest.unwrap_or_default(), place.sequence),
        largest: numbered(largest.unwrap_or_default(), place.sequence),
        smallest_seqno,
        largest_seqno,
        // A table that deletes one range and has nothing else.
        needs_compaction: properties.num_range_deletions == 1 && properties.num_entries == 1,
        oldest_ancester_time_secs: now_secs,
        file_creation_time_secs: now_secs,
        epoch_number: Some(match options.ingest_behind {
            true => EPOCH_BEHIND,
            false => core.versions.new_epoch_number(data.id)?,
        }),
        temperature: file.temperature,
        unique_id: file.unique_id(),
        tail_size_bytes: file.tail_size_bytes(),
        checksum: file.checksum.clone(),
        ..NewFile::default()
    })
}

/// A boundary as its entry shows it when the file has a number. The end of a range deletion keeps its own.
fn numbered(key: Vec<u8>, sequence: SequenceNumber) -> Vec<u8> {
    let packed = ferrock_base::internal_key::trailer(&key);
    match ValueType::from_u8(packed as u8) {
        Some(value_type) if packed >> 8 == 0 => make_internal_key(user_key(&key), sequence, value_type),
        _ => key,
    }
}
