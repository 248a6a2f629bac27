//! Column families that were exported become families of the database.
//!
//! ```text
//! metadata --> read each table --> do they make a tree? --> numbers --> copy or link, sync --+
//!                                                                                            |
//!   MANIFEST, one atomic group:   a family is added  |  its tables, in their levels  <-------+
//!                                                                                            |
//!   alone in the write queue:     the newest number of the tables is passed over  <----------+
//!                                 the family is known
//! ```
//!
//! Invariants:
//! - The metadata are only believed as far as the tables bear them out: sequence numbers come from the entries (but for
//!   a table that was ingested, whose number no entry has), boundaries hold all keys, and tables of a level below 0 do
//!   not overlap, whatever `force_consistency_checks` says.
//! - The family and its tables are durable together. A call that fails leaves neither.
//! - No write gets a number that a table has: the family is known only when all of them were passed over.
//!
//! What a release of RocksDB does not have: it creates the family, fills it, and drops it where that fails; a crash in
//! between leaves it empty. It reads no table for its sequence numbers, and forgets blob files.

use super::args::{ExportImportFilesMetadata, ExportedFile};
use super::checksums;
use super::prepare::{self, PendingFiles};
use super::prepared_file::PreparedFile;
use crate::column_family::ColumnFamily;
use crate::db::{DbCore, families};
use crate::options::{ColumnFamilyOptions, ImportColumnFamilyOptions, IngestExternalFileOptions};
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::{Error, FileNumber, InternalComparator, Result};
use ferrock_format::file_name;
use ferrock_format::version_edit::NewFile;
use ferrock_table::Table;
use ferrock_tree::ingestion::Incoming;
use ferrock_tree::places::create_table_directories;
use ferrock_tree::version::boundary::{BoundaryRange, compare_boundaries};
use std::sync::Arc;

/// See [`Db::column_family_files`](crate::Db::column_family_files).
pub(crate) fn exported_files(family: &ColumnFamily) -> Vec<ExportedFile> {
    let data = &family.data;
    let version = Arc::clone(&data.super_version.load().version);
    let told = |(level, file): (usize, &Arc<ferrock_tree::version::FileMetadata>)| ExportedFile {
        path: data.table_cache.paths().directory(file.path_id).join(file_name::table(file.number)),
        level,
        size_bytes: file.size_bytes,
        smallest: file.smallest.clone(),
        largest: file.largest.clone(),
        smallest_sequence: file.smallest_seqno,
        largest_sequence: file.largest_seqno,
        epoch_number: file.epoch_number,
        oldest_blob_file: file.oldest_blob_file_number,
        temperature: file.temperature,
        checksum: file.recorded_checksum(),
    };
    version.files().map(told).collect()
}

/// See [`Db::create_column_family_with_import`](crate::Db::create_column_family_with_import).
pub(crate) fn create_column_family_with_import(
    core: &Arc<DbCore>,
    name: &str,
    options: ColumnFamilyOptions,
    import: &ImportColumnFamilyOptions,
    exports: &[ExportImportFilesMetadata],
) -> Result<ColumnFamily> {
    core.jobs.check_open()?;
    check(core, &options, import, exports)?;
    let open = core.jobs.hold_open()?;
    let mut files = Vec::new();
    let family = families::create_column_family_by(core, name, options, |name, options| {
        if core.versions.families().iter().any(|family| family.name == name) {
            return Err(Error::invalid_argument(format!("Column family already exists: {name}")));
        }
        create_table_directories(&*core.env.file_system, core.files.database(), &options.cf_paths)?;
        let mut tables = read_exports(core, &options, exports, &mut files)?;
        let mut pending = PendingFiles::new(core);
        let directory = core.files.places().directory_of(&options);
        pending.reserve(&directory, &mut files);
        if import.move_files {
            prepare::record_numbers(core)?;
        }
        let how = IngestExternalFileOptions { move_files: import.move_files, ..IngestExternalFileOptions::default() };
        prepare::bring(core, &options, &how, &directory, &mut files)?;
        checksums::give(core, &directory, true, &mut files)?;
        for (table, file) in tables.iter_mut().zip(&files) {
            table.number = file.number;
            table.checksum.clone_from(&file.checksum);
            table.temperature = file.temperature;
        }
        families::create_family_of(core, name, options, tables, || pending.hand_over())
    })?;
    for file in &files {
        let inside = family.data.table_cache.paths().directory(0).join(file_name::table(file.number));
        core.files.deletion().count(inside, file.size_bytes);
    }
    core.events.log().info(|| format!("[{}] the family was imported, with {} tables", family.name(), files.len()));
    if import.move_files {
        remove_names(core, &files);
    }
    core.jobs.schedule();
    drop(open);
    Ok(family)
}

