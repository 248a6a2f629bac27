//! The data block hash index where all data is cached: its gain by density, and its cost in space.

use super::measure::Figure;
use super::plan::{Arm, Cell, Definition, Outcome, Point, Row, Scale, WarmUp, set};
use crate::flags::Setting;
use ferrock_bench::plot::{Kind, Plot};
use std::fmt::Write as _;

pub(super) const BINARY: &str = "binary search";
/// Keys of an interval: `block_restart_interval`.
const RESTART_INTERVAL: f64 = 16.0;
/// Keys per bucket.
const RATIOS: [f64; 3] = [1.0, 0.75, 0.5];
const VALUE_SIZES: [u64; 2] = [20, 100];
const CELL: Cell = Cell { benchmark: "readrandom", threads: 1 };

pub(super) const DEFINITION: Definition = Definition {
    name: "hash-index",
    title: "The data block hash index, all data cached",
    about: "Random reads of keys that are there, out of blocks of 16 KiB that are all in the block cache. A block's hash index names the \
restart interval of a key, so that no bisection is needed; where keys of several intervals share a bucket, the lookup falls back \
to bisection. It costs a byte per bucket.\n\n\
Published (RocksDB's blog, *Improving Point-Lookup Using Data Block Hash Index*): 10 % more throughput, 21.8 % less CPU in the seek \
within the block, 4.6 % more space, and at 1.0 keys per bucket 52 % of the lookups fall back.\n\n\
At scale 1: 1,000,000 keys of 16 bytes, not compressed, fully compacted, Bloom filters of 10 bits. The arms are the bisection, and \
the hash index with 1.0, 0.75 and 0.5 keys per bucket (`data_block_hash_table_util_ratio`). `space %` is what the tables have grown \
over those of the first arm; `fallback %` is the share of the keys in the tables whose bucket is shared; \
by chance it is `1 - (1 - 1/b)^(k - 16)` with b buckets and k keys in a block, so 52 % at ratio 1.0 is that of blocks of about 60 keys.",
    defaults,
    points,
    figures: &[Figure::OpsPerSecond, Figure::CpuUsPerOp, Figure::DataMissPercent],
    facts: &[("table_bytes", "tables MB"), ("space_percent", "space %"), ("fallback_percent", "fallback %")],
    // Short and often: other work on the machine then hits both sides of a pair, or few pairs.
    seconds: 0.3,
    rounds: 31,
    changes_data: false,
    finally: &[],
    conclude,
    plots,
};

/// Flags of every arm of the hash index's experiments.
pub(super) fn common(scale: Scale, num: u64) -> Vec<Setting> {
    vec![
        set("benchmarks", "filluniquerandom,compact"),
        set("num", scale.of(num, 2000)),
        set("batch_size", 1000),
        set("disable_wal", true),
        set("bloom_bits", 10),
        set("block_size", 16_384),
        set("level_compaction_dynamic_level_bytes", true),
        set("ops_between_duration_checks", 100),
        set("seed", 1),
    ]
}

fn defaults(scale: Scale) -> Vec<Setting> {
    let mut defaults = common(scale, 1_000_000);
    defaults.extend([set("compression_type", "none"), set("cache_size", scale.of(512 << 20, 64 << 20))]);
    defaults
}

/// The flags that select the hash index.
pub(super) fn hash_flags(ratio: f64) -> Vec<Setting> {
    vec![set("use_data_block_hash_index", true), set("data_block_hash_table_util_ratio", ratio)]
}

fn arm_name(ratio: f64) -> String {
    format!("hash {ratio:.2}")
}

fn points(_scale: Scale) -> Vec<Point> {
    let point = |value_size: u64| {
        let arm = |name: String, mut flags: Vec<Setting>| {
            flags.push(set("value_size", value_size));
            let data = format!("hash-index-{value_size}-{}", name.replace(' ', "-"));
            Arm { name, data, flags, is_rewritten: false, cache_percent: None }
        };
        let mut arms = vec![arm(BINARY.to_owned(), Vec::new())];
        arms.extend(RATIOS.map(|ratio| arm(arm_name(ratio), hash_flags(ratio))));
        Point {
            name: format!("values of {value_size}"),
            x: value_size as f64,
            arms,
            cells: vec![CELL],
            warm_up: vec![WarmUp { benchmark: "readseq", share: 0.0 }, WarmUp { benchmark: "readrandom", share: 0.5 }],
        }
    };
    VALUE_SIZES.map(point).to_vec()
}

/// Percent by which a ratio is above 1.
pub(super) fn gain(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// Percent of the keys that share their bucket with a key of another interval when keys fall into buckets at random.
fn fallback_by_chance(row: &Row) -> Option<f64> {
    let fact = |name: &str| row.facts.get(name).copied();
    let keys = fact("entries")? / fact("data_blocks")?;
    // Two bytes of an index are its number of buckets.
    let buckets = fact("hash_index_bytes")? / fact("hash_index_blocks")? - 2.0;
    (buckets > 1.0).then(|| (1.0 - (1.0 - 1.0 / buckets).powf(keys - RESTART_INTERVAL)) * 100.0)
}

fn conclude(outcome: &Outcome) -> Vec<String> {
    let sentence = |row: &Row| {
        let reference = outcome.row(&row.point, row.cell, BINARY)?;
        let [median, least, greatest] = row.ratio();
        let mut text = format!(
            "{}, {}: {:+.1} % operations a second ({:+.1} to {:+.1}), {:+.1} % CPU per operation, {:+.1} % space",
            row.point,
            row.arm,
            gain(median),
            gain(least),
            gain(greatest),
            gain(row.paired(reference, Figure::CpuUsPerOp)?),
            row.facts.get("space_percent")?,
        );
        if let Some(fallback) = row.facts.get("fallback_percent") {
            let _ = write!(text, ", {fallback:.1} % of the lookups fall back");
            if let Some(chance) = fallback_by_chance(row) {
                let _ = write!(text, " ({chance:.1} % by chance)");
            }
        }
        Some(text + ".")
    };
    outcome.rows.iter().filter(|row| row.arm != BINARY).filter_map(sentence).collect()
}

fn plots(outcome: &Outcome) -> Vec<Plot> {
    let points = outcome.distinct(|row| row.point.clone());
    let bars = |title: &str, of: &dyn Fn(&Row) -> f64| {
        let series = RATIOS.map(|ratio| {
            let arm = arm_name(ratio);
            let values = points.iter().filter_map(|point| outcome.row(point, CELL, &arm)).map(of).collect();
            (arm, values)
        });
        Plot {
            title: title.to_owned(),
            x_label: String::new(),
            y_label: "%".to_owned(),
            kind: Kind::Bars { groups: points.clone(), series: series.to_vec() },
            is_logarithmic: false,
        }
    };
    vec![
        bars("operations a second, gain over binary search", &|row| gain(row.ratio()[0])),
        bars("space, growth over binary search", &|row| row.facts.get("space_percent").copied().unwrap_or(0.0)),
    ]
}
