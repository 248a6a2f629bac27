//! What a worker is told.

use crate::blob::BlobCollection;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason};
use crate::job::JobContext;
use ferrock_base::hash::hash128;
use ferrock_base::{FileNumber, Result};
use ferrock_format::blob_file::BLOB_RECORD_HEADER_SIZE;
use ferrock_format::compaction_service::{BlobJob, CompactionServiceInput, JobDetails};
use ferrock_format::file_name;
use ferrock_options::{ColumnFamilyOptions, CompressionType};
use ferrock_vfs::IoActivity;

/// Why a compaction cannot be done by a worker; `None`: it can.
#[must_use]
pub fn reason_for_local(options: &ColumnFamilyOptions, choice: &CompactionChoice) -> Option<&'static str> {
    if choice.kind != CompactionKind::Merge {
        return Some("no table is read");
    }
    if choice.reason == CompactionReason::BottommostFiles && options.kept_times_secs() > 0 {
        // The worker would keep sequence numbers that are old here, and the files would be due again.
        return Some("it needs the times of sequence numbers that this process knows");
    }
    if choice.proximal.is_some() {
        return Some("preclude_last_level_data_seconds divides its output between two levels");
    }
    if choice.output_temperature.is_some() {
        return Some("its output has a temperature of its own");
    }
    if choice.compression.is_some_and(|compression| compression != CompressionType::NoCompression) {
        return Some("a caller chose the compression");
    }
    None
}

/// Whether values of the inputs or of the outputs may lie in blob files.
pub(super) fn has_blobs(options: &ColumnFamilyOptions, choice: &CompactionChoice) -> bool {
    options.enable_blob_files || choice.input_files().any(|(_, file)| file.oldest_blob_file_number.is_some())
}

/// The most numbers that one job gets. Each is one that the database remembers until the job is over.
const MOST_BLOB_NUMBERS: u64 = 1 << 16;
/// How many times as long a stored value may be once it is stored again: its file may be compressed, the next one not.
const MOST_GROWTH: u64 = 4;

/// How many numbers a worker may need for blob files, and from which number on blob files are not collected; `None`: it
/// has nothing to do with blob files. A worker for which they are too few fails, and the database compacts.
///
/// # Errors
/// Those of opening the inputs.
pub fn blob_numbers_wanted(
    context: &JobContext,
    choice: &CompactionChoice,
    collection: BlobCollection,
) -> Result<Option<(u64, Option<FileNumber>)>> {
    let settings = &context.family.options.settings;
    if !has_blobs(&context.family.options, choice) {
        return Ok(None);
    }
    let collect_below = collection.below(&choice.version);
    if !settings.enable_blob_files {
        return Ok(Some((0, collect_below)));
    }
    let mut bytes = 0u64;
    for (_, file) in choice.input_files() {
        let table = context.family.table_cache.get_for_job(file, IoActivity::Compaction)?;
        let properties = table.properties();
        let headers = properties.num_entries.saturating_mul(BLOB_RECORD_HEADER_SIZE as u64);
        let records = properties.raw_key_size.saturating_add(properties.raw_value_size).saturating_add(headers);
        bytes = bytes.saturating_add(records);
    }
    // A merge operator or a filter gets values of any file, and what it makes of them is a new value.
    let options = &context.family.options;
    let makes_values = options.merge_operator.is_some()
        || options.compaction_filter.is_some()
        || options.compaction_filter_factory.is_some();
    let is_read = |number: &FileNumber| makes_values || Some(*number) < collect_below;
    for (_, file) in choice.version.blob_files().iter().filter(|(number, _)| is_read(number)) {
        let live = file.addition.total_blob_bytes.saturating_sub(file.garbage_blob_bytes);
        bytes = bytes.saturating_add(live.saturating_mul(MOST_GROWTH));
    }
    // Each part leaves a file that is not full; and a job may begin anew, with another kind of table.
    let files = bytes / settings.blob_file_size.max(1) + u64::from(context.db.max_subcompactions.max(1));
    Ok(Some((files.saturating_mul(2).min(MOST_BLOB_NUMBERS), collect_below)))
}

/// The job for a worker.
#[must_use]
pub fn job_input(
    context: &JobContext,
    choice: &CompactionChoice,
    is_manual: bool,
    options_file_number: FileNumber,
    blobs: Option<BlobJob>,
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
        blobs,
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
