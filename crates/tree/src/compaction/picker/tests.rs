//! Text scripts: levels and options in, the chosen compaction out. `UPDATE_EXPECT=1` rewrites the expectations.
//!
//! ```text
//! pick                                   or: scores | manual 0->6 [begin..end] | twice
//!                                        or: steps [begin..end] [below=1] [force]
//!                                            | files 6 #3 #4 [move] [limit=100] [kNoCompression]
//!                                            | debt 50                    bytes that wait in memtables
//! options name=value ...
//! running 0->5 #3 #4                     files that a compaction has, and where it goes
//! now 1000        threshold 50           Unix time; sequence number below which bottommost files are rewritten
//! snapshot 40                            the oldest snapshot
//! snapshots 40 50  latest 90             all snapshots, and the newest number that is visible
//! early 200                              seconds until the next off-peak time, in one
//! cursor 3 key                           where round robin continues
//! blobs #5 100 60                        a blob file: bytes, and bytes of garbage
//! L0 #9 a..m 100 seq=7 from=3 epoch=9 marked born=20 written=30 path=1 blob=5
//! L0 #9 a..m 100 reads=7 oldest=90           collapsible reads; when its oldest entry had been written
//! L0 #9 a..m! 100 deletes=a..f@90,f..m@80    its range tombstones
//! L0 #8 a..m 100 entries=10 deletions=9      as its properties, once it was opened, say
//! ----
//! what comes out
//! ```
//!
//! A largest key with `!` at its end is the exclusive end of a range tombstone.

use super::*;
use crate::compaction::choice::{CompactionKind, CompactionReason, LevelInputs, RunningCompactions};
use crate::version::{FileStatistics, Version, VersionBuilder};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::{
    Comparator, FileNumber, InternalComparator, MAX_SEQUENCE_NUMBER, SequenceNumber, Temperature, ValueType,
};
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage, NewFile, VersionEdit};
use ferrock_options::{
    BottommostLevelCompaction, ColumnFamilyOptions, ColumnFamilySettings, CompactionOptions, CompactionStyle,
    CompressionType,
};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

#[derive(Default)]
struct Script {
    commands: Vec<String>,
    options: ColumnFamilyOptions,
    edit: VersionEdit,
    running: Vec<(usize, usize, Vec<u64>)>,
    now_secs: u64,
    early_secs: u64,
    threshold: u64,
    snapshot: Option<u64>,
    statistics: Vec<(FileNumber, FileStatistics)>,
    reads: Vec<(FileNumber, u64, u64)>,
    readable: Readable,
    tombstones: Vec<(FileNumber, Arc<FragmentedRangeTombstones>)>,
}

impl Script {
    fn input<'a>(&'a self, version: &'a Arc<Version>, running: &'a RunningCompactions) -> PickerInput<'a> {
        PickerInput {
            version,
            options: &self.options,
            running,
            bottommost_threshold: SequenceNumber(self.threshold),
            earliest_snapshot: self.snapshot.map_or(MAX_SEQUENCE_NUMBER, SequenceNumber),
            readable: Some(&self.readable),
            now_secs: self.now_secs,
            early_secs: self.early_secs,
        }
    }
}

