//! Checksums of whole files: of files that the database did not write as a stream, and the comparison of all that the
//! MANIFEST has.
//!
//! What a flush or a compaction writes gets its checksum on the way (`ferrock_vfs::summed`). A file that comes from
//! outside, or that a crashed writer has left, is read once for it.

use super::DbCore;
use crate::options::ReadOptions;
use ferrock_base::file_checksum::{FileChecksum, FileChecksumGenFactory, generator_for, generator_of};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::file_name;
use ferrock_statistics::Ticker;
use ferrock_vfs::{IoKind, sum_of_file};
use std::path::Path;
use std::sync::Arc;

impl DbCore {
    /// What makes checksums of the files of this database.
    pub(super) fn checksum_factory(&self) -> Option<Arc<dyn FileChecksumGenFactory>> {
        self.options.load().components.file_checksum_gen_factory.clone()
    }
}

/// The checksum of a file that is complete, by the function that the database's own files have; `None` where they have
/// none.
///
/// # Errors
/// Of reading it.
pub(super) fn checksum_of(core: &DbCore, path: &Path) -> Result<Option<FileChecksum>> {
    let generator = generator_for(core.checksum_factory().as_ref(), path);
    generator.map(|generator| sum_of_file(&*core.env.file_system, path, generator, &|_| Ok(()))).transpose()
}

/// Reads a file, and compares it with the checksum that it is to have.
///
/// # Errors
/// `Corruption`, naming the file and both checksums; `InvalidArgument` for a function that the factory does not know;
/// those of reading, and of `check`, which is called with the bytes of each read before it.
pub(super) fn compare(
    core: &DbCore,
    factory: &Arc<dyn FileChecksumGenFactory>,
    path: &Path,
    recorded: &FileChecksum,
    check: &dyn Fn(u64) -> Result<()>,
) -> Result<()> {
    let generator = generator_of(factory, path, &recorded.function_name)?;
    let found = sum_of_file(&*core.env.file_system, path, generator, check)?;
    if found.value == recorded.value {
        return Ok(());
    }
    let what = format!("file checksum mismatch: the file was recorded as {recorded}, and is now {found}");
    Err(Error::corruption(what).in_file(path))
}

/// See [`Db::verify_file_checksums`](super::Db::verify_file_checksums).
pub(crate) fn verify_file_checksums(core: &DbCore, read: &ReadOptions) -> Result<()> {
    let Some(factory) = core.checksum_factory() else {
        return Err(Error::invalid_argument(
            "Cannot verify file checksum if options.file_checksum_gen_factory is null: set the factory that the files \
             were written with",
        ));
    };
    let options = core.options.load();
    let limiter = options.components.rate_limiter.as_ref().filter(|limiter| limiter.limits(IoKind::Read));
    let begun_us = core.env.clock.monotonic_us();
    let check = |bytes: u64| {
        core.jobs.check_not_closing()?;
        if !read.deadline.is_zero() && u128::from(core.env.clock.unix_us()) >= read.deadline.as_micros() {
            return Err(Error::new(ErrorKind::TimedOut, "the deadline of verify_file_checksums has passed"));
        }
        if let (Some(limiter), Some(priority)) = (limiter, read.rate_limiter_priority) {
            limiter.request(bytes, priority);
        }
        Ok(())
    };
    let compare_one = |path: &Path, size_bytes: u64, recorded: &FileChecksum| {
        compare(core, &factory, path, recorded, &check)?;
        if let Some(recorder) = core.metrics.recorder() {
            recorder.add(Ticker::VerifyChecksumReadBytes, size_bytes);
        }
        Ok::<(), Error>(())
    };
    for data in core.families.load().iter() {
        let (pinned, paths) = (data.super_version.load(), data.table_cache.paths());
        for (_, file) in pinned.version.files() {
            let Some(recorded) = file.recorded_checksum() else { continue };
            let path = paths.directory(file.path_id).join(file_name::table(file.number));
            compare_one(&path, file.size_bytes, &recorded)?;
        }
        for (number, file) in pinned.version.blob_files() {
            let Some(recorded) = file.addition.checksum() else { continue };
            let path = paths.directory(0).join(file_name::blob(*number));
            compare_one(&path, file.file_size_bytes(), &recorded)?;
        }
    }
    let us = core.env.clock.monotonic_us().saturating_sub(begun_us);
    core.events.log().info(|| format!("the checksums of all files that have one were compared in {us} us"));
    Ok(())
}
