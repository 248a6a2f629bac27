//! The worker's side: from the input to a choice, and from what its job wrote to the result.

use super::send::{has_blobs, job_digest, reason_for_local};
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs, RunningCompactions};
use crate::compaction::picker::{PickerInput, grandparents, max_output_file_size_bytes, proximal_output};
use crate::job::{FamilyContext, JobOutput};
use crate::version::{FileMetadata, Version};
use ferrock_base::{Error, FileNumber, MAX_SEQUENCE_NUMBER, Result, SequenceNumber};
use ferrock_format::compaction_service::{
    BlobReferences, BlobResult, CompactionServiceInput, CompactionServiceOutputFile, CompactionServiceResult,
    CompactionServiceStats, JobDetails,
};
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::{ColumnFamilyOptions, CompressionType};
use ferrock_vfs::IoActivity;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// The worker's options must have the components that the database compacts with: without its merge operator or filter
/// the worker would write something else.
///
/// # Errors
/// `NotSupported`, naming the component.
pub fn check_components(options: &ColumnFamilyOptions, details: &JobDetails) -> Result<()> {
    let has = [
        (&details.merge_operator, "merge operator", options.merge_operator.as_ref().map(|operator| operator.name())),
        (
            &details.compaction_filter,
            "compaction filter",
            options.compaction_filter.as_ref().map(|filter| filter.name()),
        ),
        (
            &details.compaction_filter_factory,
            "compaction filter factory",
            options.compaction_filter_factory.as_ref().map(|factory| factory.name()),
        ),
    ];
    for (wanted, what, own) in has {
        if own.unwrap_or_default() != wanted {
            let own = own.map_or_else(|| "none".to_owned(), |own| format!("{own:?}"));
            return Err(Error::not_supported(format!(
                "the database compacts with the {what} {wanted:?}, this worker has {own}; set it in the worker's overrides"
            )));
        }
    }
    Ok(())
}

/// The compaction that `input` asks for, in `version`.
///
/// # Errors
/// `InvalidArgument` for inputs that are not in the version, or levels that are not; `NotSupported` for compactions
/// that only the database itself can do.
pub fn choice_of(
    version: &Arc<Version>,
    options: &ColumnFamilyOptions,
    input: &CompactionServiceInput,
    output_path_id: u32,
) -> Result<CompactionChoice> {
    let output_level = input.output_level as usize;
    if output_level >= version.num_compacted_levels() {
        return Err(Error::invalid_argument(format!(
            "output_level={output_level}: the family has {} levels for compactions",
            version.num_compacted_levels()
        )));
    }
    let inputs = inputs_of(version, &input.input_files)?;
    let (Some(first), Some(last)) = (inputs.first(), inputs.last()) else {
        return Err(Error::invalid_argument("a compaction without inputs"));
    };
    if last.level > output_level {
        return Err(Error::invalid_argument(format!("inputs of level {} for level {output_level}", last.level)));
    }
    let start_level = first.level;
    let reason = match &input.details {
        Some(details) => CompactionReason::from_name(&details.reason),
        None => None,
    };
    let reason = reason.unwrap_or(match start_level {
        0 => CompactionReason::Level0FilesNum,
        _ => CompactionReason::LevelMaxLevelSize,
    });
    let mut choice = CompactionChoice::of_whole_files(CompactionKind::Merge, reason, version, inputs, output_level);
    choice.output_path_id = output_path_id;
    match &input.details {
        Some(details) => {
            choice.start_level = details.start_level as usize;
            choice.is_bottommost = details.is_bottommost;
            choice.compression = (!details.is_compressed).then_some(CompressionType::NoCompression);
            choice.max_output_file_size_bytes = details.max_output_file_size_bytes;
            choice.max_compaction_bytes = details.max_compaction_bytes;
            choice.epoch_number = Some(details.epoch_number);
        }
        None => work_out(&mut choice, options),
    }
    if choice.output_level > 0 && choice.max_compaction_bytes < u64::MAX {
        choice.grandparents = grandparents(version, choice.output_level, &choice.range());
    }
    choice.proximal = proximal_output(options, &choice);
    if let Some(reason) = reason_for_local(options, &choice) {
        return Err(Error::not_supported(format!("a compaction by a worker: {reason}")));
    }
    let has_blob_job = input.details.as_ref().is_some_and(|details| details.blobs.is_some());
    if !has_blob_job && has_blobs(options, &choice) {
        return Err(Error::not_supported(
            "a compaction by a worker: values are in blob files, or enable_blob_files is on, and the job has no numbers \
             for blob files",
        ));
    }
    Ok(choice)
}

