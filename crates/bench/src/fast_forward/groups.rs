//! The test groups: names, subjects, and cases.

use super::dataset::{DataSet, Kind};
use super::plan::Plan;

/// A group of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    SingleKeySlice,
    LargeSkips,
    LargeSlicing,
    LargeSlicingClusteringKeys,
    LargeSlicingSingleKeyReader,
    SelectFewRows,
    SelectMissingRows,
    Forwarding,
    ReverseSlicing,
    Limit,
    FewRowsAtLevels,
    PointLookup,
    SmallSkips,
    SmallSlicing,
}

/// One run of a case is one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The values of the group's parameters.
    pub(crate) parameters: Vec<String>,
    pub(crate) plan: Plan,
    /// True if the case must be answered from blocks that earlier cases left in the cache.
    pub(crate) reads_nothing: bool,
    /// Tables that the rows are spread over; `None`: as the arguments say.
    pub(crate) tables: Option<u32>,
}

/// Cases that are run one after the other; the caches are emptied before the first of them.
pub(crate) type Sequence = Vec<Case>;

impl Group {
    pub(crate) const ALL: [Self; 14] = [
        Self::SingleKeySlice,
        Self::LargeSkips,
        Self::LargeSlicing,
        Self::LargeSlicingClusteringKeys,
        Self::LargeSlicingSingleKeyReader,
        Self::SelectFewRows,
        Self::SelectMissingRows,
        Self::Forwarding,
        Self::ReverseSlicing,
        Self::Limit,
        Self::FewRowsAtLevels,
        Self::PointLookup,
        Self::SmallSkips,
        Self::SmallSlicing,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SingleKeySlice => "large-partition-single-key-slice",
            Self::LargeSkips => "large-partition-skips",
            Self::LargeSlicing => "large-partition-slicing",
            Self::LargeSlicingClusteringKeys => "large-partition-slicing-clustering-keys",
            Self::LargeSlicingSingleKeyReader => "large-partition-slicing-single-key-reader",
            Self::SelectFewRows => "large-partition-select-few-rows",
            Self::SelectMissingRows => "large-partition-select-missing-rows",
            Self::Forwarding => "large-partition-forwarding",
            Self::ReverseSlicing => "large-partition-reverse-slicing",
            Self::Limit => "large-partition-limit",
            Self::FewRowsAtLevels => "large-partition-few-rows-at-levels",
            Self::PointLookup => "point-lookup",
            Self::SmallSkips => "small-partition-skips",
            Self::SmallSlicing => "small-partition-slicing",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::SingleKeySlice => {
                "Slices of a large partition that earlier slices left in the cache, whole or in part"
            }
            Self::LargeSkips => "Scans a large partition: reads rows, fast-forwards over rows, and so on",
            Self::LargeSlicing => "Slices a large partition: no bounds, one fast-forward to the slice",
            Self::LargeSlicingClusteringKeys => "Slices a large partition: both bounds given to the iterator",
            Self::LargeSlicingSingleKeyReader => "Slices a large partition: bounds of the partition, one fast-forward",
            Self::SelectFewRows => "Selects few rows of a large partition, each a range of its own",
            Self::SelectMissingRows => "Selects rows that a large partition does not have",
            Self::Forwarding => "Fast-forwards within the second half of a large partition, and across its border",
            Self::ReverseSlicing => "Slices a large partition from the last row to the first: both bounds given",
            Self::Limit => "Reads so many rows of a large partition from its middle: lower bound only",
            Self::FewRowsAtLevels => {
                "Reads rows of a large partition that lies in several tables, each with every k-th row"
            }
            Self::PointLookup => "Looks up single keys of a large partition",
            Self::SmallSkips => "Scans small partitions: reads partitions, fast-forwards over partitions, and so on",
            Self::SmallSlicing => "Reads consecutive small partitions: both bounds given",
        }
    }

    /// The names of its cases' parameters.
    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::SingleKeySlice => &["seq", "range"],
            Self::LargeSkips | Self::SmallSkips => &["read", "skip"],
            Self::LargeSlicing
            | Self::LargeSlicingClusteringKeys
            | Self::LargeSlicingSingleKeyReader
            | Self::ReverseSlicing
            | Self::SmallSlicing => &["offset", "read"],
            Self::SelectFewRows => &["offset", "stride", "rows"],
            Self::SelectMissingRows => &["offset"],
            Self::Forwarding => &["pk-scan"],
            Self::Limit => &["rows", "hint"],
            Self::FewRowsAtLevels => &["tables", "offset", "rows"],
            Self::PointLookup => &["row"],
        }
    }

    /// True for groups that test the content of the cache.
    pub(crate) fn needs_cache(self) -> bool {
        self == Self::SingleKeySlice
    }

    pub(crate) fn runs_on(self, kind: Kind) -> bool {
        match self {
            Self::SmallSkips | Self::SmallSlicing => !kind.is_large(),
            Self::SelectMissingRows => kind.has_missing_rows(),
            _ => kind.is_large(),
        }
    }

    /// Its cases on a data set.
    pub(crate) fn sequences(self, data: &DataSet, with_cache: bool) -> Vec<Sequence> {
        let rows = data.rows;
        let half = rows / 2;
        match self {
            Self::SingleKeySlice => key_slices(rows),
            Self::LargeSkips | Self::SmallSkips => skips(with_cache),
            Self::LargeSlicing => slices(half, |offset, read| Plan::Slice { offset, read }),
            Self::LargeSlicingSingleKeyReader => slices(half, |offset, read| Plan::SliceOfPartition { offset, read }),
            Self::LargeSlicingClusteringKeys | Self::SmallSlicing => {
                slices(half, |offset, read| Plan::Bounded { offset, read, backward: false })
            }
            Self::ReverseSlicing => slices(half, |offset, read| Plan::Bounded { offset, read, backward: true }),
            Self::SelectFewRows => {
                let mut cases = vec![(half, 1, 1), (half + 1, 1, 1)];
                cases.extend([1, 2, 4, 8, 16].map(|count| (0, rows / count, count)));
                cases.push((0, 2, half));
                let plan =
                    |(offset, stride, rows)| single(&[&offset, &stride, &rows], Plan::FewRows { offset, stride, rows });
                cases.into_iter().map(plan).collect()
            }
            Self::SelectMissingRows => {
                let offsets = [0, 1, rows / 3, half - 1, half, half + 1, rows * 2 / 3, rows - 1, rows, 2 * rows];
                offsets.map(|offset| single(&[&offset], Plan::Missing { offset })).into()
            }
            Self::Forwarding => [("yes", false), ("no", true)]
                .map(|(scan, partition_bounds)| single(&[&scan], Plan::Forwarding { partition_bounds }))
                .into(),
            Self::Limit => [1, 10, 100, 1000]
                .into_iter()
                .flat_map(|read| [("no", false), ("yes", true)].map(|(said, hint)| (read, said, hint)))
                .map(|(read, said, hint)| single(&[&read, &said], Plan::Limit { offset: half, read, hint }))
                .collect(),
            Self::FewRowsAtLevels => at_levels(half),
            Self::PointLookup => {
                let get = |offset: i64| single(&[&offset], Plan::Get { offset });
                let mut cases = vec![get(half), get(half + 1)];
                if data.kind.has_missing_rows() {
                    let missing = |offset: i64| single(&[&format!("!{offset}")], Plan::GetMissing { offset });
                    cases.extend([0, half, half + 1, rows].map(missing));
                } else {
                    cases.extend([get(-1), get(rows)]);
                }
                cases
            }
        }
    }
}

