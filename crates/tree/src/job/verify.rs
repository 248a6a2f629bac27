//! What is done with the outputs of a job before they replace what they were made from.
//!
//! | step | when |
//! |---|---|
//! | the table is opened: footer, metaindex, properties, top of index and filter | always |
//! | the checksum of every block is compared | `verify_output_flags` has bits 0 and 10; compactions only |
//! | every entry is read; their digest is compared with that of what was added | `paranoid_file_checks`, or bits 1 and 10 of compactions |
//! | the checksum of the whole file is compared with that of the bytes that were appended | bits 2 and 10; compactions only, with `file_checksum_gen_factory` |
//! | the blocks go into the cache | `prepopulate_block_cache` |
//!
//! The digest sees what checksums cannot: an entry that was changed, lost or doubled before its block was made. The
//! bits are those of RocksDB's `VerifyOutputFlags`. Bit 11 is about compactions by another process, whose tables
//! [`import`](super::remote::import) looks at, and whose checksums of files it always compares.

use super::{JobContext, JobOutput};
use crate::version::FileMetadata;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::file_checksum::{FileChecksum, generator_of};
use ferrock_base::hash::hash128;
use ferrock_base::{Error, ErrorKind, InternalIterator, Result};
use ferrock_format::version_edit::NewFile;
use ferrock_options::ColumnFamilyOptions;
use ferrock_table::options::PrepopulateBlockCache;
use ferrock_table::{Table, TableReadOptions};
use ferrock_vfs::{IoActivity, IoPriority, sum_of_file};
use std::path::Path;

const BLOCK_CHECKSUMS: u32 = 1 << 0;
const ITERATION: u32 = 1 << 1;
const FILE_CHECKSUM: u32 = 1 << 2;
const LOCAL_COMPACTIONS: u32 = 1 << 10;
const REMOTE_COMPACTIONS: u32 = 1 << 11;

/// Bytes that are read at a time from an output.
const READAHEAD_BYTES: usize = 256 << 10;

/// A number that stands for the entries of a table in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntriesDigest {
    entries: u64,
    hash: u64,
}

impl EntriesDigest {
    pub(super) fn add(&mut self, internal_key: &[u8], value: &[u8]) {
        self.entries += 1;
        self.hash = hash128(value, hash128(internal_key, self.hash).0).0;
    }

    /// Of a table that is read, at a priority for the rate limiter.
    fn of(table: &Table, priority: IoPriority, activity: IoActivity) -> Result<Self> {
        let mut digest = Self::default();
        let mut entries = table.iter(TableReadOptions {
            fill_cache: false,
            total_order_seek: true,
            readahead_bytes: READAHEAD_BYTES,
            rate_limiter_priority: Some(priority),
            activity,
            ..TableReadOptions::default()
        });
        entries.seek_to_first();
        while entries.valid() {
            digest.add(entries.key(), entries.value());
            entries.next();
        }
        entries.status()?;
        Ok(digest)
    }
}

/// What is looked at in the outputs of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verification {
    checksums: bool,
    file_checksum: bool,
    pub(super) entries: bool,
    fills_cache: bool,
}

impl Verification {
    pub(super) fn of(options: &ColumnFamilyOptions, reason: TableFileCreationReason) -> Self {
        let asked = |bit: u32| {
            let wanted = bit | LOCAL_COMPACTIONS;
            reason == TableFileCreationReason::Compaction && options.verify_output_flags & wanted == wanted
        };
        Self {
            checksums: asked(BLOCK_CHECKSUMS),
            file_checksum: asked(FILE_CHECKSUM),
            entries: options.paranoid_file_checks || asked(ITERATION),
            fills_cache: match options.table.prepopulate_block_cache {
                PrepopulateBlockCache::Disable => false,
                PrepopulateBlockCache::FlushOnly => reason == TableFileCreationReason::Flush,
                PrepopulateBlockCache::FlushAndCompaction => true,
            },
        }
    }
}

impl Verification {
    /// Of tables that a worker wrote.
    pub(super) fn of_remote(options: &ColumnFamilyOptions) -> Self {
        let asked = |bit: u32| {
            let wanted = bit | REMOTE_COMPACTIONS;
            options.verify_output_flags & wanted == wanted
        };
        Self {
            checksums: asked(BLOCK_CHECKSUMS),
            file_checksum: false,
            entries: options.paranoid_file_checks || asked(ITERATION),
            fills_cache: false,
        }
    }
}

