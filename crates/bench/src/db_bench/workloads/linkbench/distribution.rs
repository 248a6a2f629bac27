//! The published distributions: how many links nodes have, how often they are asked for, how long their data is.

use ferrock_base::random::Random;
use ferrock_bench::zipf::unit;

/// Nodes with at most so many links, in percent: points of the measured distribution that LinkBench comes with.
const OUT_DEGREES: &[(f64, f64)] = &[
    (0.0, 45.331_605_73),
    (1.0, 77.462_591_12),
    (2.0, 86.958_059_53),
    (3.0, 91.993_054_28),
    (4.0, 94.450_799_1),
    (5.0, 95.828_071_69),
    (7.0, 97.320_088_55),
    (10.0, 98.328_033_68),
    (15.0, 99.026_879_03),
    (20.0, 99.326_955_6),
    (30.0, 99.556_939_01),
    (50.0, 99.721_560_49),
    (100.0, 99.831_361_15),
    (200.0, 99.885_135_23),
    (500.0, 99.927_463_69),
    (1000.0, 99.950_659_16),
    (2000.0, 99.969_372_01),
    (5000.0, 99.987_453_32),
    (10_000.0, 99.995_045_21),
    (100_000.0, 99.999_962_79),
    (961_963.0, 99.999_999_67),
];

/// Links of the node below which `share` of all nodes lie; between the points it is a power law.
pub(super) fn out_degree(share: f64) -> u64 {
    let percent = share * 100.0;
    let above = OUT_DEGREES.partition_point(|(_, below)| *below <= percent);
    let Some((degree, percent_to)) = OUT_DEGREES.get(above) else {
        return OUT_DEGREES.last().map_or(0, |(degree, _)| *degree as u64);
    };
    let Some((previous, percent_from)) = above.checked_sub(1).and_then(|below| OUT_DEGREES.get(below)) else {
        return *degree as u64;
    };
    // A node above the previous point has at least one link more.
    let (least, most) = (previous + 1.0, *degree);
    let rest = |percent: f64| 100.0 - percent;
    let part = (rest(*percent_from) / rest(percent)).ln() / (rest(*percent_from) / rest(*percent_to)).ln();
    (least * (most / least).powf(part)).floor() as u64
}

/// A length whose logarithm is normal, of deviation 1: `median` in the middle, at most `most`.
pub(super) fn log_normal(median: f64, most: f64, random: &mut Random) -> usize {
    let (radius, angle) = ((-2.0 * (1.0 - unit(random)).ln()).sqrt(), std::f64::consts::TAU * unit(random));
    (median * (radius * angle.cos()).exp()).min(most) as usize
}

/// How many links are asked for at once: geometric, at least 1 and at most 128, 2.6 on average.
pub(super) fn batch(random: &mut Random) -> u64 {
    const PROBABILITY: f64 = 0.382;
    let number = (1.0 - unit(random)).ln() / (1.0 - PROBABILITY).ln();
    (number as u64 + 1).min(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_degrees_are_those_published() {
        assert_eq!([0.0, 0.45, 0.46, 0.774, 0.775].map(out_degree), [0, 0, 1, 1, 2]);
        assert!((100_000..961_963).contains(&out_degree(0.999_999_99)));
        assert_eq!(out_degree(1.0), 961_963);
        let nodes = 1_000_000;
        let degrees = (0..nodes).map(|node| out_degree((node as f64 + 0.5) / nodes as f64));
        let mean = degrees.sum::<u64>() as f64 / nodes as f64;
        // 4.10 with all points of the published distribution.
        assert!((3.8..4.4).contains(&mean), "{mean}");
    }

    #[test]
    fn lengths_and_batches() {
        let mut random = Random::new(5);
        let mut lengths: Vec<usize> = (0..10_001).map(|_| log_normal(128.0, 4096.0, &mut random)).collect();
        lengths.sort_unstable();
        assert!((120..136).contains(&lengths[5000]), "{}", lengths[5000]);
        assert!(lengths.iter().all(|length| *length <= 4096));
        let mean = (0..10_000).map(|_| batch(&mut random)).sum::<u64>() as f64 / 10_000.0;
        assert!((2.4..2.8).contains(&mean), "{mean}");
    }
}
