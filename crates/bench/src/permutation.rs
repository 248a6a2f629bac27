//! Every number below a bound once, in random order, without a list of them.
//!
//! A Feistel network of four rounds permutes the numbers of an even count of bits; what falls beyond the bound goes
//! through it again. The range of the network is less than four times the bound, so few numbers go often.

use ferrock_base::random::Random;

/// A permutation of the numbers below a bound.
#[derive(Clone, Debug)]
pub struct Permutation {
    bound: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// A permutation of `0..bound`.
    #[must_use]
    pub fn new(bound: u64, seed: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        let mut random = Random::new(seed);
        Self { bound, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| random.next_u64()) }
    }

    /// Where `number`, which is below the bound, goes.
    #[must_use]
    pub fn at(&self, number: u64) -> u64 {
        let mut place = number;
        loop {
            place = self.network(place);
            if place < self.bound {
                return place;
            }
        }
    }

    /// The number that goes to `place`, which is below the bound.
    #[must_use]
    pub fn number_at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.network_back(number);
            if number < self.bound {
                return number;
            }
        }
    }

    fn network_back(&self, place: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (place >> self.half_bits & mask, place & mask);
        for key in self.keys.iter().rev() {
            let mixed = Random::new(key ^ left).next_u64() & mask;
            (left, right) = (right ^ mixed, left);
        }
        left << self.half_bits | right
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits & mask, number & mask);
        for key in self.keys {
            let mixed = Random::new(key ^ right).next_u64() & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once() {
        for bound in [1, 2, 3, 4, 5, 100, 1000, 4096, 10_007] {
            let permutation = Permutation::new(bound, 7);
            let mut seen: Vec<u64> = (0..bound).map(|number| permutation.at(number)).collect();
            let in_order = seen.is_sorted();
            assert!((0..bound).all(|number| permutation.number_at(permutation.at(number)) == number), "{bound}");
            seen.sort_unstable();
            assert_eq!(seen, (0..bound).collect::<Vec<_>>(), "{bound}");
            assert!(bound < 5 || !in_order, "{bound}");
        }
        assert!(Permutation::new(u64::MAX, 1).at(u64::MAX - 1) < u64::MAX);
    }
}