fn single(parameters: &[&dyn ToString], plan: Plan) -> Sequence {
    let parameters = parameters.iter().map(|value| value.to_string()).collect();
    vec![Case { parameters, plan, reads_nothing: false, tables: None }]
}

fn skips(with_cache: bool) -> Vec<Sequence> {
    let case = |read: i64, skip: i64| single(&[&read, &skip], Plan::Skips { read, skip });
    let mut cases: Vec<Sequence> = [0, 1, 8, 16, 32, 64, 256, 1024, 4096].map(|skip| case(1, skip)).into();
    cases.extend([1, 8, 16, 32, 64, 256, 1024, 4096].map(|skip| case(64, skip)));
    if with_cache {
        // Over the holes that the pattern left.
        for (read, skip) in [(1, 1), (1, 64), (64, 1), (64, 64)] {
            let mut sequence = case(read, skip);
            let scan = format!("{skip}+scan");
            sequence.extend(single(&[&read, &scan], Plan::Skips { read: 1, skip: 0 }));
            cases.push(sequence);
        }
    }
    cases
}

fn slices(half: i64, plan: impl Fn(i64, i64) -> Plan) -> Vec<Sequence> {
    let places = [0, half].into_iter().flat_map(|offset| [1, 32, 256, 4096].map(|read| (offset, read)));
    places.map(|(offset, read)| single(&[&offset, &read], plan(offset, read))).collect()
}

