//! What listeners are told of flushes and compactions: infos, made from what the jobs know.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::events::{Event, thread_number};
use crate::jobs::{FlushInput, ScheduledCompaction};
use crate::options::ColumnFamilyOptions;
use ferrock_base::{Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_format::properties::TableProperties;
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage, NewFile};
use ferrock_memtable::MemTable;
use ferrock_options::FlushReason;
use ferrock_options::{
    BlobFileAdditionInfo, BlobFileCreationInfo, BlobFileGarbageInfo, CompactionFileInfo, CompactionJobInfo,
    CompactionJobStats, CompressionType, FileCreationBriefInfo, FlushJobInfo, SubcompactionJobInfo,
    TableFileCreationInfo,
};
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind};
use ferrock_tree::job::{FileBegun, FileEnded, FileWritten, JobOutput, stats_of_inputs};
use ferrock_tree::places::TablePaths;
use ferrock_vfs::IoActivity;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A flush of a family is about to begin.
pub(super) fn flush_begin(input: &FlushInput, job_id: u64) -> Event {
    let FlushInput { data, memtables, reason, .. } = input;
    let options = data.options.load();
    let files = data.super_version.load().version.level(0).len();
    let (smallest_seqno, largest_seqno) = sequences_of(memtables);
    Event::FlushBegin(Box::new(FlushJobInfo {
        column_family_id: data.id,
        column_family: data.name.clone(),
        file_path: PathBuf::new(),
        file_number: None,
        file_size_bytes: 0,
        oldest_blob_file_number: None,
        thread_id: thread_number(),
        job_id,
        triggered_writes_slowdown: reaches(files, options.level0_slowdown_writes_trigger),
        triggered_writes_stop: reaches(files, options.level0_stop_writes_trigger),
        smallest_seqno,
        largest_seqno,
        table_properties: Arc::default(),
        flush_reason: *reason,
        blob_compression_type: options.blob_compression_type,
        blob_file_addition_infos: Vec::new(),
    }))
}

/// A flush of a family that was installed.
pub(super) struct FlushedFamily<'a> {
    pub(super) data: &'a ColumnFamilyData,
    pub(super) memtables: &'a [Arc<MemTable>],
    pub(super) output: &'a JobOutput,
    /// The blob files that the MANIFEST was told of.
    pub(super) blob_files: &'a [BlobFileAddition],
    pub(super) job_id: u64,
    pub(super) reason: FlushReason,
}

/// A flush of a family was installed.
pub(super) fn flush_completed(flush: &FlushedFamily<'_>) -> Event {
    let FlushedFamily { data, memtables, output, blob_files, job_id, reason } = *flush;
    let options = data.options.load();
    let paths = data.table_cache.paths();
    let files = data.super_version.load().version.level(0).len();
    let file = output.files.first();
    let (smallest_seqno, largest_seqno) =
        file.map_or_else(|| sequences_of(memtables), |file| (file.smallest_seqno, file.largest_seqno));
    let properties = file.and_then(|file| output.properties.get(&file.number)).cloned();
    Event::FlushCompleted(Box::new(FlushJobInfo {
        column_family_id: data.id,
        column_family: data.name.clone(),
        file_path: file.map(|file| path_of(paths, file)).unwrap_or_default(),
        file_number: file.map(|file| file.number),
        file_size_bytes: file.map_or(0, |file| file.size_bytes),
        oldest_blob_file_number: file.and_then(|file| file.oldest_blob_file_number),
        thread_id: thread_number(),
        job_id,
        triggered_writes_slowdown: reaches(files, options.level0_slowdown_writes_trigger),
        triggered_writes_stop: reaches(files, options.level0_stop_writes_trigger),
        smallest_seqno,
        largest_seqno,
        table_properties: properties.unwrap_or_default(),
        flush_reason: reason,
        blob_compression_type: options.blob_compression_type,
        blob_file_addition_infos: additions(paths, blob_files),
    }))
}

fn reaches(files: usize, trigger: i32) -> bool {
    usize::try_from(trigger).is_ok_and(|trigger| trigger > 0 && files >= trigger)
}

