//! Values that are written to blob files at once (`enable_blob_direct_write`).
//!
//! ```text
//! batch of the caller    put k <4 KiB>  | put l <20 bytes> | merge m +1
//! batch that is written  blob index k   | put l <20 bytes> | merge m +1       to the log and the memtable
//! blob file of the memtable               <- record of k, before the log has the index
//! ```
//!
//! The thread that leads the write queue does this for its whole group, once there is room: the memtable that gets a
//! reference is the one whose files have the value. The callers get their own batches back.
//!
//! | | |
//! |---|---|
//! | put from `min_blob_size` on | into a blob file |
//! | entity | each such column; all of an entity go to one file, unless it is full |
//! | | which file: `blob_direct_write_partition_strategy`, or each in turn |
//! | entity with references, made by the caller | refused, as by RocksDB: nothing would account for them |
//! | merge, timed put, blob index of the caller | as they are |
//!
//! A write that fails behind this leaves records in blob files that nothing refers to. The flush of the memtable
//! counts what its table refers to, so they are garbage from the start, as are values that were written over.
//!
//! What the operating system gets comes in this order: values, then the log. So does what a sync makes durable. After a
//! crash of the process every record of the log finds its value; after one of the machine those that were synced do,
//! and recovery ends at the first that does not ([`recovery`](super::recovery)).
//!
//! Closing flushes, whatever `avoid_flush_during_shutdown` says, as in RocksDB, which does not read such values through
//! its log.

use super::DbCore;
use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::jobs::background_error::Reason;
use crate::options::ColumnFamilyOptions;
use crate::write::insert::copy_record;
use crate::write::queue::Member;
use crate::write::request::{WriteGroup, WriteRequest};
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage};
use ferrock_format::wide_column::{WideColumn, decode_entity, encode_columns};
use ferrock_format::write_batch::{Record, WriteBatch};
use ferrock_memtable::MemTable;
use ferrock_options::{BlobFilePartitionStrategy, PrepopulateBlobCache};
use ferrock_tree::blob::{BlobFlow, DirectBlobs, DirectOptions};
use ferrock_tree::version::BlobFileMetadata;
use std::sync::Arc;

/// The batches that callers brought, in whose place others are written: of the leader, then of the members.
#[derive(Default)]
pub(super) struct Replaced(Vec<Option<WriteBatch>>);

impl Replaced {
    /// Gives the batches back.
    pub(super) fn put_back(self, request: &mut WriteRequest, members: &mut [Member<WriteRequest, WriteGroup>]) {
        let works = std::iter::once(request).chain(members.iter_mut().filter_map(Member::work_mut));
        for (work, own) in works.zip(self.0) {
            if let Some(own) = own {
                work.put_back(own);
            }
        }
    }
}

/// Writes the values of a group that belong into blob files, and replaces its batches by such with references. The
/// caller leads the write queue, has made room, and has logged nothing yet.
///
/// # Errors
/// Of the file system; `InvalidArgument` for a value that its compression cannot take. Then the batches are those of
/// the callers.
pub(super) fn replace(
    core: &DbCore,
    families: &FamilyMap,
    request: &mut WriteRequest,
    members: &mut [Member<WriteRequest, WriteGroup>],
) -> Result<Replaced> {
    let mut writer = GroupWriter { core, families, last: None, touched: Vec::new() };
    let mut replaced = Replaced::default();
    let works = std::iter::once(&mut *request).chain(members.iter_mut().filter_map(Member::work_mut));
    let mut written = Ok(());
    for work in works {
        let WriteRequest::Batch { batch, .. } = work else { continue };
        match writer.rewrite(batch) {
            Ok(rewritten) => replaced.0.push(rewritten.map(|new| std::mem::replace(batch, new))),
            Err(error) => {
                written = Err(error);
                break;
            }
        }
    }
    let is_wanted = written.is_ok();
    for memtable in std::mem::take(&mut writer.touched) {
        let flushed = memtable.companion::<DirectBlobs>().map_or(Ok(()), |blobs| blobs.flush(is_wanted));
        written = written.and(flushed);
    }
    match written {
        Ok(()) => Ok(replaced),
        Err(error) => {
            replaced.put_back(request, members);
            Err(error)
        }
    }
}

/// The columns of an entity for a family that writes directly. Asked before the batch joins a group, which would fail
/// with it.
///
/// # Errors
/// `NotSupported` for an entity with references; `Corruption` for one that is damaged.
pub(super) fn check_entity(entity: &[u8]) -> Result<Vec<WideColumn<'_>>> {
    let columns = decode_entity(entity)?;
    if columns.iter().any(|column| column.is_blob_index) {
        return Err(Error::not_supported(
            "enable_blob_direct_write: an entity with references to blob files; put its values in their place",
        ));
    }
    Ok(columns)
}