fn parse(input: &str) -> Script {
    let mut script = Script::default();
    script.readable.latest = MAX_SEQUENCE_NUMBER;
    let settings = &mut script.options.settings;
    settings.max_bytes_for_level_base = 1000;
    settings.target_file_size_base = 100;
    settings.max_compaction_bytes = 2500;
    settings.ttl = 0;
    for line in input.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "options" => {
                for word in &words[1..] {
                    let (name, value) = word.split_once('=').unwrap();
                    script.options.settings.set(name, value).unwrap_or_else(|error| panic!("{word}: {error}"));
                }
            }
            "running" => {
                let (from, to) = words[1].split_once("->").unwrap();
                let files = words[2..].iter().map(|word| word[1..].parse().unwrap()).collect();
                script.running.push((from.parse().unwrap(), to.parse().unwrap(), files));
            }
            "early" => script.early_secs = words[1].parse().unwrap(),
            "now" => script.now_secs = words[1].parse().unwrap(),
            "snapshot" => script.snapshot = words[1].parse().ok(),
            "snapshots" => {
                let numbers = words[1..].iter().map(|word| SequenceNumber(word.parse().unwrap()));
                script.readable.snapshots = numbers.collect();
            }
            "latest" => script.readable.latest = SequenceNumber(words[1].parse().unwrap()),
            "threshold" => script.threshold = words[1].parse().unwrap(),
            "cursor" => {
                let key = make_internal_key(words[2].as_bytes(), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
                script.edit.compact_cursors.push((words[1].parse().unwrap(), key));
            }
            "blobs" => {
                let [number, total, garbage] = [words[1][1..].parse(), words[2].parse(), words[3].parse()];
                let (number, garbage): (_, u64) = (FileNumber(number.unwrap()), garbage.unwrap());
                script.edit.blob_file_additions.push(BlobFileAddition {
                    number,
                    total_blob_count: 10,
                    total_blob_bytes: total.unwrap(),
                    ..BlobFileAddition::default()
                });
                script.edit.blob_file_garbages.push(BlobFileGarbage {
                    number,
                    garbage_blob_count: 1,
                    garbage_blob_bytes: garbage,
                });
            }
            "pick" | "scores" | "manual" | "steps" | "twice" | "files" | "debt" => {
                script.commands.push(line.to_owned())
            }
            _ => {
                // Keys of 10 bytes; the rest of the file is values, as large before compression as behind it.
                let count = |name: &str| {
                    let value = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
                    value.map_or(0, |value| value.parse().unwrap())
                };
                let file = parse_file(&words);
                if let Some(list) = words.iter().find_map(|word| word.strip_prefix("deletes=")) {
                    script.tombstones.push((file.number, Arc::new(parse_tombstones(list))));
                }
                script.reads.push((file.number, count("reads"), count("oldest")));
                let (num_entries, num_deletions) = (count("entries"), count("deletions"));
                if num_entries > 0 {
                    let raw_key_size_bytes = 10 * num_entries;
                    let raw_value_size_bytes = file.size_bytes - raw_key_size_bytes;
                    let sizes =
                        FileStatistics { raw_key_size_bytes, raw_value_size_bytes, ..FileStatistics::default() };
                    script.statistics.push((file.number, FileStatistics { num_entries, num_deletions, ..sizes }));
                }
                script.edit.new_files.push(file);
            }
        }
    }
    script
}

fn parse_tombstones(list: &str) -> FragmentedRangeTombstones {
    let tombstone = |text: &str| {
        let (range, sequence) = text.split_once('@').unwrap();
        let (start, end) = range.split_once("..").unwrap();
        let sequence = SequenceNumber(sequence.parse().unwrap());
        RangeTombstone { start: start.as_bytes().to_vec(), end: end.as_bytes().to_vec(), sequence }
    };
    FragmentedRangeTombstones::new(Comparator::Bytewise, list.split(',').map(tombstone).collect())
}

fn parse_file(words: &[&str]) -> NewFile {
    let number: u64 = words[1][1..].parse().unwrap();
    let (smallest, largest) = words[2].split_once("..").unwrap();
    let mut file = NewFile {
        level: words[0][1..].parse().unwrap(),
        number: FileNumber(number),
        size_bytes: words[3].parse().unwrap(),
        smallest_seqno: SequenceNumber(number),
        largest_seqno: SequenceNumber(number),
        epoch_number: Some(number),
        ..NewFile::default()
    };
    for word in &words[4..] {
        match word.split_once('=').unwrap_or((word, "")) {
            ("seq", value) => file.largest_seqno = SequenceNumber(value.parse().unwrap()),
            ("from", value) => file.smallest_seqno = SequenceNumber(value.parse().unwrap()),
            ("epoch", value) => file.epoch_number = Some(value.parse().unwrap()),
            ("born", value) => file.oldest_ancester_time_secs = value.parse().unwrap(),
            ("written", value) => file.file_creation_time_secs = value.parse().unwrap(),
            ("blob", value) => file.oldest_blob_file_number = Some(FileNumber(value.parse().unwrap())),
            ("path", value) => file.path_id = value.parse().unwrap(),
            ("entries" | "deletions" | "reads" | "oldest" | "deletes", _) => {}
            ("marked", _) => file.needs_compaction = true,
            ("temperature", value) => file.temperature = Temperature::from_option_name(value).unwrap(),
            (name, _) => panic!("{name}"),
        }
    }
    file.smallest = make_internal_key(smallest.as_bytes(), file.largest_seqno, ValueType::Value);
    file.largest = match largest.strip_suffix('!') {
        Some(end) => make_internal_key(end.as_bytes(), MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion),
        None => make_internal_key(largest.as_bytes(), file.largest_seqno, ValueType::Value),
    };
    file
}

