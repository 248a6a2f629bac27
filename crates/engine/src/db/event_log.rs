//! The LOG's lines of JSON: what happened to files and jobs, with RocksDB's keys, in its order.
//!
//! ```text
//! recovery_started, table_file_creation ..., recovery_finished          an open that reads logs
//! flush_started, [blob_file_creation], table_file_creation, flush_finished
//! compaction_started, files ..., compaction_finished, files' deletions  compactions that read their inputs
//! trivial_move                                                          those that do not
//! ingest_finished                                                       tables from outside, once a family
//! ```
//!
//! The lines of deletions are written where files are removed (`files/mod.rs`). As in RocksDB a compaction that drops
//! whole files has no other lines than those. Nothing is gathered where the LOG's level is higher than `Info`.
//!
//! What RocksDB does not write is added in one case: the line of the end of a compaction that failed says so in
//! `status`.

use super::{DbCore, job_events};
use crate::column_family::ColumnFamilyData;
use crate::events::{Item, JsonLine};
use crate::jobs::{FlushInput, ScheduledCompaction};
use ferrock_base::file_checksum::{FileChecksum, UNKNOWN_FUNCTION};
use ferrock_base::{FileNumber, MAX_SEQUENCE_NUMBER, Result};
use ferrock_format::file_name;
use ferrock_format::properties::TableProperties;
use ferrock_memtable::MemTable;
use ferrock_tree::compaction::choice::CompactionKind;
use ferrock_tree::job::{FileEnded, FileWritten, JobOutput};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs a recovery from `logs` with the number of a job, between the lines of its begin and its end. Without logs there
/// is nothing to tell.
pub(super) fn recovery<T>(core: &DbCore, logs: &[FileNumber], run: impl FnOnce(u64) -> Result<T>) -> Result<T> {
    let job_id = core.jobs.new_job_id();
    if logs.is_empty() {
        return run(job_id);
    }
    core.events.log_event("recovery_started", Some(job_id), |line| {
        line.numbers("wal_files", logs.iter().map(|number| number.0));
    });
    let result = run(job_id);
    let (name, status) = match &result {
        Ok(_) => ("recovery_finished", Ok(())),
        Err(error) => ("recovery_failed", Err(error.clone())),
    };
    core.events.log_event(name, Some(job_id), |line| {
        line.status(&status);
    });
    result
}

/// A flush of a family begins.
pub(super) fn flush_started(core: &DbCore, input: &FlushInput, job_id: u64) {
    core.events.log_event("flush_started", Some(job_id), |line| {
        let sum = |of: &dyn Fn(&MemTable) -> u64| input.memtables.iter().map(|memtable| of(memtable)).sum::<u64>();
        line.count("num_memtables", input.memtables.len());
        line.number("total_num_input_entries", sum(&MemTable::num_entries));
        line.number("num_deletes", sum(&MemTable::num_deletes));
        line.number("total_data_size", sum(&MemTable::data_size_bytes));
        line.number("memory_usage", sum(&|memtable| memtable.approximate_memory_bytes() as u64));
        line.number("num_range_deletes", sum(&MemTable::num_range_deletes));
        line.text("flush_reason", input.reason.name());
    });
}

/// A flush of a family is in, and readers see it.
pub(super) fn flush_finished(core: &DbCore, data: &ColumnFamilyData, job_id: u64) {
    core.events.log_event("flush_finished", Some(job_id), |line| {
        let pinned = data.super_version.load();
        let options = data.options.load();
        let compression = options.compression_for(0, pinned.version.base_level(), false).0;
        line.text("output_compression", compression.property_name());
        tree(core, data.id, line);
        line.count("immutable_memtables", pinned.immutable.len());
    });
}

/// How many files each level has now, and the ends of the list of blob files.
fn tree(core: &DbCore, family: u32, line: &mut JsonLine) {
    let Some(version) = core.versions.current(family) else { return };
    line.numbers("lsm_state", (0..version.num_levels()).map(|level| version.level(level).len() as u64));
    let numbers = || version.blob_files().keys().copied();
    if let (Some(first), Some(last)) = (numbers().next(), numbers().next_back()) {
        line.file("blob_file_head", first).file("blob_file_tail", last);
    }
}

