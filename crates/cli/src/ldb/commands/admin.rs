//! Commands on the database as a whole: its families, sizes, consistency, compaction.

use crate::arguments::Request;
use crate::database::{directory, open_for_reading, open_for_writing};
use crate::{Failure, Result};
use ferrock::repair::Repair;
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions};
use ferrock_format::file_name;
use std::io::Write;

/// Larger than any key that is likely; the end of a range without one.
const FAR_AWAY: [u8; 1024] = [0xFF; 1024];

pub(super) fn approximate_size(request: &Request, out: &mut dyn Write) -> Result<()> {
    let (from, to) = request.range()?;
    let opened = open_for_reading(request)?;
    let is_backward = opened.family.comparator().compare(b"a", b"b").is_gt();
    let far: (&[u8], &[u8]) = if is_backward { (&FAR_AWAY, &[]) } else { (&[], &FAR_AWAY) };
    let range = (from.as_deref().unwrap_or(far.0), to.as_deref().unwrap_or(far.1));
    let sizes = opened.db.approximate_sizes(&opened.family, &[range])?;
    writeln!(out, "{}", sizes.iter().sum::<u64>())?;
    Ok(())
}

pub(super) fn compact(request: &Request) -> Result<()> {
    let (from, to) = request.range()?;
    let opened = open_for_writing(request)?;
    let options = CompactRangeOptions::default();
    opened.db.compact_range_cf(&opened.family, from.as_deref(), to.as_deref(), &options)?;
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}

/// Opening checks the tree; this reads every file.
pub(super) fn check_consistency(request: &Request, out: &mut dyn Write) -> Result<()> {
    let directory = directory(request)?;
    let opened = open_for_reading(request)?;
    let file_system = ferrock_vfs::default_file_system();
    let mut problems = Vec::new();
    for file in opened.db.live_files() {
        let names = [file_name::table(file.number), file_name::legacy_table(file.number)];
        let sizes = names.map(|name| file_system.file_size(&directory.join(name)));
        match sizes.into_iter().find_map(std::result::Result::ok) {
            Some(size) if size == file.size_bytes => {}
            Some(size) => problems.push(format!(
                "{}: {size} bytes, but {} in the MANIFEST",
                directory.join(file_name::table(file.number)).display(),
                file.size_bytes
            )),
            None => problems.push(format!(
                "{}: the file is missing; restore it from a backup",
                directory.join(file_name::table(file.number)).display()
            )),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::Data(format!("Corruption: {}", problems.join("; "))));
    }
    writeln!(out, "OK")?;
    Ok(())
}

/// Needs no MANIFEST, so nothing is opened.
pub(super) fn repair(request: &Request, out: &mut dyn Write) -> Result<()> {
    let directory = directory(request)?;
    let report = Repair::new(DbOptions::default()).run(&directory)?;
    for range in report.found.repair.lost.iter().filter(|_| request.is_set("verbose")) {
        writeln!(out, "lost in {range}")?;
    }
    writeln!(out, "OK")?;
    Ok(())
}

pub(super) fn list_column_families(request: &Request, out: &mut dyn Write) -> Result<()> {
    let directory = directory(request)?;
    let names = Db::list_column_families(&directory, &DbOptions::default())?;
    // The space at the end of the first line is RocksDB's.
    writeln!(out, "Column families in {}: \n{{{}}}", directory.display(), names.join(", "))?;
    Ok(())
}

pub(super) fn create_column_family(request: &Request, out: &mut dyn Write) -> Result<()> {
    let opened = open_for_writing(request)?;
    opened.db.create_column_family(&request.arguments[0], ColumnFamilyOptions::default())?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "OK")?;
    Ok(())
}

pub(super) fn drop_column_family(request: &Request, out: &mut dyn Write) -> Result<()> {
    let name = &request.arguments[0];
    let opened = open_for_writing(request)?;
    let family = opened.db.column_family(name);
    let family = family.ok_or_else(|| Failure::NotDone(format!("there is no column family {name}")))?;
    opened.db.drop_column_family(&family)?;
    drop((family, opened.family));
    opened.db.close()?;
    writeln!(out, "OK")?;
    Ok(())
}

pub(super) fn property(request: &Request, out: &mut dyn Write) -> Result<()> {
    let name = &request.arguments[0];
    let opened = open_for_reading(request)?;
    let value = opened.db.property_cf(&opened.family, name);
    let value = value.ok_or_else(|| Failure::NotDone(format!("failed to get property: {name}")))?;
    writeln!(out, "{name}: {value}")?;
    Ok(())
}
