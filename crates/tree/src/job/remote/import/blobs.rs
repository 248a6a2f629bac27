//! The blob files of a result: what is looked at before the database counts on what a worker wrote and on its counts.
//!
//! | looked at | against |
//! |---|---|
//! | number of each file | the numbers that the job was given, each once |
//! | header, footer, every record with its checksums | themselves; number and bytes of the records against the result |
//! | the records of a new file | the references of the outputs: to each record one, with its key, and no other |
//! | references of the outputs into older files | the blob files of the tree; no more than the inputs are said to have |
//! | references of the inputs, as the worker counted them | what is no garbage yet in the file |
//!
//! References of the outputs are counted here, entry by entry, so each table is read as a whole. Those of the inputs
//! are not counted again, which would take reading the inputs: a worker that says too many makes too much garbage of a
//! file, which stays all the same while a table has it as its oldest.
//!
//! A new file keeps its number, and is linked under it; the database has reserved it with the job.

use super::{Import, link_or_copy};
use crate::blob::{BlobFileReader, BlobFlow, FooterRule, for_each_reference};
use crate::job::JobOutput;
use crate::version::BlobFileMetadata;
use ferrock_base::hash::hash128;
use ferrock_base::internal_key::{trailer, user_key};
use ferrock_base::{Error, FileNumber, Result, ValueType};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compaction_service::{BlobJob, BlobResult};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_vfs::{RandomAccessOptions, WritableOptions, WritePurpose};
use std::collections::BTreeMap;
use std::path::Path;

/// Records between two questions whether to stop.
const RECORDS_PER_CHECK: u64 = 1024;

/// What the blob files of a result have, and what its tables refer to.
#[derive(Debug)]
pub(super) struct BlobCheck {
    said: BlobResult,
    /// References of the outputs.
    written: BlobFlow,
    /// Of each new file: digest of its records, less that of the references to it so far.
    unmatched: BTreeMap<FileNumber, u64>,
}

/// A number that stands for a set of references, each with its key, in any order.
fn digest(key: &[u8], reference: &BlobReference) -> u64 {
    let place = [reference.offset.to_le_bytes(), reference.size_bytes.to_le_bytes()].concat();
    hash128(&place, hash128(key, u64::from(reference.compression)).0).0
}

impl BlobCheck {
    /// Counts the references of an entry; the smallest number of a file that it refers to.
    pub(super) fn add_entry(&mut self, key: &[u8], value: &[u8]) -> Result<Option<FileNumber>> {
        let Some(value_type) = ValueType::from_u8(trailer(key) as u8) else { return Ok(None) };
        let mut oldest: Option<FileNumber> = None;
        for_each_reference(value_type, value, |reference| {
            let number = reference.file_number;
            self.written.add(key, reference);
            if let Some(unmatched) = self.unmatched.get_mut(&number) {
                *unmatched = unmatched.wrapping_sub(digest(user_key(key), reference));
            }
            oldest = Some(oldest.map_or(number, |oldest| oldest.min(number)));
            Ok(())
        })?;
        Ok(oldest)
    }
}