/// How many tables the rows of the group at levels are spread over.
pub(crate) const TABLE_COUNTS: [u32; 4] = [1, 2, 4, 7];

fn at_levels(half: i64) -> Vec<Sequence> {
    let mut cases = Vec::new();
    for tables in TABLE_COUNTS {
        let mut add = |offset: i64, rows: i64, plan: Plan| {
            let mut sequence = single(&[&tables, &offset, &rows], plan);
            sequence.iter_mut().for_each(|case| case.tables = Some(tables));
            cases.push(sequence);
        };
        // A multiple of every number of tables lies in the oldest of them, the row before it in the newest.
        let oldest = half - half % 28;
        add(oldest, 1, Plan::Get { offset: oldest });
        add(oldest - 1, 1, Plan::Get { offset: oldest - 1 });
        for read in [1, 10, 100, 1000] {
            add(half, read, Plan::Bounded { offset: half, read, backward: false });
        }
    }
    cases
}

/// Ranges after ranges; those marked must be answered by the cache.
fn key_slices(rows: i64) -> Vec<Sequence> {
    let end = rows - 1;
    let to = |first: i64, last: i64| (Some(first), Some(last));
    let read = |range| (range, false);
    let cached = |range| (range, true);
    let singles = [to(10, 19), to(30, 39), to(60, 69), to(90, 99)];
    let with_last = |last: (Option<i64>, Option<i64>)| singles.into_iter().chain([last]).map(read).collect::<Vec<_>>();
    let sequences = vec![
        vec![read(to(0, 1)), cached(to(0, 1))],
        vec![read(to(0, rows / 2)), cached(to(0, rows / 2))],
        vec![read(to(0, rows)), cached(to(0, rows))],
        vec![read(to(1, 99)), read(to(100, 109))],
        vec![read(to(1, 100)), cached(to(100, 100))],
        vec![read(to(1, 100)), read(to(51, 150))],
        vec![read(to(1, 100)), cached(to(51, 70))],
        vec![read(to(51, 70)), read(to(41, 80)), read(to(31, 100))],
        vec![read(to(0, 99)), read(to(100, 100))],
        vec![read(to(101, 200)), read(to(100, 100))],
        vec![read((None, Some(100))), cached(to(10, 20)), cached(to(-1, -1))],
        vec![read((Some(100), None)), cached(to(150, 159)), cached(to(end, end)), cached(to(rows + 1, rows + 1))],
        with_last(to(0, 99)),
        with_last(to(10, 99)),
    ];
    let text = |row: Option<i64>, open: &str| row.map_or(open.to_owned(), |row| row.to_string());
    let name = |(first, last): (Option<i64>, Option<i64>)| format!("{}..{}", text(first, ""), text(last, ""));
    let case = |number: usize, (range, reads_nothing): ((Option<i64>, Option<i64>), bool)| Case {
        parameters: vec![(number + 1).to_string(), name(range)],
        plan: Plan::KeySlice { first: range.0, last: range.1 },
        reads_nothing,
        tables: None,
    };
    let cases = |(number, ranges): (usize, Vec<_>)| ranges.into_iter().map(|range| case(number, range)).collect();
    sequences.into_iter().enumerate().map(cases).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_parameters_and_may_be_run() {
        for kind in Kind::ALL {
            let data = DataSet::new(kind, 5000, 10, false, 1);
            for group in Group::ALL.into_iter().filter(|group| group.runs_on(kind)) {
                let sequences = group.sequences(&data, true);
                assert!(!sequences.is_empty());
                for case in sequences.iter().flatten() {
                    assert_eq!(case.parameters.len(), group.parameters().len(), "{}", group.name());
                }
            }
        }
        let data = DataSet::new(Kind::LargePart, 1_000_000, 10, false, 1);
        let counts = Group::ALL.map(|group| group.sequences(&data, false).len());
        assert_eq!(counts, [14, 17, 8, 8, 8, 8, 10, 2, 8, 8, 24, 6, 17, 8]);
        assert_eq!(
            Group::SelectFewRows.sequences(&data, false)[0][0].plan,
            Plan::FewRows { offset: 500_000, stride: 1, rows: 1 }
        );
    }
}