fn run(input: &str) -> String {
    let script = parse(input);
    let empty = Arc::new(Version::empty(InternalComparator::default(), &script.options));
    let mut builder = VersionBuilder::new(empty);
    builder.apply(&script.edit).unwrap();
    let version = Arc::new(builder.build(&script.options).unwrap());
    for (number, statistics) in &script.statistics {
        version
            .files()
            .filter(|(_, file)| file.number == *number)
            .for_each(|(_, file)| file.set_statistics(*statistics));
    }
    for (number, reads, oldest) in &script.reads {
        version.files().filter(|(_, file)| file.number == *number).for_each(|(_, file)| {
            file.add_collapsible_reads(*reads);
            file.set_oldest_entry_by_secs(*oldest);
        });
    }
    for (number, tombstones) in &script.tombstones {
        let files = version.files().filter(|(_, file)| file.number == *number);
        files.for_each(|(_, file)| file.set_range_tombstones(tombstones, true));
    }
    let mut running = RunningCompactions::default();
    for (start_level, output_level, numbers) in &script.running {
        let wanted = |file: &&Arc<crate::version::FileMetadata>| numbers.contains(&file.number.0);
        let inputs = (0..version.num_levels())
            .map(|level| LevelInputs { level, files: version.level(level).iter().filter(wanted).cloned().collect() })
            .filter(|inputs| !inputs.files.is_empty())
            .collect();
        let mut choice = started(&version, *start_level, *output_level, inputs);
        choice.proximal = proximal_output(&script.options, &choice);
        running.start(&choice);
    }
    let mut out = String::new();
    for command in &script.commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let input = script.input(&version, &running);
        match words[0] {
            "scores" => {
                for LevelScore { level, score } in compaction_scores(&version, &script.options) {
                    writeln!(out, "L{level} {score:.3} target {}", show_size(version.targets().max_bytes(level)))
                        .unwrap();
                }
                writeln!(out, "base L{} needs {}", version.base_level(), needs_compaction(&input)).unwrap();
            }
            "pick" => show(&mut out, pick(&input).as_ref()),
            "twice" => {
                let first = pick(&input);
                show(&mut out, first.as_ref());
                let Some(first) = first else { continue };
                let id = running.start(&first);
                show(&mut out, pick(&script.input(&version, &running)).as_ref());
                running.finish(id);
                assert!(first.input_files().all(|(_, file)| !file.is_being_compacted()));
            }
            "manual" => manual(&mut out, &input, &words[1..]),
            "files" => files(&mut out, &input, &words[1..]),
            "debt" => {
                let settings = &script.options.settings;
                let needed = version.estimated_compaction_needed_bytes(settings);
                let looming = version.looming_compaction_needed_bytes(settings, words[1].parse().unwrap());
                writeln!(out, "{needed} bytes to rewrite, {looming} loom").unwrap();
            }
            "steps" => {
                let (begin, end) = bounds(words.get(1).copied());
                let bottommost = match words.last() {
                    Some(&"force") => BottommostLevelCompaction::Force,
                    _ => BottommostLevelCompaction::IfHaveCompactionFilter,
                };
                let below = words.iter().find_map(|word| word.strip_prefix("below="));
                let steps = match below.map(|reached| reached.parse().unwrap()) {
                    Some(reached) => {
                        let made_since = FileNumber(1000);
                        manual_steps_below(&version, &script.options, begin, end, bottommost, reached, made_since)
                    }
                    None => manual_steps(&version, &script.options, begin, end, bottommost),
                };
                for step in steps {
                    writeln!(out, "L{} -> L{}", step.input_level, step.output_level).unwrap();
                }
            }
            _ => unreachable!(),
        }
    }
    out
}

