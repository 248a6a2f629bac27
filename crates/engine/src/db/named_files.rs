//! `compact_files`: a compaction of the files that a caller names.

use super::DbCore;
use super::compact::{self, Request};
use super::manual_turn::in_turn;
use crate::column_family::ColumnFamily;
use crate::jobs::StoppedBy;
use crate::options::CompactionOptions;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::file_name::{self, FileKind, FileName};
use ferrock_options::CompactionJobInfo;
use ferrock_tree::compaction::picker::{FilesRequest, pick_files};
use ferrock_tree::job::JobOutput;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// See [`Db::compact_files_cf`](super::Db::compact_files_cf).
pub(super) fn compact_files(
    core: &DbCore,
    family: &ColumnFamily,
    numbers: &BTreeSet<FileNumber>,
    output_level: usize,
    output_path_id: Option<u32>,
    options: &CompactionOptions,
    told: Option<&OnceLock<CompactionJobInfo>>,
) -> Result<Vec<PathBuf>> {
    let data = &family.data;
    core.jobs.check_open()?;
    let stopped_by = StoppedBy::Caller(options.canceled.as_ref());
    core.jobs.check_stop(stopped_by)?;
    let paths = data.table_cache.paths();
    let output_path_id = match output_path_id {
        Some(id) if paths.has(id) => id,
        Some(id) => {
            let what = format!("output path {id}: the family has {} directories", paths.count());
            return Err(Error::invalid_argument(what));
        }
        None if paths.count() == 1 => 0,
        None => return Err(Error::not_supported("compact_files chooses no output path: name one of the directories")),
    };
    if let Some(compression) = options.compression.filter(|compression| !compression.is_supported()) {
        return Err(Error::not_supported(format!("compression {} is not built", compression.option_name())));
    }
    let max_subcompactions = options.max_subcompactions;
    let wanted = Request { max_subcompactions, told, ..Request::of(stopped_by) };
    let request = FilesRequest { numbers, output_level, output_path_id, options };
    in_turn(core, data, false, stopped_by, || {
        let job = core.jobs.begin_at_once(data, stopped_by, |running| {
            let dropped = || Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]);
            let version = core.versions.current(data.id).ok_or_else(dropped)?;
            let options = data.options.load_full();
            pick_files(&compact::picker_input(core, &version, &options, running), &request)
        })?;
        let output = compact::compact_by_hand(core, job, wanted)?;
        Ok(names_of(family, &output))
    })
}

/// The tables and blob files of an output.
fn names_of(family: &ColumnFamily, output: &JobOutput) -> Vec<PathBuf> {
    let paths = family.data.table_cache.paths();
    let tables = output.files.iter().map(|file| paths.directory(file.path_id).join(file_name::table(file.number)));
    let blobs = output.blob_files.iter().map(|file| paths.directory(0).join(file_name::blob(file.number)));
    tables.chain(blobs).collect()
}

/// The number in the name of a table, whatever directories come before it.
///
/// # Errors
/// `InvalidArgument` for what is no name of a table.
pub(super) fn number_of(name: &Path) -> Result<FileNumber> {
    let file = name.file_name().and_then(|name| name.to_str());
    match file.and_then(file_name::parse) {
        Some(FileName { kind: FileKind::Table, number, .. }) => Ok(number),
        _ => Err(Error::invalid_argument(format!("{} is no name of a table, as 000012.sst is", name.display()))),
    }
}