/// Looks at every table of the output.
///
/// # Errors
/// `Corruption`, with the file, for a table that is not what was written; the error of a read.
pub(super) fn verify(
    context: &JobContext,
    output: &JobOutput,
    reason: TableFileCreationReason,
    priority: IoPriority,
) -> Result<()> {
    let verification = Verification::of(&context.family.options, reason);
    let activity = match reason {
        TableFileCreationReason::Flush => IoActivity::Flush,
        TableFileCreationReason::Compaction => IoActivity::Compaction,
        _ => IoActivity::Unknown,
    };
    output.files.iter().try_for_each(|file| verify_file(context, output, file, verification, (priority, activity)))
}

fn verify_file(
    context: &JobContext,
    output: &JobOutput,
    file: &NewFile,
    wanted: Verification,
    (priority, activity): (IoPriority, IoActivity),
) -> Result<()> {
    let table = context.family.table_cache.open_uncharged(&FileMetadata::from(file.clone()), activity)?;
    if wanted.checksums {
        table.verify_checksums(READAHEAD_BYTES, activity)?;
    }
    if let Some(recorded) = file.recorded_checksum().filter(|_| wanted.file_checksum) {
        check_file(context, table.file_path(), &recorded)?;
    }
    if wanted.entries {
        let added = output.digests.get(&file.number).copied().unwrap_or_default();
        check_digest(&table, added, EntriesDigest::of(&table, priority, activity)?)?;
    }
    match if wanted.fills_cache { table.fill_cache() } else { Ok(()) } {
        // A full cache must not fail the job.
        Err(error) if error.kind() == ErrorKind::MemoryLimit => Ok(()),
        filled => filled,
    }
}

/// Compares the file with the checksum of what was appended to it.
fn check_file(context: &JobContext, path: &Path, recorded: &FileChecksum) -> Result<()> {
    let Some(factory) = &context.db.components.file_checksum_gen_factory else { return Ok(()) };
    let generator = generator_of(factory, path, &recorded.function_name)?;
    let found = sum_of_file(&*context.file_system, path, generator, &|_| Ok(()))?;
    if found == *recorded {
        return Ok(());
    }
    let what = format!("file checksum mismatch: {recorded} was written, {found} is read (verify_output_flags)");
    Err(Error::corruption(what).in_file(path))
}

fn check_digest(table: &Table, added: EntriesDigest, found: EntriesDigest) -> Result<()> {
    if added == found {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "{}: {} entries with the digest {:016x} were added to the table, and {} with {:016x} are read from it \
         (paranoid_file_checks, verify_output_flags)",
        table.file_path().display(),
        added.entries,
        added.hash,
        found.entries,
        found.hash
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_knows_each_byte_and_the_order() {
        let digest = |entries: &[(&str, &str)]| {
            let mut digest = EntriesDigest::default();
            entries.iter().for_each(|(key, value)| digest.add(key.as_bytes(), value.as_bytes()));
            digest
        };
        let whole = digest(&[("a", "1"), ("b", "2")]);
        assert_eq!(whole, digest(&[("a", "1"), ("b", "2")]));
        let others: [&[(&str, &str)]; 6] = [
            &[("a", "1")],
            &[("b", "2"), ("a", "1")],
            &[("a", "1"), ("b", "3")],
            &[("a", "1b"), ("", "2")],
            &[("a", "1"), ("b", "2"), ("b", "2")],
            &[],
        ];
        for other in others {
            assert_ne!(whole, digest(other), "{other:?}");
        }
    }

    #[test]
    fn the_bits_are_those_of_rocksdb() {
        let verification = |flags: u32, paranoid: bool, reason: TableFileCreationReason| {
            let mut options = ColumnFamilyOptions::default();
            (options.verify_output_flags, options.paranoid_file_checks) = (flags, paranoid);
            let wanted = Verification::of(&options, reason);
            (wanted.checksums, wanted.entries)
        };
        let (flush, compaction) = (TableFileCreationReason::Flush, TableFileCreationReason::Compaction);
        let local = 1 << 10;
        for (flags, paranoid, reason, expected) in [
            (0, false, compaction, (false, false)),
            (0b11, false, compaction, (false, false)),
            (local, false, compaction, (false, false)),
            (0b01 | local, false, compaction, (true, false)),
            (0b10 | local, false, compaction, (false, true)),
            (0b11 | 1 << 11, false, compaction, (false, false)),
            (u32::MAX, false, compaction, (true, true)),
            (u32::MAX, false, flush, (false, false)),
            (0, true, flush, (false, true)),
            (0, true, compaction, (false, true)),
            (0, true, TableFileCreationReason::Recovery, (false, true)),
        ] {
            assert_eq!(verification(flags, paranoid, reason), expected, "{flags:#x} {paranoid} {reason:?}");
        }
    }
}
