//! The checksums of whole files that come from outside.
//!
//! | given by the caller | `verify_file_checksum` | what the MANIFEST gets |
//! |---|---|---|
//! | none | | that of the file, which is read once for it |
//! | one for each file | true (default) | that of the file, which has to be the one that was given |
//! | one for each file | false | the one that was given, if the factory knows its function; the file is not read |
//!
//! The file that is read is the one in the directory of the database, copied or linked: what the MANIFEST names.

use super::args::IngestExternalFileArg;
use super::prepared_file::PreparedFile;
use crate::db::{DbCore, file_checksums};
use ferrock_base::file_checksum::{FileChecksum, FileChecksumContext, generator_of};
use ferrock_base::{Error, Result};
use ferrock_format::file_name;
use std::path::Path;

/// Refuses what no file has to be read for.
pub(super) fn check(core: &DbCore, arg: &IngestExternalFileArg) -> Result<()> {
    let refuse = |what: String| Err(Error::invalid_argument(format!("column family {}: {what}", arg.family.name())));
    let (given, files) = (arg.file_checksums.len(), arg.files.len());
    if given != 0 && given != files {
        return refuse(format!(
            "{given} file_checksums are given for {files} files: give one for each of them, in their order, or none"
        ));
    }
    match core.checksum_factory() {
        None if given != 0 => refuse(
            "file_checksums are given, and the database makes none to compare them with: open it with a \
             file_checksum_gen_factory, or give none"
                .to_owned(),
        ),
        Some(_) if arg.options.write_global_seqno => Err(Error::not_supported(format!(
            "column family {}: write_global_seqno changes a file behind its checksum, and the database has a \
             file_checksum_gen_factory: clear write_global_seqno, which only releases of RocksDB before 5.16 need",
            arg.family.name()
        ))),
        _ => Ok(()),
    }
}

/// What an export says of a file, where the database makes checksums by that function, too.
pub(super) fn known(core: &DbCore, path: &Path, said: Option<&FileChecksum>) -> Option<FileChecksum> {
    let requested_function = Some(&said?.function_name[..]);
    core.checksum_factory()?.create(&FileChecksumContext { path, requested_function })?;
    said.cloned()
}

/// Gives files that are in `directory` their checksums. `checksum` is what is said of each of them.
///
/// # Errors
/// `Corruption` for a file that has not the checksum that was given; `InvalidArgument` for one of a function that the
/// factory does not know; those of reading.
pub(super) fn give(core: &DbCore, directory: &Path, are_verified: bool, files: &mut [PreparedFile]) -> Result<()> {
    let Some(factory) = core.checksum_factory() else { return Ok(()) };
    for file in files {
        core.jobs.check_not_closing()?;
        let inside = directory.join(file_name::table(file.number));
        file.checksum = match &file.checksum {
            None => file_checksums::checksum_of(core, &inside)?,
            Some(given) => {
                let checked = match are_verified {
                    true => {
                        let check = |_| core.jobs.check_not_closing();
                        file_checksums::compare(core, &factory, &inside, given, &check)
                    }
                    false => generator_of(&factory, &inside, &given.function_name).map(drop),
                };
                let place = file.external_path.display();
                checked.map_err(|error| error.context(&format!("the file from outside {place}")))?;
                Some(given.clone())
            }
        };
    }
    Ok(())
}
