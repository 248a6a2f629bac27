//! The database's side of a result: what is looked at before a worker's tables count as its own.
//!
//! | looked at | against |
//! |---|---|
//! | digest of the job | the bytes that were sent: not the result of another job |
//! | tables read, where the worker counts them | the inputs |
//! | entries read | those that the inputs hold, where these say |
//! | size of each file | what the result says |
//! | checksum of each whole file, where the database makes them | what the result says |
//! | the opened table: footer, metaindex, properties, index | themselves; unique id and entries against the result |
//! | checksum of every block | the blocks |
//! | first and last key, sequence numbers | the bounds that the MANIFEST will have, which lie within the inputs' |
//! | order of the tables | each other |
//! | every entry, with bits 1 and 11 of `verify_output_flags`, and where values are in blob files | number, order and sequence numbers |
//! | blob files | see [`blobs`] |
//!
//! The inputs are gone once the outputs count, so the checksums are not left to an option, unlike in RocksDB. A table
//! is linked into the directory and not moved: what a result calls an output may be a file that the database has.

mod blobs;

use crate::compaction::choice::CompactionChoice;
use crate::job::compaction::held_entries;
use crate::job::events::stats_of_output;
use crate::job::verify::Verification;
use crate::job::{EntriesRead, JobContext, JobEnv, JobOutput, WrittenFiles, check_entries};
use crate::version::FileMetadata;
use blobs::BlobCheck;
use ferrock_base::file_checksum::{FileChecksum, FileChecksumContext};
use ferrock_base::internal_key::{sequence, user_key};
use ferrock_base::{Error, FileNumber, InternalIterator, Result, SequenceNumber};
use ferrock_format::compaction_service::{BlobJob, CompactionServiceOutputFile, CompactionServiceResult};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::unique_id::UniqueId;
use ferrock_format::version_edit::NewFile;
use ferrock_options::CompactionJobStats;
use ferrock_table::{Table, TableReadOptions};
use ferrock_vfs::{FileSystem, IoActivity, SequentialOptions, WritableOptions, WritePurpose, sum_of_file};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const READAHEAD_BYTES: usize = 256 << 10;

/// Verifies a worker's outputs and brings them into the database's directory: tables under numbers of `env`, blob files
/// under those of `blob_job`, which the caller has reserved.
///
/// # Errors
/// What the worker reports; `Corruption` or `InvalidArgument` for a result that is not what it must be; those of the
/// file system. Nothing is left in the directory, and the worker's files are as they were.
pub fn import(
    context: &JobContext,
    choice: &CompactionChoice,
    env: &dyn JobEnv,
    result: &CompactionServiceResult,
    job_digest: u64,
    blob_job: Option<&BlobJob>,
) -> Result<JobOutput> {
    if let Some(error) = &result.error {
        return Err(error.clone());
    }
    let directory = context.family.table_cache.paths().directory(choice.output_path_id).to_path_buf();
    let stats = &result.stats;
    let mut output = JobOutput {
        written: WrittenFiles {
            table_directory: directory,
            blob_directory: context.family.blob_directory.clone(),
            ..WrittenFiles::default()
        },
        read: EntriesRead { entries: stats.num_input_records, is_exact: stats.has_accurate_num_input_records },
        ..JobOutput::default()
    };
    let import = Import { context, choice, env, result, blob_job };
    match import.check_counts(job_digest).and_then(|()| import.take_files(&mut output)) {
        Ok(()) => {
            output.stats = CompactionJobStats {
                num_input_records: stats.num_input_records,
                has_accurate_num_input_records: stats.has_accurate_num_input_records,
                num_output_records: stats.num_output_records,
                is_remote_compaction: true,
                ..stats_of_output(&output)
            };
            Ok(output)
        }
        Err(error) => {
            env.discard(&output.written);
            Err(error)
        }
    }
}

struct Import<'a> {
    context: &'a JobContext,
    choice: &'a CompactionChoice,
    env: &'a dyn JobEnv,
    result: &'a CompactionServiceResult,
    /// What the worker was told about blob files.
    blob_job: Option<&'a BlobJob>,
}