fn started(
    version: &Arc<Version>,
    start_level: usize,
    output_level: usize,
    inputs: Vec<LevelInputs>,
) -> CompactionChoice {
    CompactionChoice {
        reason: CompactionReason::LevelMaxLevelSize,
        version: Arc::clone(version),
        start_level,
        output_level,
        proximal: None,
        output_path_id: 0,
        compression: None,
        inputs,
        grandparents: Vec::new(),
        kind: CompactionKind::Merge,
        output_temperature: None,
        is_bottommost: false,
        max_output_file_size_bytes: 0,
        max_compaction_bytes: 0,
        epoch_number: None,
        next_compact_cursor: None,
        score: 0.0,
    }
}

fn bounds(text: Option<&str>) -> (Option<&[u8]>, Option<&[u8]>) {
    let Some((begin, end)) = text.and_then(|text| text.split_once("..")) else { return (None, None) };
    ((!begin.is_empty()).then_some(begin.as_bytes()), (!end.is_empty()).then_some(end.as_bytes()))
}

fn manual(out: &mut String, input: &PickerInput<'_>, words: &[&str]) {
    let (from, to) = words[0].split_once("->").unwrap();
    let (begin, end) = bounds(words.get(1).copied());
    let step = ManualStep { input_level: from.parse().unwrap(), output_level: to.parse().unwrap() };
    let ignore_files_from = FileNumber(1000);
    let mut begin = begin.map(<[u8]>::to_vec);
    loop {
        match pick_manual(
            input,
            &ManualRequest { step, begin: begin.as_deref(), end, ignore_files_from, target_path_id: 0 },
        ) {
            ManualChoice::Done => writeln!(out, "done").unwrap(),
            ManualChoice::Conflict => writeln!(out, "conflict").unwrap(),
            ManualChoice::Compact { choice, next_begin } => {
                show(out, Some(&choice));
                if next_begin.is_some() {
                    begin = next_begin;
                    continue;
                }
            }
        }
        return;
    }
}

fn files(out: &mut String, input: &PickerInput<'_>, words: &[&str]) {
    let (mut numbers, mut options) = (BTreeSet::new(), CompactionOptions::default());
    for word in &words[1..] {
        match word.split_once('=').unwrap_or((word, "")) {
            ("move", _) => options.allow_trivial_move = true,
            ("limit", bytes) => options.output_file_size_limit = bytes.parse().unwrap(),
            ("kNoCompression", _) => options.compression = Some(CompressionType::NoCompression),
            (number, _) => assert!(numbers.insert(FileNumber(number[1..].parse().unwrap()))),
        }
    }
    let output_level = words[0].parse().unwrap();
    match pick_files(input, &FilesRequest { numbers: &numbers, output_level, output_path_id: 0, options: &options }) {
        Ok(choice) => show(out, Some(&choice)),
        Err(error) => writeln!(out, "{error}").unwrap(),
    }
}

fn show_size(size: u64) -> String {
    if size == u64::MAX { "none".to_owned() } else { size.to_string() }
}

