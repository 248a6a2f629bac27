//! Rows in which every pair of values occurs: for any two factors, any value of the one beside any value of the other.
//!
//! Each row begins with a pair that no earlier row has, and then takes, factor by factor in random order, the value
//! that adds most pairs. The same seed gives the same rows.

use super::factors::{Factor, Row, conflict, of_kind};
use crate::random::Random;
use crate::settings::{Release, TableKind};
use std::collections::BTreeSet;

/// Two factors with their values, the smaller first.
pub type Pair = ((usize, usize), (usize, usize));

/// All pairs whose values go together.
pub fn all(kind: TableKind, release: Release) -> BTreeSet<Pair> {
    let choices =
        |(number, factor): (usize, &Factor)| (0..factor.values(release).len()).map(move |value| (number, value));
    let choices: Vec<(usize, usize)> = of_kind(kind).iter().enumerate().flat_map(choices).collect();
    let later = |first: (usize, usize)| {
        choices.iter().filter(move |second| second.0 > first.0).map(move |second| (first, *second))
    };
    let pairs = choices.iter().copied().flat_map(later);
    pairs.filter(|pair| !conflict(kind, release, pair.0, pair.1)).collect()
}

/// The pairs of a row.
pub fn of_row(row: &Row) -> impl Iterator<Item = Pair> + '_ {
    let choices = || row.iter().copied().enumerate();
    choices().flat_map(move |first| choices().skip(first.0 + 1).map(move |second| (first, second)))
}

/// A row of small blocks and the smallest partitions: pairs alone may leave these apart.
pub fn of_many_partitions(release: Release) -> Row {
    let wanted = [
        ("index", "kTwoLevelIndexSearch"),
        ("metadata_block_size", "16"),
        ("block_size", "64"),
        ("index_block_restart_interval", "1"),
        ("index_shortening", "kNoShortening"),
        ("compression", "kNoCompression"),
        ("row_bounds", "false"),
        ("partition_cut", "false"),
    ];
    let factors = of_kind(TableKind::Block);
    let choice = |(name, value): (&str, &str)| {
        let factor = factors.iter().position(|factor| factor.name == name)?;
        Some((factor, factors[factor].values(release).iter().position(|other| *other == value)?))
    };
    let choices: Vec<_> = wanted.into_iter().filter_map(choice).collect();
    complete(TableKind::Block, release, &choices, None, &mut Random::new(13))
}

/// Rows with all pairs.
pub fn rows(kind: TableKind, release: Release) -> Vec<Row> {
    let mut random = Random::new(11);
    let mut missing = all(kind, release);
    let mut rows = Vec::new();
    while let Some(seed) = missing.first().copied() {
        // The best of some attempts.
        let attempts = (0..20).map(|_| complete(kind, release, &[seed.0, seed.1], Some(&missing), &mut random));
        let gain = |row: &Row| of_row(row).filter(|pair| missing.contains(pair)).count();
        let Some(row) = attempts.max_by_key(gain) else { break };
        for pair in of_row(&row) {
            missing.remove(&pair);
        }
        rows.push(row);
    }
    rows
}

/// A row of random values.
pub fn random_row(kind: TableKind, release: Release, random: &mut Random) -> Row {
    complete(kind, release, &[], None, random)
}

/// A row with the values given; the others add as many of the `wanted` pairs as they can.
fn complete(
    kind: TableKind,
    release: Release,
    given: &[(usize, usize)],
    wanted: Option<&BTreeSet<Pair>>,
    random: &mut Random,
) -> Row {
    let factors = of_kind(kind);
    let mut chosen = given.to_vec();
    let mut open: Vec<usize> =
        (0..factors.len()).filter(|factor| given.iter().all(|known| known.0 != *factor)).collect();
    while !open.is_empty() {
        let factor = open.swap_remove(random.below(open.len()));
        let values = 0..factors[factor].values(release).len();
        let legal =
            values.filter(|value| !chosen.iter().any(|known| conflict(kind, release, (factor, *value), *known)));
        let gain = |value: usize| {
            let choice = (factor, value);
            let pairs = chosen.iter().map(|known| if *known < choice { (*known, choice) } else { (choice, *known) });
            wanted.map_or(0, |wanted| pairs.filter(|pair| wanted.contains(pair)).count())
        };
        // There is always one: of block-based tables, the first value of a factor goes with everything.
        let value = legal.max_by_key(|value| (gain(*value), random.next())).unwrap_or(0);
        chosen.push((factor, value));
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_partitions_are_asked_for() {
        for release in [Release::Current, Release::Old] {
            let row = of_many_partitions(release);
            let values: Vec<&str> = of_kind(TableKind::Block)
                .iter()
                .zip(&row)
                .map(|(factor, &value)| factor.values(release)[value])
                .collect();
            assert!(["kTwoLevelIndexSearch", "16", "64"].iter().all(|value| values.contains(value)), "{values:?}");
        }
    }

    #[test]
    fn rows_have_every_pair_and_no_conflict() {
        let kinds = [TableKind::Block, TableKind::Plain];
        for (kind, release) in kinds.into_iter().flat_map(|kind| [(kind, Release::Current), (kind, Release::Old)]) {
            let rows = rows(kind, release);
            let covered: BTreeSet<Pair> = rows.iter().flat_map(of_row).collect();
            // Nothing is covered that may not be, and nothing is missing.
            assert_eq!(covered, all(kind, release));
            assert!(rows.len() < 100, "{} rows", rows.len());
            assert_eq!(rows, super::rows(kind, release));
        }
    }

    #[test]
    fn random_rows_differ_and_have_no_conflict() {
        let all = all(TableKind::Block, Release::Current);
        let mut random = Random::new(3);
        let rows: BTreeSet<Row> =
            (0..50).map(|_| random_row(TableKind::Block, Release::Current, &mut random)).collect();
        assert!(rows.len() > 45);
        assert!(rows.iter().flat_map(of_row).all(|pair| all.contains(&pair)));
    }
}
