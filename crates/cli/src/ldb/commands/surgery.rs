//! Commands on the tree of a database: which files it has, and changes of the MANIFEST while it is closed.

use crate::arguments::Request;
use crate::database::{directory, open_for_reading, open_for_writing};
use crate::{Failure, Result};
use ferrock::repair::{BlobOfFamily, FamilyFiles, Surgery};
use ferrock::{CompactRangeOptions, DbOptions, FileNumber};
use ferrock_base::InternalComparator;
use ferrock_base::file_checksum::FileChecksum;
use ferrock_table::{Table, TableReaderParams};
use ferrock_vfs::{FileSystem, RandomAccessOptions, default_file_system};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// What RocksDB's tool takes where no number of keys is given.
const MOST_TOMBSTONES: u64 = 1000;

fn files_of(request: &Request) -> Result<Vec<FamilyFiles>> {
    Ok(Surgery::open_read_only(directory(request)?, DbOptions::default())?.files())
}

/// RocksDB's tool says on standard error how a command ended.
fn tell(message: &str) -> Result<()> {
    Ok(writeln!(std::io::stderr(), "{message}")?)
}

pub(super) fn unsafe_remove_sst_file(request: &Request) -> Result<()> {
    let text = &request.arguments[0];
    let number = text.parse().map_err(|_| Failure::Usage(format!("Failed to parse SST file number {text}")))?;
    let surgery = Surgery::open(directory(request)?, DbOptions::default())?;
    surgery
        .remove_table(FileNumber(number))
        .map_err(|error| Failure::NotDone(format!("failed to unsafely remove SST file: {error}")))?;
    tell("unsafely removed SST file")
}

/// Files of the machine tell no temperature, so what the MANIFEST says of them stays.
pub(super) fn update_manifest(request: &Request) -> Result<()> {
    let surgery = Surgery::open(directory(request)?, DbOptions::default())?;
    for table in surgery.files().iter().flat_map(|family| &family.tables) {
        let opened = default_file_system().open_random_access(&table.path, &RandomAccessOptions::default());
        opened.map_err(|error| Failure::NotDone(format!("failed to update manifest: {error}")))?;
    }
    tell("Manifest updates successful")
}

pub(super) fn list_live_files_metadata(request: &Request, out: &mut dyn Write) -> Result<()> {
    let families = files_of(request)?;
    if request.is_set("sort_by_filename") {
        writeln!(out, "Live SST and Blob Files:")?;
        let mut lines: Vec<(PathBuf, String)> = Vec::new();
        for family in &families {
            let name = &family.name;
            for table in &family.tables {
                let line = format!("{} : level {}, column family '{name}'", table.path.display(), table.level);
                lines.push((table.path.clone(), line));
            }
            let blob =
                |blob: &BlobOfFamily| (blob.path.clone(), format!("{}, column family '{name}'", blob.path.display()));
            lines.extend(family.blob_files.iter().map(blob));
        }
        lines.sort();
        for (_, line) in lines {
            writeln!(out, "{line}")?;
        }
    } else {
        for family in &families {
            writeln!(out, "===== Column Family: {} =====\nLive SST Files:", family.name)?;
            for level in 0..family.num_levels {
                writeln!(out, "---------- level {level} ----------")?;
                for table in family.tables.iter().filter(|table| table.level == level) {
                    writeln!(out, "{}", table.path.display())?;
                }
            }
            writeln!(out, "Live Blob Files:")?;
            for blob in &family.blob_files {
                writeln!(out, "{}", blob.path.display())?;
            }
        }
    }
    writeln!(out, "------------------------------")?;
    Ok(())
}

/// RocksDB's tool prints them in no order; here they are sorted by number.
pub(super) fn file_checksum_dump(request: &Request, out: &mut dyn Write) -> Result<()> {
    let families = files_of(request)?;
    let tables = families.iter().flat_map(|family| &family.tables).map(|table| (table.number, &table.checksum));
    let blobs = families.iter().flat_map(|family| &family.blob_files).map(|blob| (blob.number, &blob.checksum));
    let mut files: Vec<_> = tables.chain(blobs).collect();
    files.sort_by_key(|(number, _)| *number);
    for (number, checksum) in files {
        write!(out, "{}, ", number.0)?;
        match checksum {
            None => write!(out, "Unknown, ")?,
            Some(FileChecksum { function_name, value }) => {
                write!(out, "{function_name}, ")?;
                if request.is_set("hex") {
                    value.iter().try_for_each(|byte| write!(out, "{byte:02X}"))?;
                } else {
                    out.write_all(value)?;
                }
            }
        }
        writeln!(out)?;
    }
    // The space is RocksDB's.
    writeln!(out, "Print SST file checksum information finished ")?;
    Ok(())
}

pub(super) fn list_file_range_deletes(request: &Request, out: &mut dyn Write) -> Result<()> {
    let mut left = match request.get("max_keys") {
        Some(_) => request.count("max_keys")?,
        None => MOST_TOMBSTONES,
    };
    let opened = open_for_reading(request)?;
    let files: Arc<dyn FileSystem> = default_file_system();
    for file in opened.db.live_files().into_iter().filter(|file| file.column_family == opened.family.name()) {
        if left == 0 {
            break;
        }
        let path = file.directory.join(file.name());
        writeln!(out, "=== file : {} ===", path.display())?;
        let table = files.open_random_access(&path, &RandomAccessOptions::default())?;
        let comparator = InternalComparator::new(opened.family.comparator().clone());
        let table = Table::open(TableReaderParams::new(table, Arc::clone(&files), comparator))?;
        for fragment in table.range_tombstones().iter().flat_map(|tombstones| tombstones.iter()) {
            for sequence in fragment.sequences.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                left -= 1;
                write!(out, "start: ")?;
                fragment.start.iter().try_for_each(|byte| write!(out, "{byte:02X}"))?;
                write!(out, " end: ")?;
                fragment.end.iter().try_for_each(|byte| write!(out, "{byte:02X}"))?;
                writeln!(out, " seq: {sequence}")?;
            }
        }
    }
    if left == 0 {
        writeln!(out, "(results may not be complete)")?;
    }
    writeln!(out)?;
    Ok(())
}

pub(super) fn reduce_levels(request: &Request, out: &mut dyn Write) -> Result<()> {
    let missing = || Failure::Usage("--new_levels=<number of levels> must be given".to_owned());
    let levels = request.number("new_levels")?.ok_or_else(missing)?;
    let levels = usize::try_from(levels).ok().filter(|levels| *levels > 1);
    let levels =
        levels.ok_or_else(|| Failure::Usage("--new_levels: Invalid number of levels: 2 or more".to_owned()))?;
    let directory = directory(request)?;
    let name = request.get("column_family").unwrap_or("default");
    let families = files_of(request)?;
    let family = families.iter().find(|family| family.name == name);
    let in_use = family.ok_or_else(|| Failure::NotDone(format!("Non-existing column family {name}")))?.levels_in_use();
    if request.is_set("print_old_levels") {
        writeln!(out, "The old number of levels in use is {in_use}")?;
    }
    if in_use <= levels {
        return Ok(());
    }
    let opened = open_for_writing(request)?;
    writeln!(out, "Compacting the db...")?;
    opened.db.compact_range_cf(&opened.family, None, None, &CompactRangeOptions::default())?;
    drop(opened.family);
    opened.db.close()?;
    Surgery::open(directory, DbOptions::default())?.reduce_levels(name, levels)?;
    Ok(())
}
