//! FIFO compaction: level 0 is a queue of tables, and what is too much or too old falls off its end.
//!
//! ```text
//! ttl       the oldest files that hold nothing newer than `ttl`, if what is left is within the limit     dropped
//! size      the oldest files, until the rest is within the limit; of a family that was compacted by
//!           levels first the deepest level, from its smallest key on                                     dropped
//! merge     with `allow_compaction`, small files next to each other                                      merged in L0
//! age       the oldest file whose age asks for another temperature                                       rewritten
//! ```
//!
//! The limit is `max_table_files_size` bytes of tables, or `max_data_files_size` bytes of tables and blob files. A blob
//! file goes with the last table that refers to it; until then each byte of tables counts for its share of the blobs.
//!
//! Files leave level 0 oldest first and a deeper level in clean cuts, so that no older version of a key outlives a
//! newer one. A merge makes one file, so that there are fewer after it. No compaction begins for what only the levels
//! below hold, as in RocksDB: level 0 must exceed the limit itself, or a caller asks.

use super::inputs::{Seed, complete};
use super::level0::newest_while_cheaper;
use super::{CompactionChoice, PickerInput};
use crate::compaction::choice::{CompactionKind, CompactionReason, LevelInputs};
use crate::version::{FileMetadata, Version, total_size_bytes};
use ferrock_base::Temperature;
use ferrock_options::ColumnFamilySettings;
use std::sync::Arc;

/// Tiers of file sizes below this are not told apart.
const SMALLEST_TIER_BYTES: u64 = 10 << 10;

type Files = Vec<Arc<FileMetadata>>;

/// The next compaction, if level 0 asks for one.
pub(super) fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    if score(input.version, input.options, input.now_secs) < 1.0 { None } else { pick_any(input) }
}

/// The next compaction, whether level 0 asks for one or not.
pub(super) fn pick_any(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    let dropped = if input.running.uses_level_0() {
        None
    } else {
        expired(input).or_else(|| oversize(input)).map(|(reason, level, files)| drop_files(input, reason, level, files))
    };
    dropped.or_else(|| merge(input)).or_else(|| change_temperature(input))
}

/// How badly level 0 needs a compaction, from 1 on.
pub(super) fn score(version: &Version, settings: &ColumnFamilySettings, now_secs: u64) -> f64 {
    let options = &settings.compaction_options_fifo;
    let statistics = version.accumulated_statistics();
    let idle = || version.level(0).iter().filter(|file| !file.is_being_compacted());
    let tables = idle().fold(0u64, |sum, file| sum.saturating_add(statistics.compensated_size_bytes(file)));
    let counted = if options.max_data_files_size > 0 { tables.saturating_add(blob_bytes(version)) } else { tables };
    let mut score = counted as f64 / options.limit_bytes().max(1) as f64;
    if score < 1.0 && options.allow_compaction {
        let trigger = f64::from(settings.level0_file_num_compaction_trigger.max(1));
        score = score.max(idle().count() as f64 / trigger);
    }
    if score < 1.0 {
        score = score.max(idle().filter(|file| is_expired(file, settings, now_secs)).count() as f64);
    }
    if score < 1.0 && version.num_levels() == 1 && oldest_to_change(version, settings, now_secs).is_some() {
        score = 1.0;
    }
    score
}

fn blob_bytes(version: &Version) -> u64 {
    version.blob_files().values().fold(0, |sum, file| sum.saturating_add(file.file_size_bytes()))
}

fn is_expired(file: &FileMetadata, settings: &ColumnFamilySettings, now_secs: u64) -> bool {
    let newest = file.newest_key_time_secs();
    settings.ttl > 0 && newest > 0 && now_secs > settings.ttl && newest < now_secs - settings.ttl
}

