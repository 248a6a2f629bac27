//! Where tables from outside go: a level and a sequence number for each.
//!
//! ```text
//! level 0  |--|   |----|        from above down to the first level that has a key of the file, or that a compaction
//! level 1  |-----|  |-------|   is about to write into there: the file may go no deeper than to the level above that
//! level 2  |--------------|
//!             [file]            it goes to the deepest of these levels where no other file lies in its range
//! ```
//!
//! A file whose range is touched by no key of the tree keeps sequence number 0: below it there is nothing that it has
//! to be newer than. A file above a level that has a key of its range gets a number behind all that were given, and so
//! does every file where the caller asks for it: for snapshots, and among files of one call that overlap each other.
//!
//! Files that overlap each other come in *batches*: those of one batch do not overlap, and each batch lies above all
//! levels of the batch before it, so that the last file that has a key decides. In level 0, where all batches may lie,
//! their epochs say which is newer.
//!
//! Files that are ingested *behind* go to the last level, below everything ([`place_behind`]); then no other file goes
//! there, nor does a compaction.
//!
//! This is a function of a version and of what runs. What is in a file of the tree it learns from [`Incoming::passed`],
//! which was found out before writers were held: no file is read here.

use crate::compaction::choice::RunningCompactions;
use crate::version::Version;
use crate::version::boundary::BoundaryRange;
use ferrock_base::{Comparator, Error, ErrorKind, FileNumber, Result, SequenceNumber};
use std::collections::BTreeSet;

/// A file that is to become part of the tree.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    /// Its keys, range deletions included, both ends known.
    pub range: BoundaryRange,
    /// Files of the tree whose boundaries the range lies within and that have no key and no range deletion in it.
    pub passed: BTreeSet<FileNumber>,
    /// Its smallest and largest sequence numbers, where it keeps them.
    pub kept: Option<(SequenceNumber, SequenceNumber)>,
}

/// What a caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementRules {
    /// Every file gets a sequence number.
    pub numbers_all: bool,
    /// No file may get one: they keep those that they have, and may overlap nothing that is there.
    pub keeps_numbers: bool,
    /// The files go to level 0 alone: there is no order between others.
    pub only_level_0: bool,
    /// A file that does not fit into the last level is refused.
    pub only_last_level: bool,
}

/// Where a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The level.
    pub level: usize,
    /// The number of all its entries; 0: they keep theirs.
    pub sequence: SequenceNumber,
}

