//! Level 0, levels, runs and files against each other and against the data.

use super::{OfFamily, Sink};
use crate::explain_config::figures::{Figures, last_compression};
use crate::explain_config::subject::Subject;
use crate::output::{bytes, number};
use ferrock::options::{CompactionStyle, CompressionType};

/// Files of which a MANIFEST is long to read and a version long to change.
const MANY_FILES: f64 = 200_000.0;

/// Writes of a byte that levels rarely need.
const MANY_REWRITES: f64 = 20.0;

fn text(count: f64) -> String {
    bytes(count as u64)
}

pub(super) fn of_database(sink: &mut Sink<'_>, subject: &Subject, figures: &Figures) {
    let open = subject.db.max_open_files;
    if open >= 0 && figures.files > f64::from(open) {
        sink.add(
            "open-files-below-tables",
            "max_open_files",
            format!("max_open_files = {open} with about {} tables", number(figures.files as u64)),
            "lookups open tables first, each of which reads footer, properties and index",
            "max_open_files = -1 where the memory allows it, or a larger target_file_size_base",
        );
    }
    if figures.files > MANY_FILES {
        sink.add(
            "too-many-files",
            "target_file_size_base",
            format!("about {} tables", number(figures.files as u64)),
            "opening the database, and each change of the tree, takes longer with every file",
            "target_file_size_base = 268435456 or more",
        );
    }
}

pub(super) fn of_family(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    levels(sink, of);
    runs(sink, of);
    queue(sink, of);
    compression(sink, of);
}

fn levels(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let (options, flushed) = (of.options, of.figures.flushed_bytes);
    if options.compaction_style != CompactionStyle::Level {
        return;
    }
    if !options.level_compaction_dynamic_level_bytes {
        sink.add(
            "fixed-levels",
            "level_compaction_dynamic_level_bytes",
            "level_compaction_dynamic_level_bytes = false".to_owned(),
            "while the last level has just begun, what is overwritten may take as much space as the data",
            "level_compaction_dynamic_level_bytes = true",
        );
    }
    if options.disable_auto_compactions {
        return;
    }
    let level_0 = f64::from(options.level0_file_num_compaction_trigger) * flushed;
    let base = options.max_bytes_for_level_base as f64;
    if level_0 > 4.0 * base || base > 16.0 * level_0 {
        sink.add(
            "level0-and-base-apart",
            "max_bytes_for_level_base",
            format!(
                "level 0 gathers {} and max_bytes_for_level_base = {}: more than 4 times above, or 16 times below",
                text(level_0),
                text(base)
            ),
            "compactions of level 0 rewrite many bytes for each that goes down, or fill the level below at once",
            "max_bytes_for_level_base = level0_file_num_compaction_trigger x write_buffer_size",
        );
    }
    if flushed > 8.0 * options.target_file_size_base as f64 {
        sink.add(
            "memtable-above-tables",
            "target_file_size_base",
            format!(
                "flushes write {} and target_file_size_base = {}: more than 8 tables for each",
                text(flushed),
                text(options.target_file_size_base as f64)
            ),
            "each compaction of level 0 is cut into many small tables",
            "target_file_size_base = write_buffer_size, about",
        );
    }
}

