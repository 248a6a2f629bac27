//! Partitioned index and filters where memory is scarce: direct I/O, and a block cache far smaller than index and
//! filters.

use super::measure::Figure;
use super::plan::{Arm, Cell, Definition, Outcome, Point, Scale, WarmUp, set};
use crate::flags::Setting;
use ferrock_bench::plot::{Kind, Plot};

const OFF: &str = "off";
const ON: &str = "on";
/// As the wiki sets it: the option is about top levels alone, for partitions are in the cache anyway.
const ON_AS_PUBLISHED: &str = "on, cache_index_and_filter_blocks=false";
const POINT: &str = "partitioning";

pub(super) const DEFINITION: Definition = Definition {
    name: "scarce-memory",
    title: "Partitioned index and filters where memory is scarce",
    about: "Random reads with direct I/O (nothing comes out of the operating system's memory) and a block cache far smaller than \
index and filters, which are in it. Without partitions a lookup that misses reads the whole index and the whole filter \
of a table; with them it reads one partition of each, at most: index partitions stay longest, and where keys are found filter \
partitions are not read at all. The third arm has the setting of the published measurement, \
`cache_index_and_filter_blocks=false`: top levels are with the open tables, partitions are in the cache all the same.\n\n\
Published (RocksDB's wiki, *Partitioned Index/Filters*): a database of 86 GB on a hard disk with a cache of 60 MB: 5 operations \
a second without partitions, 55 with them, **11 times** as many.\n\n\
At scale 1: 8,000,000 keys of 16 bytes with values of 32, not compressed, fully compacted, Bloom filters of 10 bits, tables of 64 MB, \
a cache of 2 MB. `readrandom` looks up keys that are there, `readmissing` keys that lie between them. `reads/op` and `KiB/op` are the \
requests that the engine made of its files and the bytes they returned.",
    defaults,
    points,
    figures: &[
        Figure::OpsPerSecond,
        Figure::ReadsPerOp,
        Figure::KibPerOp,
        Figure::CpuUsPerOp,
        Figure::P50Us,
        Figure::P99Us,
        Figure::MetadataMissPercent,
    ],
    facts: &[("index_bytes", "index MB"), ("filter_bytes", "filters MB")],
    seconds: 4.0,
    rounds: 3,
    changes_data: false,
    finally: &[],
    conclude,
    plots,
};

fn defaults(scale: Scale) -> Vec<Setting> {
    vec![
        set("benchmarks", "filluniquerandom,compact"),
        set("num", scale.of(8_000_000, 2000)),
        set("value_size", 32),
        set("batch_size", 1000),
        set("disable_wal", true),
        set("compression_type", "none"),
        set("bloom_bits", 10),
        set("use_direct_reads", true),
        set("cache_index_and_filter_blocks", true),
        set("pin_l0_filter_and_index_blocks_in_cache", true),
        set("pin_top_level_index_and_filter", true),
        set("cache_size", scale.of(2 << 20, 32 << 10)),
        set("level_compaction_dynamic_level_bytes", true),
        // As many tables at every scale.
        set("target_file_size_base", scale.of(64 << 20, 64 << 10)),
        set("write_buffer_size", scale.of(64 << 20, 64 << 10)),
        set("histogram", true),
        set("ops_between_duration_checks", 10),
        set("seed", 1),
    ]
}

fn points(_scale: Scale) -> Vec<Point> {
    let arm = |name: &str, data: &str, flags| Arm {
        name: name.to_owned(),
        data: format!("partitioning-{data}"),
        flags,
        is_rewritten: false,
        cache_percent: None,
    };
    let partitioned = || set("partition_index_and_filters", true);
    let cell = |benchmark, threads| Cell { benchmark, threads };
    vec![Point {
        name: POINT.to_owned(),
        x: 0.0,
        arms: vec![
            arm(OFF, "off", vec![set("partition_index_and_filters", false)]),
            arm(ON, "on", vec![partitioned()]),
            arm(ON_AS_PUBLISHED, "on-as-published", vec![partitioned(), set("cache_index_and_filter_blocks", false)]),
        ],
        cells: vec![cell("readrandom", 1), cell("readrandom", 8), cell("readmissing", 1), cell("readmissing", 8)],
        warm_up: vec![WarmUp { benchmark: "readrandom", share: 0.25 }],
    }]
}

fn conclude(outcome: &Outcome) -> Vec<String> {
    let sentence = |(cell, arm): (Cell, &str)| {
        let (off, on) = (outcome.row(POINT, cell, OFF)?, outcome.row(POINT, cell, arm)?);
        let [median, least, greatest] = on.ratio();
        let figure = |row: &super::plan::Row, figure| row.median(figure).unwrap_or(0.0);
        Some(format!(
            "{}: partitioning ({arm}) makes {median:.1} times as many operations a second ({least:.1} to {greatest:.1}): {:.0} -> {:.0} \
             op/s, {:.2} -> {:.2} reads and {:.1} -> {:.1} KiB per operation.",
            cell.name(),
            off.rate(),
            on.rate(),
            figure(off, Figure::ReadsPerOp),
            figure(on, Figure::ReadsPerOp),
            figure(off, Figure::KibPerOp),
            figure(on, Figure::KibPerOp),
        ))
    };
    let cells = outcome.distinct(|row| row.cell).into_iter();
    cells.flat_map(|cell| [(cell, ON), (cell, ON_AS_PUBLISHED)]).filter_map(sentence).collect()
}

fn plots(outcome: &Outcome) -> Vec<Plot> {
    let cells = outcome.distinct(|row| row.cell);
    let series = |figure: Figure| -> Vec<(String, Vec<f64>)> {
        let of = |arm: &str| cells.iter().map(|cell| outcome.row(POINT, *cell, arm)?.median(figure)).collect();
        let arms = [OFF, ON, ON_AS_PUBLISHED].map(|arm| (format!("partitioning {arm}"), of(arm)));
        arms.into_iter().filter_map(|(name, values): (String, Option<Vec<f64>>)| Some((name, values?))).collect()
    };
    let plot = |title: &str, figure| Plot {
        title: title.to_owned(),
        x_label: String::new(),
        y_label: title.to_owned(),
        kind: Kind::Bars { groups: cells.iter().map(|cell| cell.name()).collect(), series: series(figure) },
        is_logarithmic: true,
    };
    vec![plot("operations a second", Figure::OpsPerSecond), plot("KiB read per operation", Figure::KibPerOp)]
}