impl Import<'_> {
    /// Brings the new blob files into the database's directory; `None` where the job has nothing to do with any.
    pub(super) fn take_blob_files(&self, output: &mut JobOutput) -> Result<Option<BlobCheck>> {
        let Some(job) = self.blob_job else {
            let has_none = |blobs: &BlobResult| blobs.files.is_empty() && blobs.read.is_empty();
            return match self.result.blobs.as_ref().is_none_or(has_none) {
                true => Ok(None),
                false => Err(Error::corruption("blob files in the result of a job without any")),
            };
        };
        let Some(said) = &self.result.blobs else {
            return Err(Error::not_supported(
                "the worker does not say what it did with blob files; only workers of Ferrock's compact families that \
                 have any",
            ));
        };
        self.check_read(said)?;
        let (written, unmatched) = (BlobFlow::default(), BTreeMap::new());
        let mut check = BlobCheck { said: said.clone(), written, unmatched };
        for file in &said.files {
            self.env.check_stop()?;
            let is_known = check.unmatched.contains_key(&file.number);
            let records = self
                .take_blob_file(file, job, is_known, output)
                .map_err(|error| error.context(&format!("output {}", file_name::blob(file.number))))?;
            check.unmatched.insert(file.number, records);
            let path = output.written.blob_directory.join(file_name::blob(file.number));
            output.blob_files.push(file.clone().with_checksum(self.checksum(&path, file.checksum())?));
        }
        Ok(Some(check))
    }

    /// Links a file, looks at it, and gives the digest of its records.
    fn take_blob_file(
        &self,
        file: &BlobFileAddition,
        job: &BlobJob,
        is_known: bool,
        output: &mut JobOutput,
    ) -> Result<u64> {
        if is_known || !job.has_number(file.number) {
            return Err(Error::invalid_argument("its number is not one that the job was given"));
        }
        let name = file_name::blob(file.number);
        let source = Path::new(&self.result.output_path).join(&name);
        let target = output.written.blob_directory.join(&name);
        output.written.blobs.push(file.number);
        let file_system = &*self.context.file_system;
        link_or_copy(file_system, &source, &target)?;
        // Whether the worker did is not known.
        file_system.reopen_writable(&target, &WritableOptions::for_purpose(WritePurpose::Table))?.sync()?;
        let opened = file_system.open_random_access(&target, &RandomAccessOptions::default())?;
        let reader = BlobFileReader::open(opened, self.context.family.id, FooterRule::Required)?;
        let (mut records, mut bytes, mut sum) = (0u64, 0u64, 0u64);
        reader.verify_all(|key, reference| {
            records += 1;
            bytes = reference.offset + reference.size_bytes;
            sum = sum.wrapping_add(digest(key, reference));
            if records.is_multiple_of(RECORDS_PER_CHECK) { self.env.check_stop() } else { Ok(()) }
        })?;
        let bytes = bytes.saturating_sub(ferrock_format::blob_file::BLOB_FILE_HEADER_SIZE as u64);
        if (records, bytes) != (file.total_blob_count, file.total_blob_bytes) {
            return Err(Error::corruption(format!(
                "it has {records} records of {bytes} bytes, the worker wrote {} of {}",
                file.total_blob_count, file.total_blob_bytes
            ))
            .in_file(source));
        }
        self.env.note_output(target, BlobFileMetadata::new(file.clone()).file_size_bytes())?;
        Ok(sum)
    }

    /// The inputs have no more references into a file than it has records that are no garbage.
    fn check_read(&self, said: &BlobResult) -> Result<()> {
        for read in &said.read {
            let Some(file) = self.choice.version.blob_files().get(&read.number) else {
                return Err(Error::corruption(format!("the tree has no blob file {}", read.number)));
            };
            let count = file.addition.total_blob_count.saturating_sub(file.garbage_blob_count);
            let bytes = file.addition.total_blob_bytes.saturating_sub(file.garbage_blob_bytes);
            if read.count > count || read.bytes > bytes {
                return Err(Error::corruption(format!(
                    "the worker read {} references into blob file {}, which has {count} records in use",
                    read.count, read.number
                )));
            }
        }
        Ok(())
    }

    /// Compares what the tables refer to with what there is, and accounts for the garbage.
    pub(super) fn finish_blobs(&self, check: BlobCheck, output: &mut JobOutput) -> Result<()> {
        let BlobCheck { said, written, unmatched } = check;
        let mut read = BlobFlow::default();
        said.read.iter().for_each(|file| read.add_counted(file.number, file.count, file.bytes));
        for file in &said.files {
            let referenced = written.of_file(file.number);
            let is_matched = unmatched.get(&file.number) == Some(&0);
            if referenced != (file.total_blob_count, file.total_blob_bytes) || !is_matched {
                return Err(Error::corruption(format!(
                    "the outputs have {} references into the new blob file {}, and not one to each of its {} records",
                    referenced.0, file.number, file.total_blob_count
                )));
            }
        }
        for (number, count, bytes) in written.counted() {
            let (read_count, read_bytes) = read.of_file(number);
            if !unmatched.contains_key(&number) && (count > read_count || bytes > read_bytes) {
                return Err(Error::corruption(format!(
                    "the outputs have {count} references into blob file {number}, the inputs have {read_count}"
                )));
            }
        }
        output.garbage = read.garbage(&written, &self.choice.version);
        (output.blobs, output.blobs_read) = (written, read);
        Ok(())
    }
}
