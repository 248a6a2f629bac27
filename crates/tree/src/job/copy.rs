//! Tables copied byte by byte: to have another temperature, a table only needs to be created anew.
//!
//! The copy has the table's entries, properties and unique id, and a number of its own. Nothing of it is decoded, so
//! damage in the source is found where it is read, not here; a source that has not the size that the MANIFEST says is
//! refused, and one of another checksum, where the database makes checksums of files.

use super::events::{FileTold, FileWritten, stats_of_output};
use super::{JobContext, JobEnv, JobOutput, WrittenFiles};
use crate::compaction::choice::CompactionChoice;
use crate::version::FileMetadata;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::file_checksum::{FileChecksum, generator_for};
use ferrock_base::{Error, FileNumber, Result, Temperature};
use ferrock_format::file_name;
use ferrock_format::version_edit::NewFile;
use ferrock_options::CompactionJobStats;
use ferrock_vfs::{IoKind, IoPriority, SequentialOptions, WritableOptions, WritePurpose, summed, thread_cpu_ns};
use std::path::Path;
use std::sync::Arc;

/// The least that a copy reads at a time.
const LEAST_BUFFER_BYTES: u64 = 4 << 10;
/// The most, whatever the option says.
const MOST_BUFFER_BYTES: u64 = 64 << 20;

/// Copies the inputs to the output path, with the temperature of the choice.
///
/// # Errors
/// Of the file system; `Corruption` for a file of another size than is recorded; the error with which `env` stopped the
/// job. No file is left.
pub(super) fn copy_inputs(context: &JobContext, choice: &CompactionChoice, env: &dyn JobEnv) -> Result<JobOutput> {
    let family = &context.family;
    let directory = family.table_cache.paths().directory(choice.output_path_id);
    let written = WrittenFiles {
        table_directory: directory.to_path_buf(),
        blob_directory: family.blob_directory.clone(),
        ..WrittenFiles::default()
    };
    let mut output = JobOutput { written, ..JobOutput::default() };
    let start_ns = thread_cpu_ns();
    let copied = choice.input_files().try_for_each(|(_, file)| {
        let number = env.new_output();
        output.written.tables.push(number);
        let mut told = FileTold::new(env, &family.name, TableFileCreationReason::Compaction, false);
        told.begin(directory.join(file_name::table(number)));
        match copy(context, choice, env, file, number) {
            Ok(copied) => {
                // The copy has the properties of its source, which is not opened for them.
                let source = family.table_cache.get_if_open(file);
                let properties = source.map(|table| Arc::clone(table.properties())).unwrap_or_default();
                output.properties.insert(number, Arc::clone(&properties));
                told.end(Ok(FileWritten::Table {
                    size_bytes: copied.size_bytes,
                    checksum: copied.checksum.clone(),
                    properties,
                    smallest_seqno: copied.smallest_seqno,
                    largest_seqno: copied.largest_seqno,
                    oldest_blob_file_number: copied.oldest_blob_file_number,
                }));
                output.files.push(copied);
                Ok(())
            }
            Err(error) => {
                told.end(Err(error.clone()));
                Err(error)
            }
        }
    });
    // The MANIFEST must not name a file whose directory entry a crash could take away.
    let copied = copied.and_then(|()| context.file_system.sync_dir(directory));
    match copied {
        Ok(()) => {
            let cpu_us = thread_cpu_ns().saturating_sub(start_ns) / 1000;
            output.stats = CompactionJobStats { cpu_us, ..stats_of_output(&output) };
            Ok(output)
        }
        Err(error) => {
            env.discard(&output.written);
            Err(error)
        }
    }
}

/// Copies one table, and describes the copy.
fn copy(
    context: &JobContext,
    choice: &CompactionChoice,
    env: &dyn JobEnv,
    file: &FileMetadata,
    number: FileNumber,
) -> Result<NewFile> {
    let paths = context.family.table_cache.paths();
    let temperature = choice.output_temperature.unwrap_or(Temperature::Unknown);
    let source = source_of(context, paths.directory(file.path_id), file.number)?;
    let target = paths.directory(choice.output_path_id).join(file_name::table(number));
    let options = WritableOptions {
        direct: context.db.use_direct_io_for_flush_and_compaction,
        bytes_per_sync: context.db.bytes_per_sync,
        strict_bytes_per_sync: context.db.strict_bytes_per_sync,
        temperature,
        ..WritableOptions::for_purpose(WritePurpose::Table)
    };
    let mut from = context.file_system.open_sequential(&source, &SequentialOptions::default())?;
    let checksums = context.db.components.file_checksum_gen_factory.as_ref();
    let to = context.file_system.create_writable(&target, &options)?;
    let (mut to, sum) = summed(to, generator_for(checksums, &target));
    let priority = if env.are_writers_stalled() { IoPriority::High } else { IoPriority::Low };
    to.set_rate_limiter(context.rate_limiter(IoKind::Write), priority);
    let reads = context.rate_limiter(IoKind::Read);
    let wanted = context.family.options.compaction_options_fifo.trivial_copy_buffer_size;
    let wanted = wanted.clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
    let mut buffer = vec![0; usize::try_from(wanted).unwrap_or(4 << 10)];
    let mut bytes = 0;
    loop {
        env.check_stop()?;
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        if let Some(limiter) = &reads {
            limiter.request(read as u64, priority);
        }
        to.append(&buffer[..read])?;
        bytes += read as u64;
    }
    if bytes != file.size_bytes {
        let what = format!("the table has {bytes} bytes, the MANIFEST says {}", file.size_bytes);
        return Err(Error::corruption(what).in_file(source));
    }
    to.sync()?;
    to.close()?;
    env.note_output(target, bytes)?;
    Ok(NewFile {
        level: choice.output_level as u32,
        number,
        path_id: choice.output_path_id,
        temperature,
        checksum: checksum_of_copy(file, sum.finish(), &source)?,
        needs_compaction: false,
        // Its own: copies of files that overlap have to be in the order of these.
        epoch_number: file.epoch_number.or(Some(context.epoch_number)),
        file_creation_time_secs: context.clock.unix_seconds(),
        ..file.recorded().clone()
    })
}

/// The checksum of a copy, which is that of its source where both were made by one function.
///
/// # Errors
/// `Corruption` when the source is not what was written.
fn checksum_of_copy(file: &FileMetadata, copied: Option<FileChecksum>, source: &Path) -> Result<Option<FileChecksum>> {
    let recorded = file.recorded_checksum();
    match (&recorded, &copied) {
        (Some(recorded), Some(copied)) if recorded.function_name == copied.function_name && recorded != copied => {
            let what = format!("the table has the checksum {copied}, the MANIFEST says {recorded}");
            Err(Error::corruption(what).in_file(source))
        }
        _ => Ok(copied.or(recorded)),
    }
}

/// The table under its name, or the one that LevelDB gave tables.
fn source_of(context: &JobContext, directory: &Path, number: FileNumber) -> Result<std::path::PathBuf> {
    let table = directory.join(file_name::table(number));
    let legacy = directory.join(file_name::legacy_table(number));
    let is_legacy = !context.file_system.exists(&table)? && context.file_system.exists(&legacy)?;
    Ok(if is_legacy { legacy } else { table })
}
