//! What a worker is told.

use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason};
use crate::job::JobContext;
use ferrock_base::FileNumber;
use ferrock_base::hash::hash128;
use ferrock_format::compaction_service::{CompactionServiceInput, JobDetails};
use ferrock_format::file_name;
use ferrock_options::{ColumnFamilyOptions, CompressionType};

/// Why a compaction cannot be done by a worker; `None`: it can.
#[must_use]
pub fn reason_for_local(options: &ColumnFamilyOptions, choice: &CompactionChoice) -> Option<&'static str> {
    if choice.kind != CompactionKind::Merge {
        return Some("no table is read");
    }
    if choice.reason == CompactionReason::BottommostFiles && options.preserve_internal_time_seconds > 0 {
        // The worker would keep sequence numbers that are old here, and the files would be due again.
        return Some("it needs the times of sequence numbers that this process knows");
    }
    if choice.output_temperature.is_some() {
        return Some("its output has a temperature of its own");
    }
    if options.enable_blob_files {
        return Some("enable_blob_files is on");
    }
    if choice.compression.is_some_and(|compression| compression != CompressionType::NoCompression) {
        return Some("a caller chose the compression");
    }
    let refers = choice.input_files().any(|(_, file)| file.oldest_blob_file_number.is_some());
    refers.then_some("values are in blob files")
}

/// The job for a worker.
#[must_use]
pub fn job_input(
    context: &JobContext,
    choice: &CompactionChoice,
    is_manual: bool,
    options_file_number: FileNumber,
) -> CompactionServiceInput {
    let options = &context.family.options;
    let name_of = |name: Option<&str>| name.unwrap_or_default().to_owned();
    let details = JobDetails {
        start_level: choice.start_level as u32,
        reason: choice.reason.name().to_owned(),
        is_manual,
        is_bottommost: choice.is_bottommost,
        is_compressed: choice.compression.is_none(),
        max_output_file_size_bytes: choice.max_output_file_size_bytes,
        max_compaction_bytes: choice.max_compaction_bytes,
        epoch_number: context.epoch_number,
        merge_operator: name_of(options.merge_operator.as_ref().map(|operator| operator.name())),
        compaction_filter: name_of(options.compaction_filter.as_ref().map(|filter| filter.name())),
        compaction_filter_factory: name_of(options.compaction_filter_factory.as_ref().map(|factory| factory.name())),
    };
    CompactionServiceInput {
        column_family: context.family.name.clone(),
        snapshots: context.snapshots.clone(),
        input_files: choice.input_files().map(|(_, file)| file_name::table(file.number)).collect(),
        output_level: choice.output_level as u32,
        db_id: context.db_id.clone(),
        begin: None,
        end: None,
        options_file_number,
        details: Some(details),
    }
}

/// A number that stands for a job's bytes.
#[must_use]
pub fn job_digest(input: &[u8]) -> u64 {
    hash128(input, 0).0
}