/// What waits where, of all styles that have level 0.
fn runs(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let options = of.options;
    let has_runs = matches!(options.compaction_style, CompactionStyle::Level | CompactionStyle::Universal);
    if has_runs && options.disable_auto_compactions {
        sink.add(
            "no-compactions",
            "disable_auto_compactions",
            "disable_auto_compactions = true".to_owned(),
            "tables gather in level 0, each of which every lookup asks, and nothing stops writers for that",
            "disable_auto_compactions = false after the load, or regular calls of compact_range",
        );
        return;
    }
    if has_runs && options.level0_stop_writes_trigger >= 1000 {
        sink.add(
            "level0-never-stops",
            "level0_stop_writes_trigger",
            format!("level0_stop_writes_trigger = {}, of 1000 and more", options.level0_stop_writes_trigger),
            "while compactions are behind, reads become slower without an end",
            "level0_stop_writes_trigger = 36, the default, or below 1000",
        );
    }
    if has_runs && options.hard_pending_compaction_bytes_limit == 0 {
        sink.add(
            "debt-unbounded",
            "hard_pending_compaction_bytes_limit",
            "hard_pending_compaction_bytes_limit = 0".to_owned(),
            "compactions may fall behind without an end, and the space that takes grows",
            "hard_pending_compaction_bytes_limit = 274877906944, the default, or what the disk has",
        );
    }
    if options.compaction_style == CompactionStyle::Universal && options.num_levels == 1 {
        sink.add(
            "universal-one-level",
            "num_levels",
            "compaction_style = kCompactionStyleUniversal with num_levels = 1".to_owned(),
            "a run is a single file: while all are merged, old and new take twice the space",
            "num_levels = 7 or more: runs of many files, which leave one after the other",
        );
    }
    let written = of.figures.tree.as_ref().map_or(0.0, |tree| tree.write_amplification);
    if options.compaction_style == CompactionStyle::Universal && written > MANY_REWRITES {
        sink.add(
            "universal-few-runs",
            "level0_file_num_compaction_trigger",
            format!(
                "level0_file_num_compaction_trigger = {} with {} of tables: each byte is written about \
                 {written:.0} times, more than {MANY_REWRITES:.0}",
                options.level0_file_num_compaction_trigger,
                text(of.figures.tree.as_ref().map_or(0.0, |tree| tree.table_bytes)),
            ),
            "few runs have room beside the large ones, so that new ones are merged again and again",
            "level0_file_num_compaction_trigger = 8 or 12, or a larger write_buffer_size: see `ferrock plan`",
        );
    }
    let most = options.compaction_options_universal.max_size_amplification_percent;
    if options.compaction_style == CompactionStyle::Universal && most > 400 {
        sink.add(
            "universal-space",
            "compaction_options_universal",
            format!("max_size_amplification_percent = {most}, above 400"),
            "what is overwritten or deleted may take several times the space of the data",
            "max_size_amplification_percent = 200, the default",
        );
    }
}

/// FIFO.
fn queue(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let options = of.options;
    if options.compaction_style != CompactionStyle::Fifo {
        return;
    }
    let limit = options.compaction_options_fifo.limit_bytes() as f64;
    if options.ttl == 0 {
        sink.add(
            "queue-without-age",
            "ttl",
            format!("compaction_style = kCompactionStyleFIFO with ttl = 0 and a size of {}", text(limit)),
            "entries leave when the size is reached alone, however old they are",
            "ttl = the seconds for which entries are wanted",
        );
    }
    let bytes = of.figures.tree.as_ref().map_or(0.0, |tree| tree.table_bytes);
    if bytes > limit {
        sink.add(
            "queue-drops-data",
            "compaction_options_fifo",
            format!("max_table_files_size = {} with {} of tables", text(limit), text(bytes)),
            "the oldest tables are dropped: data is gone without a deletion",
            "a max_table_files_size above the data that is wanted",
        );
    }
}

fn compression(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let data = of.figures.tree.as_ref().map_or(0.0, |tree| tree.data_bytes);
    let is_plain = of.options.table_factory != ferrock::options::TableFactory::BlockBased;
    let kind = last_compression(of.options);
    if kind == CompressionType::NoCompression && data > (10_u64 << 30) as f64 && !is_plain {
        sink.add(
            "bottom-uncompressed",
            "bottommost_compression",
            format!("the last level has no compression, with {} of data", text(data)),
            "about nine tenths of the data take their full space",
            "bottommost_compression = kZSTD, unless values are compressed already",
        );
    }
    if of.db.allow_mmap_reads.is_on() && kind != CompressionType::NoCompression && !is_plain {
        sink.add(
            "mmap-with-compression",
            "allow_mmap_reads",
            format!("allow_mmap_reads = true with compression {}", kind.option_name()),
            "a compressed block is copied out of the map, so that mapping spares nothing",
            "compression = kNoCompression, or allow_mmap_reads = false",
        );
    }
}