/// Ends the move. A name that stays costs nothing but the name.
fn remove_names(core: &DbCore, files: &[PreparedFile]) {
    for file in files {
        if let Err(error) = core.env.file_system.remove_file(&file.external_path) {
            core.events.log().warn(|| format!("a table was imported, and its first name stays: {error}"));
        }
    }
}

/// Refuses what no file has to be read for.
fn check(
    core: &DbCore,
    options: &ColumnFamilyOptions,
    import: &ImportColumnFamilyOptions,
    exports: &[ExportImportFilesMetadata],
) -> Result<()> {
    let name = options.comparator.name();
    if let Some(export) = exports.iter().find(|export| export.comparator_name != name) {
        return Err(Error::invalid_argument(format!(
            "Comparator name mismatch: the exported family is ordered by {}, and the options of the new one say {name}",
            export.comparator_name
        )));
    }
    if exports.is_empty() || exports.iter().any(|export| export.files.is_empty()) {
        return Err(Error::invalid_argument(
            "The list of files is empty: an export of a family without tables is none; create the family instead",
        ));
    }
    let files = exports.iter().flat_map(|export| &export.files);
    for file in files.clone() {
        if usize::try_from(options.num_levels).is_ok_and(|levels| file.level >= levels) {
            return Err(Error::invalid_argument(format!(
                "the table is in level {}, and the options of the new family have {} levels: raise num_levels",
                file.level, options.num_levels
            ))
            .in_file(&file.path));
        }
        if let Some(number) = file.oldest_blob_file {
            return Err(Error::not_supported(format!(
                "the table refers to values in blob file {number}, which no export has: compact the family without \
                 enable_blob_files, and export it then"
            ))
            .in_file(&file.path));
        }
    }
    prepare::check_paths(core, files.map(|file| (file.path.as_path(), import.move_files)))
}

/// Reads all tables. Returns them as the MANIFEST is to have them, but for their numbers.
fn read_exports(
    core: &DbCore,
    options: &ColumnFamilyOptions,
    exports: &[ExportImportFilesMetadata],
    files: &mut Vec<PreparedFile>,
) -> Result<Vec<NewFile>> {
    let order = InternalComparator::new(options.comparator.clone());
    let (mut tables, mut ends) = (Vec::new(), Vec::new());
    for export in exports {
        let begin = tables.len();
        for exported in &export.files {
            core.jobs.check_not_closing()?;
            let (file, table) = read_table(core, options, &order, exported)?;
            files.push(file);
            tables.push(table);
        }
        ends.push(hull(&order, &tables[begin..]));
    }
    for (index, range) in ends.iter().enumerate() {
        if ends[..index].iter().any(|other| other.overlaps_range(order.user(), range)) {
            return Err(Error::invalid_argument(
                "CFs have overlapping ranges: which of two exports has the newer entry of a key is not known",
            ));
        }
    }
    check_levels(&order, exports, &tables)?;
    complete_epochs(&mut tables);
    Ok(tables)
}

fn read_table(
    core: &DbCore,
    options: &ColumnFamilyOptions,
    order: &InternalComparator,
    exported: &ExportedFile,
) -> Result<(PreparedFile, NewFile)> {
    let path = &exported.path;
    let (size_bytes, table) = prepare::open_table(core, options, Some(exported.largest_sequence), path)?;
    let read = || {
        let properties = table.properties();
        if table.as_block().is_none() {
            return Err(Error::not_supported("a plain table: write a block-based one"));
        }
        if exported.size_bytes != 0 && exported.size_bytes != size_bytes {
            return Err(Error::corruption(format!(
                "the file has {size_bytes} bytes, and the metadata of the export say {}",
                exported.size_bytes
            )));
        }
        if properties.num_entries == 0 && properties.num_range_deletions == 0 {
            return Err(Error::invalid_argument("File contain no entries"));
        }
        Ok((range_of(order, exported, &table)?, prepare::kept_numbers(&table)?))
    };
    let (range, kept) = read().map_err(|error: Error| error.in_file(path))?;
    let file = PreparedFile {
        external_path: path.clone(),
        number: FileNumber(0),
        size_bytes,
        incoming: Incoming { range: range.clone(), kept: Some(kept), ..Incoming::default() },
        properties: Arc::clone(table.properties()),
        number_offset: None,
        kept: Some(kept),
        is_copy: false,
        temperature: exported.temperature,
        checksum: checksums::known(core, path, exported.checksum.as_ref()),
    };
    let now_secs = core.env.clock.unix_seconds();
    let new_file = NewFile {
        level: u32::try_from(exported.level).unwrap_or(u32::MAX),
        size_bytes,
        smallest: range.smallest.unwrap_or_default(),
        largest: range.largest.unwrap_or_default(),
        smallest_seqno: kept.0,
        largest_seqno: kept.1,
        oldest_ancester_time_secs: now_secs,
        file_creation_time_secs: now_secs,
        epoch_number: exported.epoch_number.filter(|epoch| *epoch != 0),
        unique_id: file.unique_id(),
        tail_size_bytes: file.tail_size_bytes(),
        ..NewFile::default()
    };
    Ok((file, new_file))
}

