//! The data block hash index from all data cached to little of it: where it pays, and whether the engine chooses right.

use super::hash_index::{BINARY, common, gain, hash_flags};
use super::measure::Figure;
use super::plan::{Arm, Cell, Definition, Outcome, Point, Row, Scale, WarmUp, set};
use crate::flags::Setting;
use ferrock::options::BlockBasedTableOptions;
use ferrock_bench::plot::{Kind, Plot};

const HASH: &str = "hash 0.75";
const AUTO: &str = "auto";
/// The cache, in percent of the data blocks of the first arm.
const PERCENTS: [f64; 9] = [110.0, 95.0, 85.0, 75.0, 65.0, 50.0, 35.0, 25.0, 15.0];
const CELL: Cell = Cell { benchmark: "readrandom", threads: 1 };

pub(super) const DEFINITION: Definition = Definition {
    name: "hash-index-sweep",
    title: "The data block hash index, from all data cached to little of it",
    about: "A hash index takes room in the block cache: with less cache than data there are more misses, and each is a read and \
the decompression of a block. So its gain shrinks with the cache, and turns into a loss.\n\n\
Published (RocksDB's blog, *Improving Point-Lookup Using Data Block Hash Index*): a gain where **less than about 40 %** of the \
lookups miss; blocks of 16 KiB, 14 GB of data that compress to 5 to 6 GB, caches from 14 to 2 GB.\n\n\
At scale 1: 2,000,000 keys of 16 bytes with values of 20, Snappy, blocks of 16 KiB, fully compacted, Bloom filters of 10 bits. \
The cache is given in percent of the uncompressed data blocks of the first arm; index and filters are not in it. What misses comes \
from the operating system's memory. `auto` lets the engine decide (`data_block_index_type=kDataBlockAuto`): it sees reads with that cache, \
then everything is rewritten, then it is measured; so are the others.",
    defaults,
    points,
    figures: &[Figure::OpsPerSecond, Figure::CpuUsPerOp, Figure::DataMissPercent, Figure::ReadsPerOp],
    facts: &[("space_percent", "space %")],
    seconds: 0.5,
    rounds: 11,
    changes_data: false,
    finally: &[],
    conclude,
    plots,
};

fn defaults(scale: Scale) -> Vec<Setting> {
    let mut defaults = common(scale, 2_000_000);
    defaults.extend([set("value_size", 20), set("compression_type", "snappy")]);
    defaults
}

/// True when the engine supports the automatic choice.
fn has_auto() -> bool {
    BlockBasedTableOptions::default().set("data_block_index_type", "kDataBlockAuto").is_ok()
}

fn points(_scale: Scale) -> Vec<Point> {
    let arm = |name: &str, flags: Vec<Setting>, percent: f64| Arm {
        name: name.to_owned(),
        data: format!("sweep-{}", name.replace(' ', "-")),
        flags,
        is_rewritten: true,
        cache_percent: Some(percent),
    };
    let arms = |percent: f64| {
        let mut arms = vec![arm(BINARY, Vec::new(), percent), arm(HASH, hash_flags(0.75), percent)];
        if has_auto() {
            arms.push(arm(AUTO, vec![set("data_block_index_type", "kDataBlockAuto")], percent));
        }
        arms
    };
    let point = |percent: f64| Point {
        name: format!("cache {percent:.0} %"),
        x: percent,
        arms: arms(percent),
        cells: vec![CELL],
        warm_up: vec![WarmUp { benchmark: "readrandom", share: 4.0 }],
    };
    PERCENTS.map(point).to_vec()
}

/// Misses of the reference in percent, and the gain of an arm there.
fn gains(outcome: &Outcome, arm: &str) -> Vec<(f64, f64)> {
    let of = |row: &Row| {
        let reference = outcome.row(&row.point, row.cell, BINARY)?;
        Some((reference.median(Figure::DataMissPercent)?, gain(row.ratio()[0])))
    };
    let mut points: Vec<(f64, f64)> = outcome.rows.iter().filter(|row| row.arm == arm).filter_map(of).collect();
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    points
}

/// The interpolated point from which on a gain stays a loss.
fn crossing(points: &[(f64, f64)]) -> Option<f64> {
    let last_gain = points.iter().rposition(|(_, gain)| *gain > 0.0)?;
    let ((x, y), (next_x, next_y)) = (points[last_gain], *points.get(last_gain + 1)?);
    Some(x + (next_x - x) * y / (y - next_y))
}

/// For each round and point, the operations of `auto` as a share of the better fixed arm's.
fn against_better(outcome: &Outcome) -> Vec<(String, f64)> {
    let of = |auto: &Row| {
        let fixed = [BINARY, HASH].into_iter().filter_map(|arm| outcome.row(&auto.point, auto.cell, arm));
        let better = fixed.max_by(|left, right| left.rate().total_cmp(&right.rate()))?;
        Some((auto.point.clone(), gain(auto.paired(better, Figure::OpsPerSecond)?)))
    };
    outcome.rows.iter().filter(|row| row.arm == AUTO).filter_map(of).collect()
}

fn conclude(outcome: &Outcome) -> Vec<String> {
    let points = gains(outcome, HASH);
    let mut sentences: Vec<String> = points
        .iter()
        .map(|(misses, gain)| format!("{misses:.1} % misses: the hash index makes {gain:+.1} % operations a second."))
        .collect();
    sentences.push(match (crossing(&points), points.iter().any(|(_, gain)| *gain > 0.0)) {
        (Some(misses), _) => format!("The gain ends at {misses:.0} % misses."),
        (None, true) => "At the most misses measured the hash index still gained.".to_owned(),
        (None, false) => "The hash index gained nowhere.".to_owned(),
    });
    let against = against_better(outcome);
    if let Some((point, worst)) = against.iter().min_by(|left, right| left.1.total_cmp(&right.1)) {
        sentences.push(format!(
            "Auto against the better of the two fixed settings, at its worst point ({point}): {worst:+.1} % operations a second, \
             the median of the rounds."
        ));
    }
    sentences
}

fn plots(outcome: &Outcome) -> Vec<Plot> {
    let arms = outcome.distinct(|row| row.arm.clone());
    let others = arms.iter().filter(|arm| *arm != BINARY);
    let rates = arms.iter().map(|arm| {
        let rows = outcome.rows.iter().filter(|row| row.arm == *arm);
        (arm.clone(), rows.map(|row| (row.x, row.rate())).collect())
    });
    vec![
        Plot {
            title: "operations a second, gain over binary search".to_owned(),
            x_label: "lookups that miss the cache, % (binary search)".to_owned(),
            y_label: "%".to_owned(),
            kind: Kind::Lines { series: others.map(|arm| (arm.clone(), gains(outcome, arm))).collect() },
            is_logarithmic: false,
        },
        Plot {
            title: "operations a second".to_owned(),
            x_label: "cache, % of the data".to_owned(),
            y_label: "op/s".to_owned(),
            kind: Kind::Lines { series: rates.collect() },
            is_logarithmic: true,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_lies_between_the_last_gain_and_the_first_loss() {
        assert_eq!(crossing(&[(0.0, 8.0), (20.0, 4.0), (40.0, -4.0), (60.0, -9.0)]), Some(30.0));
        assert_eq!(crossing(&[(0.0, -1.0), (10.0, 1.0), (20.0, -1.0)]), Some(15.0));
        assert_eq!(crossing(&[(0.0, 8.0), (20.0, 4.0)]), None);
        assert_eq!(crossing(&[(0.0, -8.0), (20.0, -4.0)]), None);
        assert_eq!(crossing(&[]), None);
    }
}