impl Import<'_> {
    fn check_counts(&self, job_digest: u64) -> Result<()> {
        let (result, choice) = (self.result, self.choice);
        if result.job_digest.is_some_and(|digest| digest != job_digest) {
            return Err(Error::invalid_argument("the result is that of another job"));
        }
        if result.output_level as usize != choice.output_level {
            return Err(Error::invalid_argument(format!(
                "the outputs are for level {}, the job is for level {}",
                result.output_level, choice.output_level
            )));
        }
        if result.output_files.iter().any(|file| file.is_proximal_level_output) {
            return Err(Error::not_supported("outputs for the level above the output level"));
        }
        let stats = &result.stats;
        // Older tables do not say how many entries they have.
        let inputs = choice.input_files().count() as u64;
        if stats.num_input_files != 0 && stats.num_input_files != inputs {
            let read = stats.num_input_files;
            return Err(Error::corruption(format!("the worker read {read} tables, the compaction has {inputs}")));
        }
        if stats.has_accurate_num_input_records
            && let Some(held) = held_entries(&self.context.family.table_cache, choice)?
        {
            check_entries(&self.context.family, "worker", "tables", stats.num_input_records, held)?;
        }
        let entries: u64 = result.output_files.iter().map(|file| file.num_entries).fold(0, u64::saturating_add);
        if result.job_digest.is_some() && entries != stats.num_output_records {
            return Err(Error::corruption(format!(
                "the outputs have {entries} entries, the worker wrote {}",
                stats.num_output_records
            )));
        }
        Ok(())
    }

    fn take_files(&self, output: &mut JobOutput) -> Result<()> {
        let mut blobs = self.take_blob_files(output)?;
        for file in &self.result.output_files {
            self.env.check_stop()?;
            let taken = self.take(file, output, blobs.as_mut());
            let new = taken.map_err(|error| error.context(&format!("output {file}")))?;
            self.check_order(output.files.last(), &new)?;
            output.files.push(new);
        }
        if let Some(blobs) = blobs {
            self.finish_blobs(blobs, output)?;
        }
        // The MANIFEST must not name a file whose directory entry a crash could take away.
        let written = &output.written;
        if !output.blob_files.is_empty() && written.blob_directory != written.table_directory {
            self.context.file_system.sync_dir(&written.blob_directory)?;
        }
        if output.files.is_empty() { Ok(()) } else { self.context.file_system.sync_dir(&written.table_directory) }
    }

    /// Links a file, opens it, and looks at it.
    fn take(
        &self,
        file: &CompactionServiceOutputFile,
        output: &mut JobOutput,
        blobs: Option<&mut BlobCheck>,
    ) -> Result<NewFile> {
        let source = self.source(file)?;
        let number = self.env.new_output();
        output.written.tables.push(number);
        let target = output.written.table_directory.join(file_name::table(number));
        let file_system = &*self.context.file_system;
        link_or_copy(file_system, &source, &target)?;
        // Whether the worker did is not known.
        file_system.reopen_writable(&target, &WritableOptions::for_purpose(WritePurpose::Table))?.sync()?;
        let size_bytes = file_system.file_size(&target)?;
        if file.size_bytes != 0 && size_bytes != file.size_bytes {
            return Err(Error::corruption(format!("the file has {size_bytes} bytes")).in_file(source));
        }
        let mut new = self.described(file, number, size_bytes);
        new.checksum = self.checksum(&target, new.recorded_checksum())?;
        self.check_bounds(&new)?;
        let family = &self.context.family;
        let table = family.table_cache.open_uncharged(&FileMetadata::from(new.clone()), IoActivity::Compaction)?;
        check_table(&table, file)?;
        let wanted = Verification::of_remote(&family.options);
        table.verify_checksums(READAHEAD_BYTES, IoActivity::Compaction)?;
        if wanted.entries || blobs.is_some() {
            new.oldest_blob_file_number = self.check_all_entries(&table, &new, blobs)?;
        } else {
            self.check_outer_entries(&table, &new)?;
        }
        self.env.note_output(target, size_bytes)?;
        Ok(new)
    }

    /// The checksum of a file that was brought here, compared with the one that the result says where the database
    /// makes checksums of its files.
    fn checksum(&self, path: &Path, said: Option<FileChecksum>) -> Result<Option<FileChecksum>> {
        let Some(factory) = &self.context.db.components.file_checksum_gen_factory else { return Ok(said) };
        let of = |requested_function| factory.create(&FileChecksumContext { path, requested_function });
        let of_said = said.as_ref().and_then(|said| of(Some(&said.function_name)));
        let Some(generator) = of_said.or_else(|| of(None)) else { return Ok(said) };
        let check = |_| self.env.check_stop();
        let found = sum_of_file(&*self.context.file_system, path, generator, &check)?;
        match said {
            Some(said) if said.function_name == found.function_name && said != found => {
                Err(Error::corruption(format!("the worker wrote a file with the checksum {said}, and it has {found}"))
                    .in_file(path))
            }
            _ => Ok(Some(found)),
        }
    }

    fn source(&self, file: &CompactionServiceOutputFile) -> Result<PathBuf> {
        let is_table = file_name::parse(&file.file_name).is_some_and(|name| name.kind == FileKind::Table);
        if !is_table {
            return Err(Error::invalid_argument(format!("{:?} is not the name of a table", file.file_name)));
        }
        Ok(Path::new(&self.result.output_path).join(&file.file_name))
    }

    fn described(&self, file: &CompactionServiceOutputFile, number: FileNumber, size_bytes: u64) -> NewFile {
        NewFile {
            level: self.choice.output_level as u32,
            number,
            path_id: self.choice.output_path_id,
            size_bytes,
            smallest: file.smallest.clone(),
            largest: file.largest.clone(),
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            needs_compaction: file.needs_compaction,
            oldest_ancester_time_secs: file.oldest_ancester_time_secs,
            file_creation_time_secs: file.file_creation_time_secs,
            // Where the outputs belong among the tables of level 0 is not for the worker to say.
            epoch_number: Some(self.context.epoch_number),
            checksum: file.checksum.clone(),
            temperature: file.temperature,
            min_timestamp: file.min_timestamp.clone(),
            max_timestamp: file.max_timestamp.clone(),
            unique_id: (file.unique_id != [0, 0]).then_some(file.unique_id),
            compensated_range_deletion_size_bytes: file.compensated_range_deletion_size_bytes,
            tail_size_bytes: match file.tail_start_offset {
                0 => 0,
                offset => size_bytes.saturating_sub(offset),
            },
            ..NewFile::default()
        }
    }

    /// Keys and sequence numbers lie within those of the inputs.
    fn check_bounds(&self, new: &NewFile) -> Result<()> {
        if new.smallest.len() < 8 || new.largest.len() < 8 {
            return Err(Error::corruption("a bound is no internal key"));
        }
        let comparator = &self.context.family.comparator;
        let range = self.choice.range();
        let order = comparator.user();
        let below = |a: &[u8], b: &[u8]| order.compare(user_key(a), user_key(b)).is_lt();
        let is_outside = range.smallest.is_some_and(|smallest| below(&new.smallest, &smallest))
            || range.largest.is_some_and(|largest| below(&largest, &new.largest));
        if is_outside || comparator.compare(&new.smallest, &new.largest).is_gt() {
            return Err(Error::corruption("its keys do not lie within those of the inputs"));
        }
        let newest = self.choice.input_files().map(|(_, file)| file.largest_seqno).max().unwrap_or_default();
        if new.largest_seqno > newest || new.smallest_seqno > new.largest_seqno {
            return Err(Error::corruption("its sequence numbers do not lie within those of the inputs"));
        }
        Ok(())
    }

    fn check_order(&self, before: Option<&NewFile>, new: &NewFile) -> Result<()> {
        let comparator = &self.context.family.comparator;
        let overlaps = |before: &NewFile| comparator.compare(&before.largest, &new.smallest) != Ordering::Less;
        if before.is_some_and(overlaps) {
            return Err(Error::corruption("the outputs overlap, or are not in the order of their keys"));
        }
        Ok(())
    }

    /// The first and the last entry lie within the bounds.
    fn check_outer_entries(&self, table: &Table, new: &NewFile) -> Result<()> {
        let mut entries = table.iter(entries_options(0));
        entries.seek_to_first();
        if entries.valid() {
            self.check_entry(new, entries.key())?;
            entries.seek_to_last();
        }
        if entries.valid() {
            self.check_entry(new, entries.key())?;
        }
        entries.status()
    }

    /// Every entry lies within the bounds, and their number is right. The smallest number of a blob file that one
    /// refers to.
    fn check_all_entries(
        &self,
        table: &Table,
        new: &NewFile,
        mut blobs: Option<&mut BlobCheck>,
    ) -> Result<Option<FileNumber>> {
        let comparator = &self.context.family.comparator;
        let mut entries = table.iter(entries_options(READAHEAD_BYTES));
        entries.seek_to_first();
        let (mut count, mut last, mut oldest) = (0u64, Vec::new(), None::<FileNumber>);
        while entries.valid() {
            self.check_entry(new, entries.key())?;
            if count > 0 && comparator.compare(&last, entries.key()) != Ordering::Less {
                return Err(Error::corruption("its entries are not in order"));
            }
            if let Some(blobs) = blobs.as_deref_mut()
                && let Some(number) = blobs.add_entry(entries.key(), entries.value())?
            {
                oldest = Some(oldest.map_or(number, |oldest| oldest.min(number)));
            }
            last.clear();
            last.extend_from_slice(entries.key());
            count += 1;
            if count.is_multiple_of(1024) {
                self.env.check_stop()?;
            }
            entries.next();
        }
        entries.status()?;
        let properties = table.properties();
        let held = properties.num_entries.saturating_sub(properties.num_range_deletions);
        if count == held {
            return Ok(oldest);
        }
        Err(Error::corruption(format!("{count} entries are read from it, its properties say {held}")))
    }

    fn check_entry(&self, new: &NewFile, key: &[u8]) -> Result<()> {
        let comparator = &self.context.family.comparator;
        let seen: SequenceNumber = sequence(key);
        let is_inside = comparator.compare(&new.smallest, key).is_le()
            && comparator.compare(key, &new.largest).is_le()
            && new.smallest_seqno <= seen
            && seen <= new.largest_seqno;
        if is_inside { Ok(()) } else { Err(Error::corruption("an entry lies outside of the bounds")) }
    }
}