/// The boundaries that the metadata tell, which cut range deletions, where all entries lie within them; those of the
/// file where they tell none.
fn range_of(order: &InternalComparator, exported: &ExportedFile, table: &Table) -> Result<BoundaryRange> {
    let are_told = !exported.smallest.is_empty() && !exported.largest.is_empty();
    let is_outside = |key: &[u8]| {
        compare_boundaries(order.user(), key, &exported.smallest).is_lt()
            || compare_boundaries(order.user(), key, &exported.largest).is_gt()
    };
    if are_told {
        ParsedInternalKey::parse(&exported.smallest)?;
        ParsedInternalKey::parse(&exported.largest)?;
    }
    let check = |key: &[u8]| match are_told && is_outside(key) {
        true => Err(Error::corruption(format!(
            "key {} of the file lies outside of the range that the metadata of the export tell",
            ferrock_base::internal_key::user_key(key).escape_ascii()
        ))),
        false => Ok(()),
    };
    let range = prepare::bounds(order.user(), table, &check)?;
    if !are_told {
        return Ok(range);
    }
    if compare_boundaries(order.user(), &exported.smallest, &exported.largest).is_gt() {
        return Err(Error::corruption("File has corrupted keys: the last comes before the first"));
    }
    Ok(BoundaryRange { smallest: Some(exported.smallest.clone()), largest: Some(exported.largest.clone()) })
}

fn hull(order: &InternalComparator, tables: &[NewFile]) -> BoundaryRange {
    let compare = |a: &&NewFile, b: &&NewFile| compare_boundaries(order.user(), &a.smallest, &b.smallest);
    let smallest = tables.iter().min_by(compare).map(|table| table.smallest.clone());
    let compare = |a: &&NewFile, b: &&NewFile| compare_boundaries(order.user(), &a.largest, &b.largest);
    let largest = tables.iter().max_by(compare).map(|table| table.largest.clone());
    BoundaryRange { smallest, largest }
}

/// Refuses tables of a level below 0 that overlap.
fn check_levels(order: &InternalComparator, exports: &[ExportImportFilesMetadata], tables: &[NewFile]) -> Result<()> {
    let mut sorted: Vec<(&NewFile, &ExportedFile)> = tables
        .iter()
        .zip(exports.iter().flat_map(|export| &export.files))
        .filter(|(table, _)| table.level > 0)
        .collect();
    sorted.sort_by(|(a, _), (b, _)| a.level.cmp(&b.level).then_with(|| order.compare(&a.smallest, &b.smallest)));
    for pair in sorted.windows(2) {
        let [(left, left_file), (right, right_file)] = [pair[0], pair[1]];
        if left.level == right.level && order.compare(&left.largest, &right.smallest).is_ge() {
            return Err(Error::corruption(format!(
                "two tables of level {} overlap; the other one is {}",
                left.level,
                left_file.path.display()
            ))
            .in_file(&right_file.path));
        }
    }
    Ok(())
}

/// Where one table has no epoch all get new ones, by their places: the deepest level is the oldest, and in level 0
/// sequence numbers say which table is newer.
fn complete_epochs(tables: &mut [NewFile]) {
    if tables.iter().all(|table| table.epoch_number.is_some()) {
        return;
    }
    let mut oldest_first: Vec<&mut NewFile> = tables.iter_mut().collect();
    oldest_first.sort_by_key(|table| (std::cmp::Reverse(table.level), table.largest_seqno, table.smallest_seqno));
    for (table, epoch) in oldest_first.into_iter().zip(1..) {
        table.epoch_number = Some(epoch);
    }
}
