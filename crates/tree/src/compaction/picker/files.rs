//! `compact_files`: the files that a caller names, and what has to come along.
//!
//! ```text
//! output L3, named: L1 #5
//!
//! L1      [  #4 ][ #5  ]           #4 and #5 share a user key: both
//! L2   [ #6 ]        [ #7 ][ #8 ]  #6 and #7 overlap #4 or #5; #8 shares a key with #7
//! L3   [     #9     ][  #10  ]     all that these overlap
//! ```
//!
//! Level by level from the top, as in RocksDB: all files between the first and the last that are taken, with the
//! neighbours that share a user key with them; then what the files taken so far overlap in every level down to the
//! output. Of level 0 everything older than the newest file named, or, for an output on level 0, everything between.
//! So nothing older stays above the output.

use super::PickerInput;
use super::inputs::is_trivial_move;
use super::placement;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::version::{FileMetadata, Version};
use ferrock_base::{Error, ErrorKind, FileNumber, Result, Temperature};
use ferrock_options::{CompactionOptions, CompactionShape};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What a caller asks for.
#[derive(Clone, Debug)]
pub struct FilesRequest<'a> {
    /// The files.
    pub numbers: &'a BTreeSet<FileNumber>,
    /// The level that they are to come to.
    pub output_level: usize,
    /// The directory that the output goes to.
    pub output_path_id: u32,
    /// The form of the output.
    pub options: &'a CompactionOptions,
}

/// The compaction of files that a caller names, with all files that belong to it.
///
/// # Errors
/// `InvalidArgument` when the output level cannot be one, no file is named, one is not there, or one lies below the
/// output level; `Aborted` when a file that is needed is being compacted, or another compaction writes there.
pub fn pick_files(input: &PickerInput<'_>, request: &FilesRequest<'_>) -> Result<CompactionChoice> {
    check_request(input, request)?;
    let version = input.version;
    let mut taken: Vec<Vec<bool>> =
        (0..=request.output_level).map(|level| flags(version.level(level), request.numbers)).collect();
    complete(version, &mut taken)?;
    let inputs = taken.iter().enumerate().map(|(level, taken)| {
        let files = version.level(level).iter().zip(taken).filter(|(_, taken)| **taken);
        LevelInputs { level, files: files.map(|(file, _)| Arc::clone(file)).collect() }
    });
    let inputs: Vec<LevelInputs> = inputs.filter(|inputs| !inputs.files.is_empty()).collect();
    let mut choice = choice_of(input, request, inputs);
    let order = version.comparator().user();
    if request.output_level > 0 && input.running.writes_into(order, request.output_level, &choice.range()) {
        let what = "a running compaction writes into the same range of the output level: try again when it has ended";
        return Err(Error::new(ErrorKind::Aborted, what));
    }
    if !placement::place(input, &mut choice) {
        let what = "a running compaction writes into the same range of the level above the output level, where young \
                    entries go (preclude_last_level_data_seconds): try again when it has ended";
        return Err(Error::new(ErrorKind::Aborted, what));
    }
    if request.options.allow_trivial_move && is_trivial_move(input, &choice, false) {
        choice.kind = CompactionKind::Move;
    }
    Ok(choice)
}

