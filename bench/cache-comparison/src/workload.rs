//! Which keys are asked for.

use ferrock_base::random::Random;

/// Draws of a Zipf distribution with exponent 0.99 over `keys` keys. The rank is the key: 0 is drawn most often. The
/// caches hash keys, so neighbours among the numbers are none in them.
pub fn zipf(keys: u64, draws: usize, seed: u64) -> Vec<u64> {
    let mut sum = 0.0;
    let cumulative: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += 1.0 / (rank as f64).powf(0.99);
            sum
        })
        .collect();
    let mut random = Random::new(seed);
    (0..draws)
        .map(|_| {
            let point = random.below(1 << 53) as f64 / (1u64 << 53) as f64 * sum;
            cumulative.partition_point(|&up_to| up_to < point) as u64
        })
        .collect()
}

/// Draws of which each of `keys` keys is as likely as any other.
pub fn uniform(keys: u64, draws: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..draws).map(|_| random.below(keys)).collect()
}

/// Every second draw is of a scan that touches each key once; its keys begin at `first`.
pub fn with_scan(draws: &[u64], first: u64) -> Vec<u64> {
    draws.iter().zip(first..).flat_map(|(&draw, scanned)| [draw, scanned]).collect()
}