/// A family that writes directly.
struct Target {
    data: Arc<ColumnFamilyData>,
    options: Arc<ColumnFamilyOptions>,
    memtable: Arc<MemTable>,
}

impl Target {
    fn is_wanted(&self) -> bool {
        self.options.enable_blob_files
    }
}

struct GroupWriter<'a> {
    core: &'a DbCore,
    families: &'a FamilyMap,
    /// The family last seen: most batches have one.
    last: Option<(u32, Option<Target>)>,
    touched: Vec<Arc<MemTable>>,
}

impl GroupWriter<'_> {
    /// The batch with references; `None` where it has no value for a blob file.
    fn rewrite(&mut self, batch: &WriteBatch) -> Result<Option<WriteBatch>> {
        let mut out: Option<WriteBatch> = None;
        let mut passed = 0_usize;
        for record in batch.iter() {
            let record = record?;
            let moved = self.moved(&record)?;
            if moved.is_none() && out.is_none() {
                passed += 1;
                continue;
            }
            if out.is_none() {
                let mut begun = WriteBatch::with_capacity(0);
                for earlier in batch.iter().take(passed) {
                    copy_record(&mut begun, &earlier?)?;
                }
                out = Some(begun);
            }
            let Some(out) = &mut out else { continue };
            match (moved, record) {
                (Some(index), Record::Put { column_family, key, .. }) => {
                    out.put_blob_index_cf(column_family, key, &index)?;
                }
                (Some(entity), Record::PutEntity { column_family, key, .. }) => {
                    out.put_encoded_entity_cf(column_family, key, &entity)?;
                }
                (_, record) => copy_record(out, &record)?,
            }
        }
        Ok(out)
    }

    /// What takes the place of the value of a record; `None` where it stays.
    fn moved(&mut self, record: &Record<'_>) -> Result<Option<Vec<u8>>> {
        match *record {
            Record::Put { column_family, key, value } => {
                if !self.takes(column_family, value) {
                    return Ok(None);
                }
                let partition = self.partition(column_family, |strategy, partitions| {
                    strategy.select_partition(partitions, column_family, key, value)
                });
                Ok(self.add(column_family, key, value, partition)?.map(|reference| reference.encode()))
            }
            Record::PutEntity { column_family, key, entity } if self.target(column_family).is_some() => {
                let columns = check_entity(entity)?;
                if !columns.iter().any(|column| self.takes(column_family, column.value)) {
                    return Ok(None);
                }
                let partition = self.partition(column_family, |strategy, partitions| {
                    let pairs: Vec<_> = columns.iter().map(|column| (column.name, column.value)).collect();
                    strategy.select_partition_of_entity(partitions, column_family, key, &pairs)
                });
                let mut indexes = Vec::with_capacity(columns.len());
                for column in &columns {
                    let taken = self.takes(column_family, column.value);
                    let added = if taken { self.add(column_family, key, column.value, partition)? } else { None };
                    indexes.push(added.map(|reference| reference.encode()));
                }
                if indexes.iter().all(Option::is_none) {
                    return Ok(None);
                }
                let placed = columns.iter().zip(&indexes).map(|(column, index)| match index {
                    Some(index) => WideColumn { value: index, is_blob_index: true, ..*column },
                    None => *column,
                });
                encode_columns(&placed.collect::<Vec<_>>()).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn target(&mut self, id: u32) -> Option<&Target> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            let data = self.families.get(id).filter(|data| data.writes_directly()).cloned();
            let target = data.map(|data| {
                let (options, memtable) = (data.options.load_full(), data.memtable.load_full());
                Target { data, options, memtable }
            });
            self.last = Some((id, target.filter(Target::is_wanted)));
        }
        self.last.as_ref()?.1.as_ref()
    }

    /// True for a value that goes into a blob file of the family.
    fn takes(&mut self, id: u32, value: &[u8]) -> bool {
        !value.is_empty() && self.target(id).is_some_and(|target| value.len() as u64 >= target.options.min_blob_size)
    }

    /// The partition that a value of the family goes to: by the strategy, or the next in turn.
    fn partition(&mut self, id: u32, select: impl FnOnce(&dyn BlobFilePartitionStrategy, u32) -> u32) -> u64 {
        let Some(Target { options, memtable, .. }) = self.target(id) else { return 0 };
        match &options.blob_direct_write_partition_strategy {
            Some(strategy) => u64::from(select(&**strategy, options.blob_direct_write_partitions.max(1))),
            None => memtable.companion::<DirectBlobs>().map_or(0, DirectBlobs::next_partition),
        }
    }

    fn add(&mut self, id: u32, key: &[u8], value: &[u8], partition: u64) -> Result<Option<BlobReference>> {
        let core = self.core;
        let Some(Target { data, options, memtable }) = self.target(id) else { return Ok(None) };
        let Some(blobs) = memtable.companion::<DirectBlobs>() else { return Ok(None) };
        let warms = match options.prepopulate_blob_cache {
            PrepopulateBlobCache::Disable => false,
            PrepopulateBlobCache::FlushOnly => true,
        };
        let db_options = core.options.load();
        let how = DirectOptions {
            settings: options,
            bytes_per_sync: db_options.bytes_per_sync,
            strict_bytes_per_sync: db_options.strict_bytes_per_sync,
            warmed: data.blob_cache.as_deref().filter(|_| warms),
            partition,
        };
        // Noted before the value is taken: what waits for the operating system must not wait for another group.
        let memtable = Arc::clone(memtable);
        let added = blobs.add(&how, key, value, || core.files.keep(|| core.versions.new_file_number()));
        if !self.touched.iter().any(|known| Arc::ptr_eq(known, &memtable)) {
            self.touched.push(memtable);
        }
        added.map(Some)
    }
}

