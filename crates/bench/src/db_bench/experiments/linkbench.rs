//! Partitioned index and filters under LinkBench's operations, as the cache shrinks.

use super::measure::Figure;
use super::plan::{Arm, Cell, Definition, Outcome, Point, Row, Scale, WarmUp, set};
use crate::flags::Setting;
use ferrock_bench::median::median;
use ferrock_bench::plot::{Kind, Plot};

const CELL: Cell = Cell { benchmark: "linkbench", threads: 8 };
const POINT: &str = "LinkBench";
/// The caches in percent of the data: 6 GB and 2 GB of 300 GB.
const LARGE: f64 = 2.0;
const SMALL: f64 = 0.67;
const LAYOUTS: [&str; 2] = ["unpartitioned", "partitioned"];

pub(super) const DEFINITION: Definition = Definition {
    name: "linkbench",
    title: "Partitioned index and filters under LinkBench",
    about: "LinkBench is the workload of a social graph: nodes, links between them, and counts of the links. The operations come in its \
published mix (`GET_LINKS_LIST` 50.7 %, `GET_NODE` 12.9 %, `ADD_LINK` 9.0 %, `UPDATE_LINK` 8.0 %, `UPDATE_NODE` 7.4 %, `COUNT_LINKS` 4.9 %, \
`DELETE_LINK` 3.0 %, `ADD_NODE` 2.6 %, `DELETE_NODE` 1.0 %, `MULTIGET_LINK` 0.5 %), with its distributions of out-degrees (points of the \
measured one), of accesses (Zipf, shapes 0.606 to 0.8) and of lengths. Its three tables are key prefixes here; its index of links \
by time is left out, a list of links is read in key order.\n\n\
Published (RocksDB's wiki, *Partitioned Index/Filters*): a database of 300 GB on SSD with direct I/O. When the block cache goes from \
6 GB to 2 GB, 38,000 transactions a second become 23,000 without partitions (**-40 %**) and 30,000 with them (**-21 %**).\n\n\
At scale 1: 2,500,000 nodes with about 4 links each, about 1.1 GB, not compressed, blocks of 16 KiB, compacted and warmed up before every round, \
Bloom filters of 10 bits, direct I/O for reads and for compactions, index and filters in the cache, 8 threads. The caches are the published \
shares of the data, 2 % and 0.67 %; tables are of 10 MB, so that a \
filter is small beside the cache, as there. \
`reads/op` has those of compactions, too. At the end every row is read and checked, and every count compared with the links that there are.",
    defaults,
    points,
    figures: &[
        Figure::OpsPerSecond,
        Figure::ReadsPerOp,
        Figure::KibPerOp,
        Figure::CpuUsPerOp,
        Figure::P50Us,
        Figure::P99Us,
        Figure::DataMissPercent,
        Figure::MetadataMissPercent,
    ],
    facts: &[("data_bytes", "data MB"), ("index_bytes", "index MB"), ("filter_bytes", "filters MB")],
    seconds: 8.0,
    rounds: 3,
    changes_data: true,
    finally: &["linkcheck"],
    conclude,
    plots,
};

fn defaults(scale: Scale) -> Vec<Setting> {
    vec![
        set("benchmarks", "linkload,compact"),
        set("num", scale.of(2_500_000, 1000)),
        set("batch_size", 1000),
        set("compression_type", "none"),
        set("bloom_bits", 10),
        set("block_size", 16_384),
        set("use_direct_reads", true),
        set("use_direct_io_for_flush_and_compaction", true),
        set("cache_index_and_filter_blocks", true),
        set("pin_l0_filter_and_index_blocks_in_cache", true),
        set("pin_top_level_index_and_filter", true),
        // A filter's share of the cache is nearer to the published one than with tables of the usual size.
        set("target_file_size_base", scale.of(10 << 20, 64 << 10)),
        set("write_buffer_size", scale.of(10 << 20, 64 << 10)),
        set("level_compaction_dynamic_level_bytes", true),
        set("histogram", true),
        set("ops_between_duration_checks", 10),
        set("seed", 1),
    ]
}

fn arm_name(layout: &str, percent: f64) -> String {
    format!("{layout}, cache {percent} %")
}

fn points(_scale: Scale) -> Vec<Point> {
    // Each arm changes a database of its own; the arms alternate.
    let arm = |layout: &str, percent: f64| Arm {
        name: arm_name(layout, percent),
        data: format!("linkbench-{layout}-{percent}"),
        flags: vec![set("partition_index_and_filters", layout == LAYOUTS[1])],
        is_rewritten: false,
        cache_percent: Some(percent),
    };
    let arms = [LARGE, SMALL].iter().flat_map(|percent| LAYOUTS.map(|layout| arm(layout, *percent)));
    vec![Point {
        name: POINT.to_owned(),
        x: 0.0,
        arms: arms.collect(),
        cells: vec![CELL],
        warm_up: vec![WarmUp { benchmark: "linkbench", share: 1.0 }],
    }]
}

/// Percent by which the smaller cache changes the operations a second: the median of the rounds, the least, the
/// greatest.
fn changes(outcome: &Outcome, layout: &str) -> Option<(Vec<f64>, f64, f64)> {
    let large = outcome.row(POINT, CELL, &arm_name(layout, LARGE))?;
    let small = outcome.row(POINT, CELL, &arm_name(layout, SMALL))?;
    let rates =
        |row: &Row| -> Vec<f64> { row.samples.iter().filter_map(|sample| sample.get(Figure::OpsPerSecond)).collect() };
    let changes: Vec<f64> =
        rates(small).iter().zip(rates(large)).map(|(small, large)| (small / large.max(1e-9) - 1.0) * 100.0).collect();
    Some((changes, large.rate(), small.rate()))
}

fn conclude(outcome: &Outcome) -> Vec<String> {
    let published = ["-40 %", "-21 %"];
    let sentence = |(layout, published): (&str, &str)| {
        let (changes, large, small) = changes(outcome, layout)?;
        let (least, greatest) = changes
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), change| (least.min(*change), most.max(*change)));
        Some(format!(
            "{layout}: from the larger to the smaller cache {large:.0} -> {small:.0} transactions a second, {:+.1} % ({least:+.1} to \
             {greatest:+.1}); published {published}.",
            median(&changes)
        ))
    };
    LAYOUTS.into_iter().zip(published).filter_map(sentence).collect()
}

fn plots(outcome: &Outcome) -> Vec<Plot> {
    let series = |figure: Figure| {
        LAYOUTS.map(|layout| {
            let row = |percent: f64| outcome.row(POINT, CELL, &arm_name(layout, percent));
            let values = [LARGE, SMALL].into_iter().filter_map(|percent| row(percent)?.median(figure));
            (layout.to_owned(), values.collect())
        })
    };
    let plot = |title: &str, figure| Plot {
        title: title.to_owned(),
        x_label: String::new(),
        y_label: title.to_owned(),
        kind: Kind::Bars {
            groups: [LARGE, SMALL].map(|percent| format!("cache {percent} % of the data")).to_vec(),
            series: series(figure).to_vec(),
        },
        is_logarithmic: false,
    };
    vec![plot("transactions a second", Figure::OpsPerSecond), plot("KiB read per transaction", Figure::KibPerOp)]
}