fn sequences_of(memtables: &[Arc<MemTable>]) -> (SequenceNumber, SequenceNumber) {
    let smallest = memtables.iter().filter_map(|memtable| memtable.smallest_sequence()).min();
    let largest = memtables.iter().filter_map(|memtable| memtable.largest_sequence()).max();
    (smallest.unwrap_or_default(), largest.unwrap_or_default())
}

fn path_of(paths: &TablePaths, file: &NewFile) -> PathBuf {
    paths.directory(file.path_id).join(file_name::table(file.number))
}

fn additions(paths: &TablePaths, files: &[BlobFileAddition]) -> Vec<BlobFileAdditionInfo> {
    let info = |file: &BlobFileAddition| BlobFileAdditionInfo {
        path: paths.directory(0).join(file_name::blob(file.number)),
        file_number: file.number,
        total_blob_count: file.total_blob_count,
        total_blob_bytes: file.total_blob_bytes,
    };
    files.iter().map(info).collect()
}

fn garbage(paths: &TablePaths, files: &[BlobFileGarbage]) -> Vec<BlobFileGarbageInfo> {
    let info = |file: &BlobFileGarbage| BlobFileGarbageInfo {
        path: paths.directory(0).join(file_name::blob(file.number)),
        file_number: file.number,
        garbage_blob_count: file.garbage_blob_count,
        garbage_blob_bytes: file.garbage_blob_bytes,
    };
    files.iter().map(info).collect()
}

/// How the outputs of a compaction are compressed.
pub(super) fn compression_of(choice: &CompactionChoice, options: &ColumnFamilyOptions) -> CompressionType {
    let by_options = options.compression_for(choice.output_level, choice.version.base_level(), choice.is_bottommost);
    choice.compression.unwrap_or(by_options.0)
}

/// A compaction as it is now: without `output` it begins, or has failed.
pub(super) fn compaction(
    core: &DbCore,
    job: &ScheduledCompaction,
    output: Option<&JobOutput>,
    elapsed_us: u64,
    status: Result<()>,
) -> CompactionJobInfo {
    let (data, choice) = (&job.data, &job.choice);
    let paths = data.table_cache.paths();
    let options = data.options.load();
    let mut info = CompactionJobInfo {
        column_family_id: data.id,
        column_family: data.name.clone(),
        thread_id: thread_number(),
        job_id: job.job_id,
        num_l0_files: core.versions.current(data.id).map_or(0, |version| version.level(0).len()),
        base_input_level: choice.start_level,
        output_level: choice.output_level,
        input_files: Vec::new(),
        input_file_infos: Vec::new(),
        output_files: Vec::new(),
        output_file_infos: Vec::new(),
        table_properties: BTreeMap::new(),
        compaction_reason: choice.reason,
        compression: compression_of(choice, &options),
        stats: stats(job, output, elapsed_us),
        blob_compression_type: options.blob_compression_type,
        blob_file_addition_infos: output.map(|output| additions(paths, &output.blob_files)).unwrap_or_default(),
        blob_file_garbage_infos: output.map(|output| garbage(paths, &output.garbage)).unwrap_or_default(),
        aborted: false,
        status,
    };
    for (level, file) in choice.input_files() {
        let path = path_of(paths, file.recorded());
        // Nothing is opened to be dropped.
        let table = match choice.kind {
            CompactionKind::Drop => data.table_cache.get_if_open(file),
            _ => data.table_cache.get_for_job(file, IoActivity::Unknown).ok(),
        };
        if let Some(table) = table {
            info.table_properties.insert(path.clone(), Arc::clone(table.properties()));
        }
        info.input_files.push(path);
        info.input_file_infos.push(file_info(level, file.recorded()));
    }
    for file in output.iter().flat_map(|output| &output.files) {
        let path = path_of(paths, file);
        if let Some(properties) = output.and_then(|output| output.properties.get(&file.number)) {
            info.table_properties.insert(path.clone(), Arc::clone(properties));
        }
        info.output_files.push(path);
        info.output_file_infos.push(file_info(file.level as usize, file));
    }
    info
}

fn file_info(level: usize, file: &NewFile) -> CompactionFileInfo {
    CompactionFileInfo { level, file_number: file.number, oldest_blob_file_number: file.oldest_blob_file_number }
}

