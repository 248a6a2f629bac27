//! `change_compaction_style`: a family that was compacted by levels becomes one of universal compaction.
//!
//! ```text
//! open, no automatic compactions ---> all tables become one ---> it goes to level 0 ---> OPTIONS names the new style
//! ```
//!
//! A failure on the way leaves a family of levels, with the same rows and its options of before. A process that is
//! killed on the way leaves the same rows, and an OPTIONS file with the options of the compaction, which are to be set
//! back then: `disable_auto_compactions`, `target_file_size_base` and `max_compaction_bytes`.

use crate::arguments::Request;
use crate::database::{Shaped, open_shaped, shaped_options};
use crate::{Failure, Result};
use ferrock::options::{BottommostLevelCompaction, CompactionStyle};
use ferrock::{ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db};
use std::io::Write;

const LEVEL: i64 = 0;
const UNIVERSAL: i64 = 1;

/// The value of a flag that names a style by RocksDB's number.
fn style(request: &Request, flag: &str) -> Result<i64> {
    let style = request.number(flag)?.filter(|style| [LEVEL, UNIVERSAL].contains(style));
    style.ok_or_else(|| Failure::Usage(format!("--{flag}=<0 for level compaction, 1 for universal compaction>")))
}

fn files_per_level(db: &Db, family: &ColumnFamily) -> Vec<usize> {
    let files: Vec<usize> =
        db.live_files().iter().filter(|file| file.column_family == family.name()).map(|file| file.level).collect();
    let levels = usize::try_from(family.options().num_levels).unwrap_or(1);
    let levels = levels.max(files.iter().max().map_or(0, |deepest| deepest + 1));
    (0..levels).map(|level| files.iter().filter(|of| **of == level).count()).collect()
}

fn listed(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Options with which everything becomes one table, and nothing else is compacted.
fn one_table(family: &mut ColumnFamilyOptions) {
    family.settings.compaction_style = CompactionStyle::Level;
    family.settings.disable_auto_compactions = true;
    family.settings.target_file_size_base = u64::MAX;
    family.settings.target_file_size_multiplier = 1;
    family.settings.max_compaction_bytes = u64::MAX;
}

pub(super) fn change_compaction_style(request: &Request, out: &mut dyn Write) -> Result<()> {
    let (old, new) = (style(request, "old_compaction_style")?, style(request, "new_compaction_style")?);
    if old == new {
        return Err(Failure::Usage(
            "Old compaction style is the same as new compaction style. Nothing to do.".to_owned(),
        ));
    }
    if old == UNIVERSAL {
        return Err(Failure::Usage(
            "Convert from universal compaction to level compaction. Nothing to do: open the database with level \
             compaction."
                .to_owned(),
        ));
    }
    // Those of before: an open leaves the ones that it has in the OPTIONS file.
    let shaped = shaped_options(request)?;
    let compacted = compact_into_one(request, &shaped, out);
    // The OPTIONS file is to have the options of before, and the new style.
    let style = if compacted.is_ok() { CompactionStyle::Universal } else { CompactionStyle::Level };
    let opened = open_shaped(request, &shaped, |family| family.settings.compaction_style = style);
    compacted?;
    let opened = opened?;
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}

/// Makes all tables of the family one, in level 0.
fn compact_into_one(request: &Request, shaped: &Shaped, out: &mut dyn Write) -> Result<()> {
    let opened = open_shaped(request, shaped, one_table)?;
    writeln!(out, "files per level before compaction: {}", listed(&files_per_level(&opened.db, &opened.family)))?;
    let options = CompactRangeOptions {
        change_level: true,
        target_level: Some(0),
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    opened
        .db
        .compact_range_cf(&opened.family, None, None, &options)
        .map_err(|error| Failure::NotDone(format!("Compaction failed: {error}")))?;
    let counts = files_per_level(&opened.db, &opened.family);
    if counts.first().is_some_and(|count| *count > 1) || counts.iter().skip(1).any(|count| *count > 0) {
        return Err(Failure::NotDone(format!(
            "files per level after compaction: {}; all but one table of level 0 were to be gone",
            listed(&counts)
        )));
    }
    writeln!(out, "files per level after compaction: {}", listed(&counts))?;
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}
