//! The buckets of a histogram, as RocksDB's: each ends at one and a half times the end of the one before, cut to two
//! digits.
//!
//! ```text
//! bucket   0        1        2        3        4        5         6           108
//! values   0 .. 1   2        3        4        5 .. 6   7 .. 10   11 .. 15    ...
//! ```

/// How many there are.
pub(crate) const BUCKETS: usize = 109;

/// The largest value of each bucket.
pub(crate) const LAST_VALUES: [u64; BUCKETS] = last_values();

/// The first bucket that a value with this many significant bits can be in.
const FIRST_OF_BITS: [u8; 65] = first_of_bits();

const fn last_values() -> [u64; BUCKETS] {
    let mut values = [0; BUCKETS];
    (values[0], values[1]) = (1, 2);
    let mut end = 2.0_f64;
    let mut bucket = 2;
    while bucket < BUCKETS {
        end *= 1.5;
        // `end` stays below 2^64 up to the last bucket.
        let (mut digits, mut power) = (end as u64, 1);
        while digits / 10 > 10 {
            (digits, power) = (digits / 10, power * 10);
        }
        values[bucket] = digits * power;
        bucket += 1;
    }
    values
}

const fn first_of_bits() -> [u8; 65] {
    let mut first = [0; 65];
    let mut bits = 1;
    while bits <= 64 {
        let smallest = 1_u64 << (bits - 1);
        let mut bucket = 0;
        while bucket + 1 < BUCKETS && LAST_VALUES[bucket] < smallest {
            bucket += 1;
        }
        first[bits] = bucket as u8;
        bits += 1;
    }
    first
}

/// The bucket of a value; the last one has what is beyond it, too.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    let mut bucket = usize::from(FIRST_OF_BITS[bits]);
    // No more than two steps: buckets grow by half, and a number of bits doubles.
    while bucket + 1 < BUCKETS && LAST_VALUES[bucket] < value {
        bucket += 1;
    }
    bucket
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_rocksdbs() {
        assert_eq!(LAST_VALUES[..16], [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580]);
        assert!(LAST_VALUES.is_sorted_by(|a, b| a < b));
        assert_eq!(LAST_VALUES[BUCKETS - 1], 13_000_000_000_000_000_000);
    }

    #[test]
    fn a_value_is_in_the_first_bucket_that_does_not_end_before_it() {
        let values = (0..100_000).chain((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for value in values.chain(LAST_VALUES.iter().flat_map(|end| [end - 1, *end, end + 1])).chain([u64::MAX]) {
            let expected = LAST_VALUES.partition_point(|end| *end < value).min(BUCKETS - 1);
            assert_eq!(bucket_of(value), expected, "{value}");
        }
    }
}
