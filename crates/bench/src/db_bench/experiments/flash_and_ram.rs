//! Plain tables, mapped, under a hash memtable, beside the usual tables: data that the operating system has in memory.

use super::measure::Figure;
use super::plan::{Arm, Cell, Definition, Outcome, Point, Scale, WarmUp, set};
use crate::flags::Setting;
use ferrock_bench::plot::{Kind, Plot};

const BLOCKS: &str = "block-based tables, skip list";
const PLAIN: &str = "plain tables, prefix_hash";
/// Keys of the points; the last one is the published number.
const KEYS: [u64; 3] = [3_276_800, 13_107_200, 52_428_800];
const FOUND: Cell = Cell { benchmark: "readrandom", threads: 1 };
const ABSENT: Cell = Cell { benchmark: "readmissing", threads: 1 };

pub(super) const DEFINITION: Definition = Definition {
    name: "flash-and-ram",
    title: "Plain tables and hash memtables: data in memory",
    about: "Random reads of data that the operating system has in memory. Plain tables are mapped: a lookup hashes the prefix of the \
key, which here is the whole key, and reads one line of an index in memory and one record, without blocks, cache or copies. Tables of the \
usual kind are measured beside them, through the block cache, which holds everything, and mapped.\n\n\
Published (the commit of RocksDB that put the file indexer into the arena): 52,428,800 keys of 20 bytes with values of 100, \
sequentially written, then `readrandom` three times; the selection of levels and files was 7.42 % of a lookup, its next-level index 0.68 %. \
Its command line runs as it stands (`flash-and-ram.txt`).\n\n\
At scale 1: its options and its number of keys, and a sixteenth and a quarter of them. `readrandom` looks up keys that are there, \
`readmissing` keys that lie between them: they have a byte more, so their prefixes are there, and a plain table, which filters by \
prefixes, reads a record, where the filters of the others have whole keys. `readers MB` is the memory of the open tables: of plain ones indexes of all keys.",
    defaults,
    points,
    figures: &[Figure::OpsPerSecond, Figure::CpuUsPerOp],
    facts: &[("files", "files"), ("table_bytes", "tables MB"), ("reader_bytes", "readers MB")],
    seconds: 2.0,
    rounds: 5,
    changes_data: false,
    finally: &[],
    conclude,
    plots,
};

fn defaults(scale: Scale) -> Vec<Setting> {
    vec![
        set("benchmarks", "fillseq,flush"),
        set("num_levels", 6),
        set("key_size", 20),
        set("value_size", 100),
        set("prefix_size", 20),
        set("compression_type", "none"),
        set("bloom_bits", 10),
        set("mmap_read", true),
        set("write_buffer_size", scale.of(128 << 20, 64 << 10)),
        set("max_write_buffer_number", 2),
        set("level0_file_num_compaction_trigger", 8),
        set("target_file_size_base", scale.of(2 << 20, 64 << 10)),
        set("max_bytes_for_level_base", scale.of(1 << 30, 512 << 10)),
        set("open_files", -1),
        set("ops_between_duration_checks", 1000),
        set("seed", 1),
    ]
}

fn point_name(keys: u64) -> String {
    format!("{:.1} M keys", keys as f64 * 1e-6)
}

fn points(scale: Scale) -> Vec<Point> {
    let point = |full: u64| {
        let keys = scale.of(full, 2000);
        let arm = |name: &str, data: &str, own: &[Setting]| Arm {
            name: name.to_owned(),
            data: format!("flash-and-ram-{data}-{keys}"),
            flags: [&[set("num", keys)], own].concat(),
            is_rewritten: false,
            cache_percent: None,
        };
        let hashed = [set("use_plain_table", true), set("memtablerep", "prefix_hash"), set("bloom_locality", 1)];
        Point {
            name: point_name(full),
            x: full as f64 * 1e-6,
            arms: vec![arm(BLOCKS, "blocks", &[]), arm(PLAIN, "plain", &hashed)],
            cells: vec![FOUND, ABSENT],
            // Every page is touched, and with a cache most of the blocks are in it.
            warm_up: vec![
                WarmUp { benchmark: "verifychecksum", share: 1.0 },
                WarmUp { benchmark: "readrandom", share: 5.0 },
            ],
        }
    };
    KEYS.map(point).to_vec()
}

fn conclude(outcome: &Outcome) -> Vec<String> {
    let sentence = |(point, cell): (String, Cell)| {
        let (reference, plain) = (outcome.row(&point, cell, BLOCKS)?, outcome.row(&point, cell, PLAIN)?);
        let [median, least, greatest] = plain.ratio();
        Some(format!(
            "{point}, {}: plain tables make {median:.2} times as many operations a second ({least:.2} to {greatest:.2}): {:.0} -> {:.0}.",
            cell.name(),
            reference.rate(),
            plain.rate(),
        ))
    };
    outcome.distinct(|row| (row.point.clone(), row.cell)).into_iter().filter_map(sentence).collect()
}

fn plots(outcome: &Outcome) -> Vec<Plot> {
    let plot = |cell: Cell| {
        let line = |arm: &str| {
            let rows = outcome.rows.iter().filter(|row| row.arm == arm && row.cell == cell);
            (arm.to_owned(), rows.map(|row| (row.x, row.rate())).collect())
        };
        Plot {
            title: format!("operations a second, {}", cell.name()),
            x_label: "million keys".to_owned(),
            y_label: "op/s".to_owned(),
            kind: Kind::Lines { series: [BLOCKS, PLAIN].map(line).to_vec() },
            is_logarithmic: true,
        }
    };
    vec![plot(FOUND), plot(ABSENT)]
}