fn check_request(input: &PickerInput<'_>, request: &FilesRequest<'_>) -> Result<()> {
    let (version, output_level) = (input.version, request.output_level);
    let deepest = version.num_compacted_levels() - 1;
    if version.reserves_last_level() && output_level > deepest {
        let what = format!(
            "output level {output_level}: Exceed the maximum output level defined by the current compaction algorithm \
             with ingest_behind --- {deepest}: the last level is reserved (cf_allow_ingest_behind)"
        );
        return Err(Error::invalid_argument(what));
    }
    if output_level > deepest {
        let what = format!("output level {output_level}: the family has the levels 0 to {deepest}");
        return Err(Error::invalid_argument(what));
    }
    if output_level > 0 && input.options.compaction_shape() == CompactionShape::Queue {
        let what = format!("output level {output_level}: a family of style kCompactionStyleFIFO has level 0 alone");
        return Err(Error::invalid_argument(what));
    }
    if request.numbers.is_empty() {
        return Err(Error::invalid_argument("A compaction must contain at least one file."));
    }
    for number in request.numbers {
        match version.files().find(|(_, file)| file.number == *number) {
            None => {
                let what =
                    format!("file {number} does not exist in the column family: live_files() names those that do");
                return Err(Error::invalid_argument(what));
            }
            Some((level, _)) if level > output_level => {
                let what = format!("file {number} is on level {level}, below the output level {output_level}");
                return Err(Error::invalid_argument(what));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn flags(files: &[Arc<FileMetadata>], numbers: &BTreeSet<FileNumber>) -> Vec<bool> {
    files.iter().map(|file| numbers.contains(&file.number)).collect()
}

/// Takes what belongs to the files that are taken; the levels down to the output, from the top.
fn complete(version: &Version, taken: &mut [Vec<bool>]) -> Result<()> {
    let order = version.comparator().user();
    let output_level = taken.len() - 1;
    // The smallest and the largest user key so far.
    let mut keys: Option<(&[u8], &[u8])> = None;
    for level in 0..=output_level {
        let files = version.level(level);
        let Some(run) = run_of(version, level, output_level, &taken[level]) else { continue };
        for at in run {
            take(&files[at], &mut taken[level][at])?;
            let (smallest, largest) = (files[at].smallest_user_key(), files[at].largest_user_key());
            let (first, last) = keys.unwrap_or((smallest, largest));
            keys = Some((
                if order.compare(smallest, first).is_lt() { smallest } else { first },
                if order.compare(largest, last).is_gt() { largest } else { last },
            ));
        }
        let Some((first, last)) = keys else { continue };
        for (level, taken) in taken.iter_mut().enumerate().skip(level.max(1)) {
            for (file, is_taken) in version.level(level).iter().zip(taken) {
                let overlaps = order.compare(file.smallest_user_key(), last).is_le()
                    && order.compare(file.largest_user_key(), first).is_ge();
                if overlaps {
                    take(file, is_taken)?;
                }
            }
        }
    }
    Ok(())
}

fn take(file: &FileMetadata, is_taken: &mut bool) -> Result<()> {
    if file.is_being_compacted() {
        let what = format!("file {} is needed and is being compacted: try again when that has ended", file.number);
        return Err(Error::new(ErrorKind::Aborted, what));
    }
    *is_taken = true;
    Ok(())
}

/// The places of the files that go together with those of a level that are taken; `None` when none is.
fn run_of(version: &Version, level: usize, output_level: usize, taken: &[bool]) -> Option<RangeInclusive<usize>> {
    let (order, files) = (version.comparator().user(), version.level(level));
    let mut first = taken.iter().position(|taken| *taken)?;
    let mut last = taken.iter().rposition(|taken| *taken)?;
    if level == 0 {
        // Newest first: what is older would come to lie over the output.
        return Some(first..=if output_level > 0 { files.len() - 1 } else { last });
    }
    let shares_key = |left: usize, right: usize| {
        order.compare(files[left].largest_user_key(), files[right].smallest_user_key()).is_ge()
    };
    while first > 0 && shares_key(first - 1, first) {
        first -= 1;
    }
    while last + 1 < files.len() && shares_key(last, last + 1) {
        last += 1;
    }
    Some(first..=last)
}

fn choice_of(input: &PickerInput<'_>, request: &FilesRequest<'_>, inputs: Vec<LevelInputs>) -> CompactionChoice {
    let (version, options) = (input.version, request.options);
    let reason = CompactionReason::ManualCompaction;
    let mut choice =
        CompactionChoice::of_whole_files(CompactionKind::Merge, reason, version, inputs, request.output_level);
    let oldest = version.level(0).last();
    let has_oldest = oldest.is_some_and(|oldest| choice.input_files().any(|(_, file)| Arc::ptr_eq(file, oldest)));
    choice.is_bottommost = !version.range_may_exist_below(request.output_level, &choice.range(), has_oldest);
    choice.output_path_id = request.output_path_id;
    choice.compression = options.compression;
    let temperature = options.output_temperature_override;
    choice.output_temperature = (temperature != Temperature::Unknown).then_some(temperature);
    choice.max_compaction_bytes = input.options.max_compaction_bytes;
    if request.output_level > 0 {
        choice.max_output_file_size_bytes = options.output_file_size_limit;
    }
    choice
}