fn entries_options(readahead_bytes: usize) -> TableReadOptions {
    TableReadOptions { fill_cache: false, total_order_seek: true, readahead_bytes, ..TableReadOptions::default() }
}

/// The table against what the result says of it, whatever `verify_sst_unique_id_in_manifest` is.
fn check_table(table: &Table, file: &CompactionServiceOutputFile) -> Result<()> {
    let properties = table.properties();
    if file.num_entries != 0 && file.num_entries != properties.num_entries {
        let held = properties.num_entries;
        return Err(Error::corruption(format!("it has {held} entries, the worker wrote {}", file.num_entries)));
    }
    let mut said = [0; 16];
    said[..8].copy_from_slice(&file.unique_id[0].to_le_bytes());
    said[8..].copy_from_slice(&file.unique_id[1].to_le_bytes());
    if said != [0; 16] && UniqueId::from_properties(properties)?.manifest_bytes() != said {
        return Err(Error::corruption("its unique id is not the one that the worker wrote"));
    }
    Ok(())
}

/// Gives the file another name, or where its directory is of another file system, its bytes.
fn link_or_copy(file_system: &dyn FileSystem, source: &Path, target: &Path) -> Result<()> {
    let Err(refused) = file_system.hard_link(source, target) else { return Ok(()) };
    if refused.is_not_found() {
        return Err(refused);
    }
    copy(file_system, source, target)
}

fn copy(file_system: &dyn FileSystem, source: &Path, target: &Path) -> Result<()> {
    let mut from = file_system.open_sequential(source, &SequentialOptions::default())?;
    let mut to = file_system.create_writable(target, &WritableOptions::for_purpose(WritePurpose::Table))?;
    let mut buffer = vec![0; READAHEAD_BYTES];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        to.append(&buffer[..read])?;
    }
    to.sync()?;
    to.close()
}
