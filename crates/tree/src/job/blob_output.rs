//! The blob files that a job writes: one at a time, until it has its size.
//!
//! ```text
//! key -> value        of at least min_blob_size ---> record in the open file; key -> reference
//! key -> reference    into a file that is collected ---> the value is read, and goes the same way or into the table
//! ```
//!
//! Values are moved as they are written into the table, behind all that drops entries: a new file begins without
//! garbage.

use super::events::{FileTold, FileWritten};
use super::plan::OutputPlan;
use super::{JobEnv, WrittenFiles};
use crate::blob::{BlobCache, BlobEncoder, BlobFileParams, BlobFileWriter};
use crate::version::BlobFileMetadata;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{FileNumber, Result};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_options::PrepopulateBlobCache;
use ferrock_vfs::{IoKind, WritableOptions};

/// Writes the blob files of a job.
pub(super) struct BlobOutput<'a> {
    env: &'a dyn JobEnv,
    plan: &'a OutputPlan<'a>,
    options: WritableOptions,
    encoder: BlobEncoder,
    open: Option<BlobFileWriter>,
    told: FileTold<'a>,
    /// Takes what is written: `prepopulate_blob_cache`.
    warmed: Option<&'a BlobCache>,
}

impl<'a> BlobOutput<'a> {
    /// `None` where the options keep all values of the plan's level in tables.
    pub(super) fn new(env: &'a dyn JobEnv, plan: &'a OutputPlan<'a>, options: WritableOptions) -> Result<Option<Self>> {
        let settings = &plan.context.family.options.settings;
        let starting_level = usize::try_from(settings.blob_file_starting_level).unwrap_or(0);
        if !settings.enable_blob_files || plan.level < starting_level {
            return Ok(None);
        }
        let encoder = BlobEncoder::new(settings.blob_compression_type, &settings.blob_compression_opts.0)?
            .counting(plan.context.db.components.statistics.clone());
        let warms = match settings.prepopulate_blob_cache {
            PrepopulateBlobCache::Disable => false,
            PrepopulateBlobCache::FlushOnly => plan.reason == TableFileCreationReason::Flush,
        };
        let warmed = plan.context.family.blob_cache.as_deref().filter(|_| warms);
        let told = FileTold::new(env, &plan.context.family.name, plan.reason, true);
        Ok(Some(Self { env, plan, options, encoder, open: None, told, warmed }))
    }

    /// Writes a value, if it is large enough, and returns the reference to it.
    #[inline]
    pub(super) fn add(
        &mut self,
        user_key: &[u8],
        value: &[u8],
        files: &mut WrittenFiles,
        complete: &mut Vec<BlobFileAddition>,
    ) -> Result<Option<BlobReference>> {
        let settings = &self.plan.context.family.options.settings;
        if value.is_empty() || (value.len() as u64) < settings.min_blob_size {
            return Ok(None);
        }
        let blob_file_size = settings.blob_file_size;
        if self.open.is_none() {
            let number = self.env.new_blob_output()?;
            files.blobs.push(number);
            self.told.begin(self.plan.context.family.blob_directory.join(file_name::blob(number)));
            self.open = Some(self.create(number)?);
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let reference = open.add(user_key, self.encoder.encode(value)?)?;
        if let Some(cache) = self.warmed {
            cache.warm(&reference, value);
        }
        if open.size() >= blob_file_size {
            complete.extend(self.finish()?);
        }
        Ok(Some(reference))
    }

    fn create(&self, number: FileNumber) -> Result<BlobFileWriter> {
        let context = self.plan.context;
        let params = BlobFileParams {
            directory: &context.family.blob_directory,
            number,
            column_family_id: context.family.id,
            compression: context.family.options.settings.blob_compression_type,
            options: self.options,
            rate_limiter: context.rate_limiter(IoKind::Write),
            priority: self.plan.io_priority(self.env),
            checksums: context.db.components.file_checksum_gen_factory.as_ref(),
        };
        BlobFileWriter::create(&*context.file_system, params)
    }

    /// Completes the open file, if there is one.
    pub(super) fn finish(&mut self) -> Result<Option<BlobFileAddition>> {
        let context = self.plan.context;
        let Some(open) = self.open.take() else { return Ok(None) };
        let file = open.finish(&*context.file_system, context.family.id)?;
        let path = context.family.blob_directory.join(file_name::blob(file.number));
        let (count, bytes) = (file.total_blob_count, file.total_blob_bytes);
        self.told.end(Ok(FileWritten::Blob { count, bytes, checksum: file.checksum() }));
        self.env.note_output(path, BlobFileMetadata::new(file.clone()).file_size_bytes())?;
        Ok(Some(file))
    }

    /// The job ended: a file that is still open will not be complete.
    pub(super) fn end_with(&mut self, result: &Result<()>) {
        self.told.end_with(result);
    }
}
