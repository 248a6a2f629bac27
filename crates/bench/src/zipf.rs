//! Numbers by Zipf's law: LinkBench and YCSB ask for few things often.

use ferrock_base::random::Random;

/// A number in `[0, 1)`.
#[must_use]
pub fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Numbers below a bound by Zipf's law: the first one most often.
#[derive(Clone, Debug)]
pub struct Zipf {
    bound: f64,
    shape: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

/// Terms that are summed one by one; the sum of those behind is an integral.
const EXACT_TERMS: u64 = 1000;

/// The sum of `1 / i^shape` for i from 1 to `bound`.
fn zeta(bound: f64, shape: f64) -> f64 {
    let exact = (bound as u64).min(EXACT_TERMS);
    let sum: f64 = (1..=exact).map(|i| (i as f64).powf(-shape)).sum();
    let antiderivative = |x: f64| x.powf(1.0 - shape) / (1.0 - shape);
    let first = exact as f64 + 0.5;
    if bound > first { sum + antiderivative(bound + 0.5) - antiderivative(first) } else { sum }
}

impl Zipf {
    /// Numbers below `bound`, of a shape between 0 and 1.
    #[must_use]
    pub fn new(bound: u64, shape: f64) -> Self {
        let bound = bound.max(2) as f64;
        let zeta_all = zeta(bound, shape);
        Self {
            bound,
            shape,
            zeta: zeta_all,
            alpha: 1.0 / (1.0 - shape),
            eta: (1.0 - (2.0 / bound).powf(1.0 - shape)) / (1.0 - zeta(2.0, shape) / zeta_all),
        }
    }

    /// The next number, by the approximation of Gray et al. (*Quickly Generating Billion-Record Synthetic Databases*).
    #[must_use]
    pub fn next(&self, random: &mut Random) -> u64 {
        let share = unit(random);
        let scaled = share * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.shape) {
            return 1;
        }
        let number = self.bound * (self.eta * share - self.eta + 1.0).powf(self.alpha);
        (number as u64).min(self.bound as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_has_its_shares() {
        let bound = 1000;
        for shape in [0.606, 0.8] {
            let zipf = Zipf::new(bound, shape);
            let mut random = Random::new(3);
            let mut counts = vec![0_u32; bound as usize];
            (0..400_000).for_each(|_| counts[zipf.next(&mut random) as usize] += 1);
            let share = |number: usize| f64::from(counts[number]) / 400_000.0;
            let expected = |number: usize| ((number + 1) as f64).powf(-shape) / zeta(bound as f64, shape);
            assert!((share(0) / expected(0) - 1.0).abs() < 0.05, "{shape}: {} {}", share(0), expected(0));
            let head = (0..100).map(share).sum::<f64>() / (0..100).map(expected).sum::<f64>();
            assert!((head - 1.0).abs() < 0.05, "{shape}: {head}");
        }
        let exact: f64 = (1..=5000).map(|i| f64::from(i).powf(-0.8)).sum();
        assert!((zeta(5000.0, 0.8) / exact - 1.0).abs() < 1e-6);
    }
}