/// Makes the values durable that records of the logs refer to: before the logs, or a crash would keep a reference and
/// not what it refers to.
///
/// # Errors
/// Of the file system; no write is accepted then until `resume`.
pub(super) fn sync_all(core: &DbCore) -> Result<()> {
    sync_values(core).inspect_err(|error| core.jobs.set_error(Reason::Write, error))
}

/// As [`sync_all`], for what syncs logs while others write: they call it when it is settled which records are synced
/// ([`Logs::sync_behind`](crate::write::logs::Logs::sync_behind)), with locks held, and raise the error themselves.
pub(super) fn sync_values(core: &DbCore) -> Result<()> {
    let families = core.families.load();
    if !families.has_direct() {
        return Ok(());
    }
    // A family whose drop is not durable is there again after a crash.
    for data in families.iter_with_leaving() {
        for memtable in data.direct_memtables() {
            memtable.companion::<DirectBlobs>().map_or(Ok(()), DirectBlobs::sync)?;
        }
    }
    Ok(())
}

/// True when values are in files that no version has.
pub(super) fn has_files(core: &DbCore) -> bool {
    let families = core.families.load();
    families.has_direct()
        && families.iter().flat_map(|data| data.direct_memtables()).any(|memtable| {
            memtable.companion::<DirectBlobs>().is_some_and(DirectBlobs::has_files) && !memtable.is_empty()
        })
}

/// Everything that was written is in tables, and the logs are needless: what failed in files of memtables without
/// entries is of no use any more, and must fail no later sync.
pub(super) fn forget_failed(core: &DbCore) {
    for data in core.families.load().iter().filter(|data| data.writes_directly()) {
        let memtable = data.memtable.load_full();
        if let Some(blobs) = memtable.companion::<DirectBlobs>().filter(|_| memtable.is_empty()) {
            blobs.forget_failed();
        }
    }
}

/// The family is gone: its files go with its memtables.
pub(super) fn abandon(data: &ColumnFamilyData) {
    for memtable in data.direct_memtables() {
        if let Some(blobs) = memtable.companion::<DirectBlobs>() {
            blobs.abandon();
        }
    }
}

/// The memtables are in tables that refer to none of these files: they go with the memtables.
pub(super) fn abandon_files(memtables: &[Arc<MemTable>], numbers: &[FileNumber]) {
    if numbers.is_empty() {
        return;
    }
    for blobs in memtables.iter().filter_map(|memtable| memtable.companion::<DirectBlobs>()) {
        blobs.abandon_files(numbers);
    }
}

/// Completes the blob files of memtables that are about to be flushed.
///
/// # Errors
/// Of the file system.
pub(super) fn complete(core: &DbCore, memtables: &[Arc<MemTable>]) -> Result<Vec<BlobFileAddition>> {
    let mut complete = Vec::new();
    for blobs in memtables.iter().filter_map(|memtable| memtable.companion::<DirectBlobs>()) {
        for file in blobs.complete()? {
            let bytes = BlobFileMetadata::new(file.clone()).file_size_bytes();
            core.files.deletion().count(blobs.path(file.number), bytes);
            complete.push(file);
        }
    }
    Ok(complete)
}

/// What the MANIFEST is to know of complete files, to which a table has these references.
pub(super) fn additions(
    complete: &[BlobFileAddition],
    written: &BlobFlow,
) -> (Vec<BlobFileAddition>, Vec<BlobFileGarbage>) {
    let (mut added, mut garbage) = (Vec::new(), Vec::new());
    for (addition, unused) in complete.iter().filter_map(|file| written.adopt(file)) {
        added.push(addition);
        garbage.extend(unused);
    }
    (added, garbage)
}