fn show(out: &mut String, choice: Option<&CompactionChoice>) {
    let Some(choice) = choice else {
        out.push_str("nothing\n");
        return;
    };
    let numbers = |files: &[Arc<crate::version::FileMetadata>]| -> String {
        files.iter().map(|file| format!(" #{}", file.number.0)).collect()
    };
    write!(out, "{} L{} -> L{}:", choice.reason.name(), choice.start_level, choice.output_level).unwrap();
    for inputs in &choice.inputs {
        write!(out, " L{}{}", inputs.level, numbers(&inputs.files)).unwrap();
    }
    if let Some(proximal) = &choice.proximal {
        let ends = [&proximal.range.smallest, &proximal.range.largest];
        let [from, to] = ends.map(|end| ferrock_base::internal_key::user_key(end.as_ref().unwrap()).escape_ascii());
        let through = proximal.keep_in_last_level_through;
        write!(out, ", L{} from {from} to {to} behind {through}", proximal.level).unwrap();
    }
    if choice.kind == CompactionKind::Move {
        out.push_str(", trivial move");
    }
    if choice.kind == CompactionKind::Drop {
        out.push_str(", dropped");
    }
    if choice.compression == Some(CompressionType::NoCompression) {
        out.push_str(", uncompressed");
    }
    if let Some(temperature) = choice.output_temperature {
        write!(out, ", {}", temperature.option_name()).unwrap();
    }
    if choice.is_bottommost {
        out.push_str(", bottommost");
    }
    if !choice.grandparents.is_empty() {
        write!(out, ", grandparents{}", numbers(&choice.grandparents)).unwrap();
    }
    if let Some(cursor) = &choice.next_compact_cursor {
        write!(out, ", cursor {}", ferrock_base::internal_key::user_key(cursor).escape_ascii()).unwrap();
    }
    let size = show_size(choice.max_output_file_size_bytes);
    writeln!(out, ", file size {size}, epoch {}", choice.epoch_number.unwrap_or(0)).unwrap();
}

fn check(name: &str) {
    ferrock_script::check(env!("CARGO_MANIFEST_DIR"), &format!("src/compaction/picker/testdata/{name}"), run);
}

#[test]
fn leveled() {
    check("leveled.txt");
}

#[test]
fn fifo() {
    check("fifo.txt");
}

#[test]
fn universal() {
    check("universal.txt");
}

#[test]
fn placement() {
    check("placement.txt");
}

#[test]
fn level_0() {
    check("level0.txt");
}

#[test]
fn range_deletions() {
    check("covered.txt");
}

#[test]
fn triggers() {
    check("triggers.txt");
}

#[test]
fn debts() {
    check("debt.txt");
}

#[test]
fn manual_compactions() {
    check("manual.txt");
}

#[test]
fn named_files() {
    check("files.txt");
}