pub(super) fn stats(job: &ScheduledCompaction, output: Option<&JobOutput>, elapsed_us: u64) -> CompactionJobStats {
    let before = stats_of_inputs(&job.choice, job.is_manual);
    let num_input_files_trivially_moved = match job.choice.kind {
        CompactionKind::Move => before.num_input_files - before.num_input_files_at_output_level,
        CompactionKind::Merge | CompactionKind::Drop | CompactionKind::Copy => 0,
    };
    let Some(output) = output else {
        return CompactionJobStats { elapsed_us, num_input_files_trivially_moved, ..before };
    };
    CompactionJobStats {
        elapsed_us,
        num_input_files: before.num_input_files,
        num_input_files_trivially_moved,
        num_input_files_at_output_level: before.num_input_files_at_output_level,
        total_input_bytes: before.total_input_bytes,
        is_full_compaction: before.is_full_compaction,
        is_manual_compaction: before.is_manual_compaction,
        ..output.stats.clone()
    }
}

fn part(job: &ScheduledCompaction, part: usize, stats: CompactionJobStats, status: Result<()>) -> SubcompactionJobInfo {
    let (data, choice) = (&job.data, &job.choice);
    let options = data.options.load();
    SubcompactionJobInfo {
        column_family_id: data.id,
        column_family: data.name.clone(),
        status,
        thread_id: thread_number(),
        job_id: job.job_id,
        subcompaction_job_id: part,
        base_input_level: choice.start_level,
        output_level: choice.output_level,
        compaction_reason: choice.reason,
        compression: compression_of(choice, &options),
        stats,
        blob_compression_type: options.blob_compression_type,
    }
}

/// A part of a compaction begins.
pub(super) fn part_begun(job: &ScheduledCompaction, index: usize) -> Event {
    Event::SubcompactionBegin(Box::new(part(job, index, CompactionJobStats::default(), Ok(()))))
}

/// A part of a compaction ended.
pub(super) fn part_ended(
    job: &ScheduledCompaction,
    index: usize,
    stats: &CompactionJobStats,
    result: &Result<()>,
) -> Event {
    Event::SubcompactionCompleted(Box::new(part(job, index, stats.clone(), result.clone())))
}

fn brief(core: &DbCore, job_id: u64, file: &FileBegun<'_>) -> FileCreationBriefInfo {
    FileCreationBriefInfo {
        db_name: core.files.database().to_path_buf(),
        column_family: file.column_family.to_owned(),
        file_path: file.path.to_path_buf(),
        job_id,
        reason: file.reason,
    }
}

/// A job is about to write a file.
pub(super) fn file_begun(core: &DbCore, job_id: u64, file: &FileBegun<'_>) -> Event {
    let info = brief(core, job_id, file);
    if file.is_blob_file { Event::BlobFileCreationStarted(info) } else { Event::TableFileCreationStarted(info) }
}

/// A job has written a file, or failed to.
pub(super) fn file_ended(core: &DbCore, job_id: u64, ended: &FileEnded<'_>) -> Event {
    let file = brief(core, job_id, &ended.file);
    let status = ended.result.as_ref().map_or_else(|error| Err(error.clone()), |_| Ok(()));
    let checksum = match &ended.result {
        Ok(FileWritten::Table { checksum, .. } | FileWritten::Blob { checksum, .. }) => checksum.clone(),
        Err(_) => None,
    };
    let (file_checksum_func_name, file_checksum) =
        checksum.map(|checksum| (checksum.function_name, checksum.value)).unwrap_or_default();
    if ended.file.is_blob_file {
        let (total_blob_count, total_blob_bytes) = match ended.result {
            Ok(FileWritten::Blob { count, bytes, .. }) => (count, bytes),
            _ => (0, 0),
        };
        return Event::BlobFileCreated(Box::new(BlobFileCreationInfo {
            file,
            total_blob_count,
            total_blob_bytes,
            status,
            file_checksum,
            file_checksum_func_name,
        }));
    }
    let (file_size_bytes, table_properties): (u64, Arc<TableProperties>) = match &ended.result {
        Ok(FileWritten::Table { size_bytes, properties, .. }) => (*size_bytes, Arc::clone(properties)),
        _ => (0, Arc::default()),
    };
    Event::TableFileCreated(Box::new(TableFileCreationInfo {
        file,
        file_size_bytes,
        table_properties,
        status,
        file_checksum,
        file_checksum_func_name,
    }))
}
