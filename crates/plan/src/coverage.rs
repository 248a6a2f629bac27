//! Which keys a virtual file holds: not their list, but how likely a key of its range is among them.
//!
//! ```text
//! density = 1 - (1 - loaded) * (1 - d(written))
//!
//! loaded    share of the range's keys that a load put, each once        adds up over files: no key is in two of them
//! written   random puts per key of the range                            adds up over files: they are different puts
//! d(w)      share of keys that w random puts per key reach              1 - e^-w if all keys are alike
//! ```
//!
//! The puts of two files are different puts, whatever was merged before. So the union of files that overlap needs no
//! list of keys: their `loaded` and `written` are added, and the density of the sums is exact in expectation. With a
//! skewed distribution d(w) is the mean over keys of 1 - e^(-w q), where q is how often a key is put beside the average
//! one; the popular keys are taken to lie anywhere in the key space.

/// What was put into a range of keys, per key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Share of keys that were loaded, 0 to 1.
    pub loaded: f64,
    /// Random puts per key.
    pub written: f64,
}

impl Coverage {
    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { loaded: self.loaded + other.loaded, written: self.written + other.written }
    }
}

/// How often keys are put beside each other.
#[derive(Clone, Debug)]
pub struct Popularity {
    /// `None` if all keys are alike: (ln w, d(w)) at points of equal distance.
    skewed: Option<Vec<f64>>,
}

/// The table of a skewed distribution goes from e^-28 to e^10 puts per key.
const LEAST_LN: f64 = -28.0;
const STEP_LN: f64 = 0.1;
const POINTS: usize = 381;

impl Popularity {
    /// All keys are put equally often.
    #[must_use]
    pub fn uniform() -> Self {
        Self { skewed: None }
    }

    /// The key of rank r among `keys` is put in proportion to r^-`theta`. 0 is uniform.
    #[must_use]
    pub fn zipf(keys: u64, theta: f64) -> Self {
        if theta <= 0.0 || keys < 2 {
            return Self::uniform();
        }
        let ranks = rank_groups(keys);
        let total: f64 = ranks.iter().map(|(rank, count)| rank.powf(-theta) * count).sum();
        let mean = total / keys as f64;
        let reached = |ln: f64| {
            let puts = ln.exp();
            let share = |&(rank, count): &(f64, f64)| -(-puts * rank.powf(-theta) / mean).exp_m1() * count;
            ranks.iter().map(share).sum::<f64>() / keys as f64
        };
        Self { skewed: Some((0..POINTS).map(|point| reached(LEAST_LN + point as f64 * STEP_LN)).collect()) }
    }

    /// The share of keys that `written` random puts per key reach.
    #[must_use]
    pub fn reached(&self, written: f64) -> f64 {
        if written <= 0.0 {
            return 0.0;
        }
        let Some(table) = &self.skewed else { return -(-written).exp_m1() };
        let place = (written.ln() - LEAST_LN) / STEP_LN;
        if place <= 0.0 {
            // So few puts that hardly two are of one key.
            return table[0] * (written / LEAST_LN.exp());
        }
        let index = (place as usize).min(POINTS - 2);
        let part = (place - index as f64).min(1.0);
        table[index] * (1.0 - part) + table[index + 1] * part
    }

    /// The share of keys that are there.
    ///
    /// `loaded` may be a little above 1: the coverage of a file is the mean over its range, so where a merge touched a
    /// part of it some lies beside its place. A bound there would lose these keys for good; the neighbours lack them.
    #[must_use]
    pub fn density(&self, coverage: Coverage) -> f64 {
        1.0 - (1.0 - coverage.loaded.max(0.0)) * (1.0 - self.reached(coverage.written))
    }
}

/// Ranks and how many keys each stands for: the first ones singly, the others in groups of about the same popularity.
fn rank_groups(keys: u64) -> Vec<(f64, f64)> {
    const SINGLE: u64 = 200;
    const GROWTH: f64 = 1.02;
    let mut groups: Vec<(f64, f64)> = (1..=keys.min(SINGLE)).map(|rank| (rank as f64, 1.0)).collect();
    let mut begin = SINGLE as f64;
    let keys = keys as f64;
    while begin < keys {
        let end = (begin * GROWTH).min(keys);
        groups.push(((begin + end) / 2.0, end - begin));
        begin = end;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_of_files_is_the_sum_of_their_puts() {
        let uniform = Popularity::uniform();
        let coverage = |loaded, written| Coverage { loaded, written };
        assert!((uniform.density(coverage(0.0, 1.0)) - 0.632_120_558).abs() < 1e-9);
        // Each key once, in two files: both densities add up.
        let both = coverage(0.25, 0.0).with(coverage(0.5, 0.0));
        assert!((uniform.density(both) - 0.75).abs() < 1e-9);
        // A loaded range stays full, whatever is put over it.
        assert!((uniform.density(coverage(1.0, 3.0)) - 1.0).abs() < 1e-12);
        assert!(uniform.density(Coverage::default()).abs() < 1e-12);
    }

    #[test]
    fn a_skewed_distribution_reaches_fewer_keys() {
        let keys = 1_000_000;
        let (uniform, skewed) = (Popularity::uniform(), Popularity::zipf(keys, 0.99));
        for written in [1e-9, 1e-4, 0.01, 1.0, 10.0] {
            let (all, some) = (uniform.reached(written), skewed.reached(written));
            assert!(some < all * 1.001 && some > 0.0, "{written}: {some} of {all}");
        }
        // By a naive sum over all keys.
        let mean = (1..=keys).map(|rank| (rank as f64).powf(-0.99)).sum::<f64>() / keys as f64;
        let naive = (1..=keys).map(|rank| 1.0 - (-(rank as f64).powf(-0.99) / mean).exp()).sum::<f64>() / keys as f64;
        assert!((skewed.reached(1.0) - naive).abs() < 0.003, "{} {naive}", skewed.reached(1.0));
        assert!(skewed.reached(1e9) > 0.999);
    }
}