#[test]
fn stall_conditions() {
    use super::stall::*;
    let settings = ColumnFamilySettings { max_write_buffer_number: 5, ..ColumnFamilySettings::default() };
    let at = |memtables: usize, files: usize, bytes: u64| {
        let input = StallInput {
            num_unflushed_memtables: memtables,
            num_level_0_files: files,
            compaction_needed_bytes: bytes << 30,
            ..StallInput::default()
        };
        stall_condition(&settings, &input)
    };
    assert_eq!(at(3, 19, 63), StallCondition::Normal);
    assert_eq!(at(4, 0, 0), StallCondition::Delayed(StallCause::Memtables));
    assert_eq!(at(5, 99, 999), StallCondition::Stopped(StallCause::Memtables));
    assert_eq!(at(0, 20, 0), StallCondition::Delayed(StallCause::Level0Files));
    assert_eq!(at(4, 36, 0), StallCondition::Stopped(StallCause::Level0Files));
    assert_eq!(at(0, 0, 64), StallCondition::Delayed(StallCause::PendingCompactionBytes));
    assert_eq!(at(0, 20, 256), StallCondition::Stopped(StallCause::PendingCompactionBytes));
    let by_hand = ColumnFamilySettings { disable_auto_compactions: true, ..settings.clone() };
    let full = StallInput {
        num_unflushed_memtables: 1,
        num_level_0_files: 99,
        compaction_needed_bytes: u64::MAX,
        ..StallInput::default()
    };
    assert_eq!(stall_condition(&by_hand, &full), StallCondition::Normal);

    let queue = ColumnFamilySettings { compaction_style: CompactionStyle::Fifo, ..settings.clone() };
    let long = StallInput { num_unflushed_memtables: 1, num_level_0_files: 999, ..StallInput::default() };
    assert_eq!((stall_condition(&queue, &long), is_near_stop(&queue, &long)), (StallCondition::Normal, false));

    // The oldest of the sorted runs stays, so that one is never too many.
    let style = CompactionStyle::Universal;
    let runs = ColumnFamilySettings {
        compaction_style: style,
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: -1,
        level0_stop_writes_trigger: 1,
        ..settings.clone()
    };
    let with = |num_level_0_files| {
        stall_condition(&runs, &StallInput { num_unflushed_memtables: 1, num_level_0_files, ..StallInput::default() })
    };
    assert_eq!((with(1), with(2)), (StallCondition::Normal, StallCondition::Stopped(StallCause::Level0Files)));
    assert_eq!((runs_that_hold_up(&runs), runs_that_hold_up(&settings)), (2, 20));
    let placed = ColumnFamilySettings { preclude_last_level_data_seconds: 100, ..runs };
    assert_eq!(runs_that_hold_up(&placed), 3);

    let rate = |current, is_near_stop, is_debt_growing, way_to_stop| {
        next_delayed_rate(current, 16 << 20, DelayTrend { is_near_stop, is_debt_growing, way_to_stop })
    };
    assert_eq!(rate(1 << 20, true, true, 0.0), 629_145);
    assert_eq!(rate(1 << 20, false, true, 0.0), 838_860);
    assert_eq!(rate(1 << 20, false, false, 0.0), 1_310_720);
    assert_eq!(rate(16 << 20, false, false, 0.0), 16 << 20);
    assert_eq!(rate(1, true, false, 0.0), 16 << 10);
    // On the way to a stop: towards its middle.
    assert_eq!(rate(1 << 20, true, true, 0.6), 838_860);
    assert_eq!((rate(1 << 20, true, false, 0.6), rate(1 << 20, true, true, 0.4)), (1 << 20, 1 << 20));
    assert_eq!(rate(1 << 20, false, false, 0.4), 1_310_720);
    assert!(is_near_stop(&settings, &StallInput { num_level_0_files: 34, ..StallInput::default() }));
}

#[test]
fn ways_to_a_stop() {
    use super::stall::*;
    let settings = ColumnFamilySettings::default();
    let way = |settings: &ColumnFamilySettings, num_level_0_files, looming_gib: u64| {
        let input = StallInput { num_level_0_files, looming_bytes: looming_gib << 30, ..StallInput::default() };
        way_to_stop(settings, &input)
    };
    assert_eq!((way(&settings, 20, 64), way(&settings, 0, 160), way(&settings, 32, 0)), (0.0, 0.5, 0.5));
    assert_eq!((way(&settings, 35, 160), way(&settings, 99, 0), way(&settings, 0, 999)), (0.75, 1.0, 1.0));
    // Half of the files leave half of the rate, half of the bytes a quarter.
    assert!(rate_on_the_way(1 << 20, way(&settings, 28, 0)).abs_diff(1 << 19) <= 1);
    let by_hand = ColumnFamilySettings { disable_auto_compactions: true, ..settings.clone() };
    assert_eq!(way(&by_hand, 99, 999), 0.0);
    let queue = ColumnFamilySettings { compaction_style: CompactionStyle::Fifo, ..settings.clone() };
    assert_eq!(way(&queue, 99, 0), 0.0);
    // Triggers that are off, or that lie on each other, bound nothing.
    for (slowdown, stop) in [(-1, 36), (20, 20), (30, 10)] {
        let odd = ColumnFamilySettings {
            level0_slowdown_writes_trigger: slowdown,
            level0_stop_writes_trigger: stop,
            soft_pending_compaction_bytes_limit: 0,
            ..settings.clone()
        };
        assert_eq!(way(&odd, 35, 999), 0.0, "{slowdown} {stop}");
    }
    assert_eq!((rate_on_the_way(1 << 20, 0.0), rate_on_the_way(1 << 20, 0.5)), (1 << 20, 1 << 18));
    assert_eq!((rate_on_the_way(1 << 24, 1.0), rate_on_the_way(1 << 20, 1.0)), (1 << 16, 16 << 10));
    assert_eq!(rate_on_the_way(1000, 1.0), 1000);
}