/// A compaction begins that reads its inputs.
pub(super) fn compaction_started(core: &DbCore, job: &ScheduledCompaction) {
    let choice = &job.choice;
    if !choice.kind.writes_files() {
        return;
    }
    core.events.log_event("compaction_started", Some(job.job_id), |line| {
        line.text("cf_name", &job.data.name).text("compaction_reason", choice.reason.name());
        for inputs in choice.inputs.iter().filter(|inputs| !inputs.files.is_empty()) {
            line.numbers(&format!("files_L{}", inputs.level), inputs.files.iter().map(|file| file.number.0));
        }
        // RocksDB has no score for those that a caller asked for.
        line.fraction("score", if job.is_manual { -1.0 } else { choice.score });
        line.number("input_data_size", choice.input_size_bytes());
        let oldest = core.reads.snapshots().oldest();
        line.number("oldest_snapshot_seqno", oldest.map_or(-1, |oldest| i128::from(oldest.0)));
    });
}

/// A compaction ended.
pub(super) fn compaction_finished(core: &DbCore, job: &ScheduledCompaction, us: u64, result: &Result<JobOutput>) {
    let (choice, id) = (&job.choice, job.job_id);
    match choice.kind {
        CompactionKind::Merge | CompactionKind::Copy => {
            core.events.log_event("compaction_finished", Some(id), |line| rewritten(core, job, us, result, line));
        }
        CompactionKind::Move if result.is_ok() => core.events.log_event("trivial_move", Some(id), |line| {
            line.count("destination_level", choice.output_level).count("files", choice.input_files().count());
            line.number("total_files_size", choice.input_size_bytes());
        }),
        CompactionKind::Move | CompactionKind::Drop => {}
    }
}

fn rewritten(core: &DbCore, job: &ScheduledCompaction, us: u64, result: &Result<JobOutput>, line: &mut JsonLine) {
    let output = result.as_ref().ok();
    let stats = job_events::stats(job, output, us);
    line.number("compaction_time_micros", us).number("compaction_time_cpu_micros", stats.cpu_us);
    line.count("output_level", job.choice.output_level);
    line.number("num_output_files", stats.num_output_files).number("total_output_size", stats.total_output_bytes);
    if stats.num_output_files_blob > 0 {
        line.number("num_blob_output_files", stats.num_output_files_blob);
        let files = output.iter().flat_map(|output| &output.blob_files);
        line.number("total_blob_output_size", files.map(|file| file.total_blob_bytes).sum::<u64>());
    }
    line.number("num_input_records", stats.num_input_records).number("num_output_records", stats.num_output_records);
    line.count("num_subcompactions", output.map_or(0, |output| output.parts));
    let compression = job_events::compression_of(&job.choice, &job.data.options.load());
    line.text("output_compression", compression.property_name());
    line.number("num_single_delete_mismatches", stats.num_single_del_mismatch);
    line.number("num_single_delete_fallthrough", stats.num_single_del_fallthru);
    tree(core, job.data.id, line);
    if let Err(error) = result {
        line.text("status", &error.to_string());
    }
}

/// A job has written a table or a blob file, or failed to.
pub(super) fn file_ended(core: &DbCore, job_id: u64, ended: &FileEnded<'_>) {
    let family = Some(ended.file.column_family);
    let status = ended.result.as_ref().map_or_else(|error| Err(error.clone()), |_| Ok(()));
    let name = if ended.file.is_blob_file { "blob_file_creation" } else { "table_file_creation" };
    core.events.log_family_event(name, family, Some(job_id), |line| {
        line.file("file_number", number_of(ended.file.path));
        match &ended.result {
            Ok(FileWritten::Blob { count, bytes, checksum }) => blob_file(line, *count, *bytes, checksum.as_ref()),
            Err(_) if ended.file.is_blob_file => blob_file(line, 0, 0, None),
            written => table_file(line, written.as_ref().ok()),
        }
        line.status(&status);
    });
}

fn number_of(path: &Path) -> FileNumber {
    let name = path.file_name().and_then(|name| file_name::parse(name.to_str()?));
    name.map_or(FileNumber(0), |name| name.number)
}

fn checksum(line: &mut JsonLine, checksum: Option<&FileChecksum>) {
    let hex = |sum: &FileChecksum| sum.value.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    line.text("file_checksum", &checksum.map(hex).unwrap_or_default());
    line.text("file_checksum_func_name", checksum.map_or(UNKNOWN_FUNCTION, |sum| &sum.function_name));
}

fn blob_file(line: &mut JsonLine, count: u64, bytes: u64, sum: Option<&FileChecksum>) {
    line.number("total_blob_count", count).number("total_blob_bytes", bytes);
    checksum(line, sum);
}