/// The oldest files whose time is over, when the limit asks for no more.
fn expired(input: &PickerInput<'_>) -> Option<(CompactionReason, usize, Files)> {
    let version = input.version;
    let options = &input.options.compaction_options_fifo;
    let level_0 = version.level(0);
    let kept = level_0.iter().rposition(|file| !is_expired(file, input.options, input.now_secs)).map_or(0, |at| at + 1);
    let files = level_0[kept..].to_vec();
    let mut rest = total_size_bytes(&level_0[..kept]);
    if options.max_data_files_size > 0 {
        let all =
            (0..version.num_levels()).fold(0u64, |sum, level| sum.saturating_add(version.level_size_bytes(level)));
        let tables = all.saturating_sub(total_size_bytes(&files));
        let share = if all > 0 { tables as f64 / all as f64 * blob_bytes(version) as f64 } else { 0.0 };
        rest = tables.saturating_add(share as u64);
    }
    (!files.is_empty() && rest <= options.limit_bytes()).then_some((CompactionReason::FifoTtl, 0, files))
}

/// The files to drop until the rest is within the limit.
fn oversize(input: &PickerInput<'_>) -> Option<(CompactionReason, usize, Files)> {
    let version = input.version;
    let options = &input.options.compaction_options_fifo;
    let limit = options.limit_bytes();
    let level = version.deepest_non_empty_level()?;
    let mut size = (0..=level).fold(0u64, |sum, level| sum.saturating_add(version.level_size_bytes(level)));
    let mut data_per_file = None;
    if options.max_data_files_size > 0 {
        size = size.saturating_add(blob_bytes(version));
        data_per_file = Some((size / version.level(level).len().max(1) as u64).max(1));
    }
    let mut give_up = |file: &FileMetadata| {
        let is_needed = size > limit;
        if is_needed {
            size = size.saturating_sub(data_per_file.unwrap_or(file.size_bytes));
        }
        is_needed
    };
    let files = version.level(level);
    let files = if level == 0 {
        let kept = files.iter().rposition(|file| !give_up(file)).map_or(0, |at| at + 1);
        files[kept..].to_vec()
    } else {
        // Busy files of a level below 0 are being dropped.
        let first = files.iter().position(|file| !file.is_being_compacted())?;
        let (busy, idle) = files.split_at(first);
        for file in busy {
            give_up(file);
        }
        let count = idle.iter().take_while(|file| !file.is_being_compacted() && give_up(file)).count();
        version.expand_to_clean_cut(level, &idle[..count])?
    };
    (!files.is_empty()).then_some((CompactionReason::FifoMaxSize, level, files))
}

fn drop_files(input: &PickerInput<'_>, reason: CompactionReason, level: usize, files: Files) -> CompactionChoice {
    let inputs = vec![LevelInputs { level, files }];
    let choice = CompactionChoice::of_whole_files(CompactionKind::Drop, reason, input.version, inputs, level);
    CompactionChoice { score: score(input.version, input.options, input.now_secs), ..choice }
}

/// The oldest file that has not the temperature of its age, with that temperature. What is not known to be old ends
/// the search: files before it are newer.
fn oldest_to_change<'a>(
    version: &'a Version,
    settings: &ColumnFamilySettings,
    now_secs: u64,
) -> Option<(&'a Arc<FileMetadata>, Temperature)> {
    let ages = &settings.compaction_options_fifo.file_temperature_age_thresholds;
    let is_due = |newest: u64, age: u64| now_secs >= age && newest <= now_secs - age;
    for file in version.level(0).iter().rev() {
        let newest = file.newest_key_time_secs();
        if newest == 0 {
            continue;
        }
        // By age, the last that is reached.
        let wanted = ages.iter().rfind(|threshold| is_due(newest, threshold.age))?.temperature;
        if file.temperature != wanted {
            return Some((file, wanted));
        }
    }
    None
}

/// One file, written anew as it is, but for its temperature: copied, or merged by itself.
fn change_temperature(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    let version = input.version;
    if version.num_levels() > 1 || input.running.uses_level_0() {
        return None;
    }
    let (file, temperature) = oldest_to_change(version, input.options, input.now_secs)?;
    let seed = Seed {
        reason: CompactionReason::ChangeTemperature,
        score: score(version, input.options, input.now_secs),
        start_level: 0,
        output_level: 0,
        files: vec![Arc::clone(file)],
        is_level_0_trivial_move: false,
    };
    let choice = complete(input, seed)?;
    let kind = match input.options.compaction_options_fifo.allow_trivial_copy_when_change_temperature {
        true => CompactionKind::Copy,
        false => choice.kind,
    };
    Some(CompactionChoice { output_temperature: Some(temperature), kind, ..choice })
}