/// What RocksDB does not say.
fn work_out(choice: &mut CompactionChoice, options: &ColumnFamilyOptions) {
    let version = Arc::clone(&choice.version);
    let oldest = version.level(0).last();
    let has_oldest = oldest.is_some_and(|oldest| choice.input_files().any(|(_, file)| file.number == oldest.number));
    choice.is_bottommost = !version.range_may_exist_below(choice.output_level, &choice.range(), has_oldest);
    let picker = PickerInput {
        version: &version,
        options,
        running: &RunningCompactions::default(),
        bottommost_threshold: SequenceNumber(0),
        earliest_snapshot: MAX_SEQUENCE_NUMBER,
        readable: None,
        now_secs: 0,
        early_secs: 0,
    };
    choice.max_output_file_size_bytes = max_output_file_size_bytes(&picker, choice.output_level);
    choice.max_compaction_bytes = options.max_compaction_bytes;
}

/// The files of these names, by level and in the order of each.
fn inputs_of(version: &Version, names: &[String]) -> Result<Vec<LevelInputs>> {
    let mut numbers = HashSet::new();
    for name in names {
        let parsed = file_name::parse(name).filter(|parsed| parsed.kind == FileKind::Table);
        let Some(parsed) = parsed else {
            return Err(Error::invalid_argument(format!("input file {name:?}: not the name of a table")));
        };
        numbers.insert(parsed.number);
    }
    let mut inputs = Vec::new();
    for level in 0..version.num_levels() {
        let is_input = |file: &&Arc<FileMetadata>| numbers.contains(&file.number);
        let files: Vec<_> = version.level(level).iter().filter(is_input).cloned().collect();
        files.iter().for_each(|file| _ = numbers.remove(&file.number));
        if !files.is_empty() {
            inputs.push(LevelInputs { level, files });
        }
    }
    match numbers.into_iter().min() {
        None => Ok(inputs),
        Some(FileNumber(number)) => Err(Error::invalid_argument(format!(
            "input file {number} is not in the tree that the MANIFEST describes: the compaction is out of date"
        ))),
    }
}

/// The result of a job whose outputs lie in `directory`. `family` has the table cache of the worker.
///
/// # Errors
/// Those of opening the outputs.
pub fn result_of(
    family: &FamilyContext,
    choice: &CompactionChoice,
    output: &JobOutput,
    directory: &Path,
    input: &[u8],
) -> Result<CompactionServiceResult> {
    let mut stats = CompactionServiceStats {
        num_input_records: output.read.entries,
        has_accurate_num_input_records: output.read.is_exact,
        num_input_files: choice.input_files().count() as u64,
        total_input_bytes: choice.input_size_bytes(),
        total_output_bytes: output.size_bytes(),
        ..CompactionServiceStats::default()
    };
    let mut files = Vec::new();
    for file in &output.files {
        let table = family.table_cache.open_uncharged(&FileMetadata::from(file.clone()), IoActivity::Compaction)?;
        let mut described = CompactionServiceOutputFile {
            file_name: file_name::table(file.number),
            size_bytes: file.size_bytes,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            smallest: file.smallest.clone(),
            largest: file.largest.clone(),
            oldest_ancester_time_secs: file.oldest_ancester_time_secs,
            file_creation_time_secs: file.file_creation_time_secs,
            epoch_number: file.epoch_number.unwrap_or(0),
            needs_compaction: file.needs_compaction,
            unique_id: file.unique_id.unwrap_or_default(),
            temperature: file.temperature,
            checksum: file.recorded_checksum(),
            compensated_range_deletion_size_bytes: file.compensated_range_deletion_size_bytes,
            min_timestamp: file.min_timestamp.clone(),
            max_timestamp: file.max_timestamp.clone(),
            ..CompactionServiceOutputFile::default()
        };
        described.set_properties(table.properties());
        stats.num_output_records += described.num_entries;
        files.push(described);
    }
    Ok(CompactionServiceResult {
        error: None,
        output_files: files,
        output_level: choice.output_level as u32,
        output_path: directory.to_string_lossy().into_owned(),
        bytes_read: choice.input_size_bytes(),
        bytes_written: output.size_bytes(),
        stats,
        job_digest: Some(job_digest(input)),
        blobs: Some(BlobResult {
            files: output.blob_files.clone(),
            read: output
                .blobs_read
                .counted()
                .map(|(number, count, bytes)| BlobReferences { number, count, bytes })
                .collect(),
        }),
    })
}