fn table_file(line: &mut JsonLine, written: Option<&FileWritten>) {
    let sum = match written {
        Some(FileWritten::Table { checksum, .. }) => checksum.as_ref(),
        _ => None,
    };
    let (size, properties, smallest, largest, oldest_blob_file) = match written {
        Some(FileWritten::Table {
            size_bytes,
            properties,
            smallest_seqno,
            largest_seqno,
            oldest_blob_file_number,
            ..
        }) => (*size_bytes, Arc::clone(properties), *smallest_seqno, *largest_seqno, *oldest_blob_file_number),
        // As RocksDB has it of one that is not kept.
        _ => (0, Arc::default(), MAX_SEQUENCE_NUMBER, ferrock_base::SequenceNumber(0), None),
    };
    line.number("file_size", size);
    checksum(line, sum);
    line.number("smallest_seqno", smallest.0).number("largest_seqno", largest.0);
    line.object("table_properties", |line| table_properties(line, &properties));
    if let Some(number) = oldest_blob_file {
        line.file("oldest_blob_file_number", number);
    }
}

fn table_properties(line: &mut JsonLine, properties: &TableProperties) {
    let average = |sum: u64| sum.checked_div(properties.num_entries).unwrap_or(0);
    line.number("data_size", properties.data_size).number("index_size", properties.index_size);
    line.number("index_partitions", properties.index_partitions);
    line.number("top_level_index_size", properties.top_level_index_size);
    line.number("index_key_is_user_key", properties.index_key_is_user_key);
    line.number("index_value_is_delta_encoded", properties.index_value_is_delta_encoded);
    line.number("filter_size", properties.filter_size).number("raw_key_size", properties.raw_key_size);
    line.number("raw_average_key_size", average(properties.raw_key_size));
    line.number("raw_value_size", properties.raw_value_size);
    line.number("raw_average_value_size", average(properties.raw_value_size));
    line.number("num_data_blocks", properties.num_data_blocks).number("num_entries", properties.num_entries);
    line.number("num_filter_entries", properties.num_filter_entries);
    line.number("num_deletions", properties.num_deletions);
    line.number("num_merge_operands", properties.num_merge_operands);
    line.number("num_range_deletions", properties.num_range_deletions);
    line.number("format_version", properties.format_version).number("fixed_key_len", properties.fixed_key_length);
    line.text("filter_policy", &properties.filter_policy_name);
    line.bytes("column_family_name", &properties.column_family_name);
    line.number("column_family_id", properties.column_family_id);
    line.text("comparator", &properties.comparator_name);
    line.number("user_defined_timestamps_persisted", u64::from(properties.user_defined_timestamps_persisted));
    line.number("key_largest_seqno", properties.key_largest_seqno.unwrap_or(u64::MAX));
    line.number("key_smallest_seqno", properties.key_smallest_seqno.unwrap_or(u64::MAX));
    line.text("merge_operator", &properties.merge_operator_name);
    line.text("prefix_extractor_name", &properties.prefix_extractor_name);
    line.text("property_collectors", &properties.property_collectors_names);
    line.text("compression", &properties.compression_name);
    line.text("compression_options", &properties.compression_options);
    line.number("creation_time", properties.creation_time).number("oldest_key_time", properties.oldest_key_time);
    line.number("newest_key_time", properties.newest_key_time.unwrap_or(0));
    line.number("file_creation_time", properties.file_creation_time);
    line.number("slow_compression_estimated_data_size", properties.slow_compression_estimated_data_size);
    line.number("fast_compression_estimated_data_size", properties.fast_compression_estimated_data_size);
    line.text("db_id", &properties.db_id).text("db_session_id", &properties.db_session_id);
    line.number("orig_file_number", properties.original_file_number);
    let times = properties.seqno_to_time_text();
    line.text("seqno_to_time_mapping", if times.is_empty() { "N/A" } else { &times });
}

/// Tables from outside are in a family: where each is now.
pub(super) fn ingest_finished(core: &DbCore, family: u32, files: &[(PathBuf, usize)]) {
    core.events.log_event("ingest_finished", None, |line| {
        let paths: Vec<String> = files.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        let items = paths.iter().zip(files).flat_map(|(path, (_, level))| {
            [Item::Text("file"), Item::Text(path), Item::Text("level"), Item::Number(*level as u64)]
        });
        line.mixed("files_ingested", items);
        tree(core, family, line);
    });
}