/// Small files next to each other, to have fewer of them.
fn merge(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    let options = &input.options.compaction_options_fifo;
    if !options.allow_compaction {
        return None;
    }
    let is_by_ratio = options.use_kv_ratio_compaction
        && options.max_data_files_size > 0
        && options.max_data_files_size >= options.max_table_files_size;
    let files = if is_by_ratio { tier(input)? } else { newest(input)? };
    let seed = Seed {
        reason: CompactionReason::FifoReduceNumFiles,
        score: score(input.version, input.options, input.now_secs),
        start_level: 0,
        output_level: 0,
        files,
        is_level_0_trivial_move: false,
    };
    complete(input, seed)
}

/// The newest files, as many as the trigger asks for, if they are no larger than what a memtable makes: a file that is
/// merged again and again would never be old enough for `ttl`.
fn newest(input: &PickerInput<'_>) -> Option<Files> {
    let settings = &input.options.settings;
    let least = usize::try_from(settings.level0_file_num_compaction_trigger).unwrap_or(0);
    let files = input.version.level(0);
    let (count, bytes_per_saved_file) = newest_while_cheaper(files, settings.max_compaction_bytes)?;
    let most_bytes = (settings.write_buffer_size as f64 * 1.1) as u64;
    (count >= least && bytes_per_saved_file < most_bytes).then(|| files[..count].to_vec())
}

/// Files of the lowest tier that has enough of them, oldest first. Tiers end at the size
/// that lets `level0_file_num_compaction_trigger` files hold all that the limit allows; what is that large stays.
fn tier(input: &PickerInput<'_>) -> Option<Files> {
    let (version, settings) = (input.version, &input.options.settings);
    let files = version.level(0);
    let trigger = u64::try_from(settings.level0_file_num_compaction_trigger).unwrap_or(0);
    let is_migrating = version.deepest_non_empty_level().is_some_and(|level| level > 0);
    if is_migrating || input.running.uses_level_0() || trigger < 2 || (files.len() as u64) < trigger {
        return None;
    }
    let target = largest_tier(input, trigger)?;
    let mut tiers = vec![target];
    let mut size = target / trigger;
    while size >= SMALLEST_TIER_BYTES {
        tiers.push(size);
        size /= trigger;
    }
    tiers.into_iter().rev().find_map(|size| run_of_tier(files, size))
}

fn largest_tier(input: &PickerInput<'_>, trigger: u64) -> Option<u64> {
    let settings = &input.options.settings;
    if settings.max_compaction_bytes > 0 {
        return Some(settings.max_compaction_bytes);
    }
    let tables = input.version.level_size_bytes(0);
    let all = tables.saturating_add(blob_bytes(input.version));
    let share = if all > 0 { tables as f64 / all as f64 } else { 0.0 };
    let limit = settings.compaction_options_fifo.max_data_files_size;
    Some((limit as f64 * share) as u64 / trigger).filter(|target| *target > 0)
}

/// The oldest run of at least two files below `size` that are together at least `size`, and not much more.
fn run_of_tier(files: &[Arc<FileMetadata>], size: u64) -> Option<Files> {
    let mut end = files.len();
    while end > 0 {
        let mut bytes = 0u64;
        let mut start = end;
        while let Some(file) = start.checked_sub(1).map(|at| &files[at]).filter(|file| file.size_bytes < size) {
            let with_it = bytes.saturating_add(file.size_bytes);
            if bytes >= size && with_it > size.saturating_mul(2) {
                break;
            }
            bytes = with_it;
            start -= 1;
        }
        if end - start >= 2 && bytes >= size {
            return Some(files[start..end].to_vec());
        }
        end = start.min(end - 1);
    }
    None
}
