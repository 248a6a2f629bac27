//! False positives against theory, within 10 %.
//!
//! *Blocked Bloom* (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007): of n keys over L
//! lines of B bits, a line gets i with the Poisson probability of mean n / L, and then lets an absent key pass with
//!
//! ```text
//! f(i) = (1 - (1 - 1/B)^(k i))^k          k: probes          rate = sum over i of Poisson(i; n/L) f(i)
//! ```
//!
//! *Ribbon* (Dillinger, Walzer: "Ribbon filter: practically smaller than Bloom and Xor", 2021): each of r columns
//! halves the rate, 2^-r; where some blocks have one column fewer (fractional bits per key), the mean of both by share.
//! RocksDB chooses r so that the rate is that of a Bloom filter of the policy's bits per key, which is checked too.
//!
//! The legacy Bloom filter is left out: its probes step by one constant modulo 512, and repeat one another more often
//! than independent ones, which is why it was replaced.
//!
//! Keys and probes are fixed numbers, so the test gives the same result always; the counts are such that, were they
//! random, 10 % would be five standard deviations or more, which the test computes and asserts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use ferrock_format::filter::{FilterKind, FilterPolicy, METADATA_SIZE};

/// Enough that differences between lines even out.
const ENTRIES: u64 = 1_000_000;
const LINE_BITS: f64 = 512.0;
const TOLERANCE: f64 = 0.1;
const STANDARD_DEVIATIONS: f64 = 5.0;

/// Rate of a blocked Bloom filter, and the standard deviation of the rates of its lines.
fn blocked_bloom(entries: f64, lines: f64, probes: f64) -> (f64, f64) {
    let mean = entries / lines;
    let mut probability = (-mean).exp();
    let (mut rate, mut square) = (0.0, 0.0);
    for count in 0..(mean * 4.0) as u32 + 100 {
        let fill = 1.0 - (1.0 - 1.0 / LINE_BITS).powf(probes * f64::from(count));
        let passes = fill.powf(probes);
        rate += probability * passes;
        square += probability * passes * passes;
        probability *= mean / f64::from(count + 1);
    }
    (rate, (square - rate * rate).max(0.0).sqrt())
}

/// Rate of a Ribbon filter by its columns.
fn ribbon(segments: u64, blocks: u64) -> f64 {
    let columns = segments.div_ceil(blocks);
    let low_blocks = columns * blocks - segments;
    let low = low_blocks as f64 / blocks as f64;
    let full = 0.5f64.powi(i32::try_from(columns).unwrap());
    low * full * 2.0 + (1.0 - low) * full
}

fn build(policy: FilterPolicy) -> Vec<u8> {
    let mut builder = policy.builder(7, 3).unwrap();
    (0..ENTRIES).for_each(|number| builder.add_key(&key(number)));
    builder.finish().unwrap()
}

/// Keys as people have them: a few letters and a number.
fn key(number: u64) -> [u8; 12] {
    let mut key = *b"user00000000";
    key[4..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The share of absent keys that pass. As many are asked for as `expected` needs; `filter_deviation` is the relative
/// standard deviation of the rate from one filter to another.
fn measure(payload: &[u8], expected: f64, filter_deviation: f64) -> f64 {
    let kind = FilterKind::parse(payload);
    let probes = (6000.0 / expected) as u64;
    let by_chance = (1.0 / (expected * probes as f64)).sqrt();
    let deviation = by_chance.hypot(filter_deviation);
    assert!(deviation * STANDARD_DEVIATIONS <= TOLERANCE, "{probes} probes do not tell: {deviation}");
    let passes = |number: &u64| kind.may_match(payload, &key(ENTRIES + number));
    (0..probes).filter(passes).count() as f64 / probes as f64
}

fn assert_near(measured: f64, expected: f64, what: &str) {
    println!("{what}: measured {measured:.6}, theory {expected:.6}, {:+.2} %", (measured / expected - 1.0) * 100.0);
    assert!((measured / expected - 1.0).abs() < TOLERANCE, "{what}: measured {measured}, theory {expected}");
}

/// Lines and probes of a Bloom payload, as its metadata says.
fn bloom_shape(payload: &[u8]) -> (f64, f64) {
    let filter = payload.len() - METADATA_SIZE;
    assert_eq!(payload[filter], 0xff);
    ((filter / 64) as f64, f64::from(payload[filter + 2]))
}

#[test]
fn of_bloom_filters() {
    for bits_per_key in [2.0, 4.5, 6.0, 8.4, 9.9, 10.0, 12.5, 15.3, 16.0, 20.0] {
        let payload = build(FilterPolicy::bloom(bits_per_key));
        let (lines, probes) = bloom_shape(&payload);
        let bits = lines * LINE_BITS / ENTRIES as f64;
        assert!((bits - bits_per_key).abs() < 0.01, "{bits} bits per key, {bits_per_key} were asked for");
        let (expected, line_deviation) = blocked_bloom(ENTRIES as f64, lines, probes);
        let deviation = line_deviation / expected / lines.sqrt();
        let what = format!("Bloom, {bits_per_key} bits per key, {probes} probes");
        assert_near(measure(&payload, expected, deviation), expected, &what);
    }
}

#[test]
fn of_ribbon_filters() {
    for bits_per_key in [4.5, 9.9, 10.0, 12.5, 16.0] {
        let payload = build(FilterPolicy::ribbon(bits_per_key, -1));
        let filter = payload.len() - METADATA_SIZE;
        assert!(matches!(FilterKind::parse(&payload), FilterKind::Ribbon(_)));
        let blocks = u64::from(u32::from_le_bytes([payload[filter + 2], payload[filter + 3], payload[filter + 4], 0]));
        let expected = ribbon(filter as u64 / 16, blocks);
        let measured = measure(&payload, expected, 0.0);
        assert_near(measured, expected, &format!("Ribbon for {bits_per_key} bits per key, by its columns"));
        let bloom = build(FilterPolicy::bloom(bits_per_key));
        let (lines, probes) = bloom_shape(&bloom);
        let (wanted, _) = blocked_bloom(ENTRIES as f64, lines, probes);
        assert_near(measured, wanted, &format!("Ribbon for {bits_per_key} bits per key, by the Bloom filter"));
        assert!(payload.len() * 100 < bloom.len() * 78, "{} bytes of {}", payload.len(), bloom.len());
    }
}