/// True when two of the files have a key in common, as far as their ranges tell.
#[must_use]
pub fn overlap_each_other(version: &Version, files: &[Incoming]) -> bool {
    let order = version.comparator().user();
    let mut sorted: Vec<&BoundaryRange> = files.iter().map(|file| &file.range).collect();
    sorted.sort_by(|a, b| match (&a.smallest, &b.smallest) {
        (Some(a), Some(b)) => crate::version::boundary::compare_boundaries(order, a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    sorted.windows(2).any(|pair| pair[0].overlaps_range(order, pair[1]))
}

/// Places files of one family, in the order of the caller: of two that overlap, the later one is newer. `last` is the
/// newest sequence number that was given; the numbers of the files come right behind it.
///
/// # Errors
/// `TryAgain` when a file would not come into the last level and has to; `InvalidArgument` when one would need a
/// sequence number and may not get one.
pub fn place(
    version: &Version,
    running: &RunningCompactions,
    files: &[Incoming],
    rules: PlacementRules,
    last: SequenceNumber,
) -> Result<Vec<Place>> {
    let order = version.comparator().user();
    let are_overlapping = overlap_each_other(version, files);
    let mut places: Vec<Place> = Vec::with_capacity(files.len());
    let mut given = last;
    // Levels that are free for the batch, and the first file of it.
    let (mut levels, mut batch_begins) = (version.num_compacted_levels(), 0);
    for (index, file) in files.iter().enumerate() {
        let batch = &files[batch_begins..index];
        if batch.iter().any(|other| other.range.overlaps_range(order, &file.range)) {
            levels = places[batch_begins..].iter().map(|place| place.level).min().unwrap_or(levels);
            batch_begins = index;
        }
        if rules.keeps_numbers && files[..index].iter().any(|earlier| !is_older(order, earlier, file)) {
            return Err(Error::invalid_argument(
                "files that keep their sequence numbers overlap each other, and the later one has none that is newer \
                 than all of the earlier one: ingest them one database at a time, or write them anew with an \
                 SstFileWriter",
            ));
        }
        let mut place = place_one(version, running, file, rules, levels);
        let needs_number = !rules.keeps_numbers && (are_overlapping || rules.only_level_0 || levels == 0);
        if rules.numbers_all || needs_number || place.is_above_keys {
            if rules.keeps_numbers {
                return Err(Error::invalid_argument(
                    "An ingested file overlaps with existing data in the DB, or is hidden from a snapshot, and would \
                     need another sequence number, which allow_db_generated_files excludes",
                ));
            }
            given = given.plus(1);
            place.sequence = given;
        }
        if rules.only_last_level && place.level + 1 < version.num_compacted_levels() {
            return Err(Error::new(
                ErrorKind::TryAgain,
                "Files cannot be ingested to Lmax: its key range, or the output of a compaction that runs, overlaps \
                 them, or they overlap each other (fail_if_not_bottommost_level). Compact the range, and try again",
            ));
        }
        places.push(Place { level: place.level, sequence: place.sequence });
    }
    Ok(places)
}

/// Places files of one family behind all that is there: in the last level, which has to be reserved for such files, and
/// under number 0. No compaction writes there, and what lies above hides what it has a key of.
///
/// # Errors
/// `InvalidArgument` when the level is not reserved, has a file in the range of one of the files, or would lie below
/// entries whose sequence number is 0, too; `NotSupported` for files that overlap each other.
pub fn place_behind(version: &Version, files: &[Incoming]) -> Result<Vec<Place>> {
    if !version.reserves_last_level() {
        return Err(Error::invalid_argument(
            "Can't ingest_behind file with cf_allow_ingest_behind=false: the last level has to be reserved from the \
             first write on",
        ));
    }
    if overlap_each_other(version, files) {
        return Err(Error::not_supported(
            "Files with overlapping ranges cannot be ingested with ingestion behind mode: write them as one",
        ));
    }
    let level = version.num_levels() - 1;
    if let Some(file) = files.iter().find_map(|file| {
        let overlapping = version.overlapping_indexes(level, &file.range);
        version.level(level)[overlapping].first()
    }) {
        return Err(Error::invalid_argument(format!(
            "Can't ingest_behind file as it doesn't fit at the last level!: file {} of it has keys of the range",
            file.number
        )));
    }
    let numbered_0 = version.files().find(|(above, file)| *above < level && file.smallest_seqno == SequenceNumber(0));
    if let Some((above, file)) = numbered_0 {
        return Err(Error::invalid_argument(format!(
            "Can't ingest_behind file as despite cf_allow_ingest_behind=true there are files with 0 seqno in database \
             at upper levels!: file {} of level {above}, which was written before the option was on, or has kept its \
             numbers",
            file.number
        )));
    }
    Ok(files.iter().map(|_| Place { level, sequence: SequenceNumber(0) }).collect())
}

/// True when no entry of `later` is older than one of `earlier` of the same key.
fn is_older(order: &Comparator, earlier: &Incoming, later: &Incoming) -> bool {
    let numbers = earlier.kept.zip(later.kept);
    !earlier.range.overlaps_range(order, &later.range)
        || numbers.is_some_and(|((_, largest), (smallest, _))| largest < smallest)
}

struct Found {
    level: usize,
    sequence: SequenceNumber,
    /// A level below has a key of the file, or will have.
    is_above_keys: bool,
}

/// The deepest of the first `levels` levels that a file can lie in.
fn place_one(
    version: &Version,
    running: &RunningCompactions,
    file: &Incoming,
    rules: PlacementRules,
    levels: usize,
) -> Found {
    let order = version.comparator().user();
    let levels = if rules.only_level_0 { 0 } else { levels };
    // Where numbers are kept, no level may have a key of the file.
    let looked_at = if rules.keeps_numbers { version.num_levels() } else { levels };
    let mut found = Found { level: 0, sequence: SequenceNumber(0), is_above_keys: false };
    for level in 0..looked_at {
        let overlapping = match level {
            0 => version.level(0).iter().filter(|other| file.range.overlaps(order, other)).collect::<Vec<_>>(),
            _ => version.level(level)[version.overlapping_indexes(level, &file.range)].iter().collect(),
        };
        if running.writes_into(order, level, &file.range)
            || overlapping.iter().any(|other| !file.passed.contains(&other.number))
        {
            found.is_above_keys = true;
            break;
        }
        // Levels above the base level are on their way out.
        let takes_files = level == 0 || (level >= version.base_level() && overlapping.is_empty());
        if level < levels && takes_files {
            found.level = level;
        }
    }
    found
}

#[cfg(test)]
mod tests;
