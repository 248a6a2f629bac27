//! The plan of one run of a case, as steps that the driver carries out and whose cost the model computes.

use super::dataset::{DataSet, Key};
use super::engine::Bounds;
use std::ops::Range;

/// A step. `rows` are the ordinals that must come, in order (backward: from the last to the first).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A new cursor; nothing is read yet. With the number of rows that will be read, if the reader says so.
    Open(Bounds, Option<u64>),
    /// Reads the cursor from the beginning of its bounds, at most so many rows.
    Read { limit: u64, rows: Range<i64> },
    /// Reads the cursor from the end of its bounds.
    ReadBack { rows: Range<i64> },
    /// New bounds for the cursor, and reads all of them.
    Forward { bounds: Bounds, rows: Range<i64> },
    /// Looks a key up.
    Get { key: Key, row: Option<i64> },
}

/// The access pattern of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Walks through everything: reads `read` rows, forwards over `skip`. Without a skip a plain scan.
    Skips { read: i64, skip: i64 },
    /// No bounds; forwards to the slice, then behind the partition.
    Slice { offset: i64, read: i64 },
    /// Bounds of the partition; forwards to the slice.
    SliceOfPartition { offset: i64, read: i64 },
    /// The slice as bounds.
    Bounded { offset: i64, read: i64, backward: bool },
    /// A lower bound only; ends after `read` rows.
    Limit { offset: i64, read: i64, hint: bool },
    /// Single rows, `rows` of them, `stride` apart.
    FewRows { offset: i64, stride: i64, rows: i64 },
    /// One range for a row that is not there.
    Missing { offset: i64 },
    /// Restricted to the second half; forwards outside of it, then across its border.
    Forwarding { partition_bounds: bool },
    /// One range with these ends; `None` is that of the partition. The second end is included.
    KeySlice { first: Option<i64>, last: Option<i64> },
    /// A lookup of a row.
    Get { offset: i64 },
    /// A lookup of a row that is not there.
    GetMissing { offset: i64 },
}

fn bounds(lower: Key, upper: Key) -> Bounds {
    Bounds { lower: Some(lower), upper: Some(upper) }
}

impl Plan {
    /// The ranges, when this is a list of ranges that are known from the beginning.
    pub(crate) fn ranges<'a>(&self, data: &'a DataSet) -> Option<Box<dyn Iterator<Item = Bounds> + 'a>> {
        let Self::FewRows { offset, stride, rows } = *self else { return None };
        Some(Box::new((0..rows).map(move |index| {
            let key = data.key(offset + index * stride);
            bounds(key, key.successor())
        })))
    }

    /// The rows that [`Self::ranges`] must give.
    pub(crate) fn rows_of_ranges(&self, data: &DataSet) -> Box<dyn Iterator<Item = i64>> {
        let Self::FewRows { offset, stride, rows } = *self else { return Box::new(std::iter::empty()) };
        let total = data.rows;
        Box::new((0..rows).map(move |index| offset + index * stride).filter(move |row| *row < total))
    }

    /// How many rows must come.
    pub(crate) fn expected(&self, data: &DataSet) -> u64 {
        if self.ranges(data).is_some() {
            return self.rows_of_ranges(data).count() as u64;
        }
        let rows = |rows: &Range<i64>| rows.clone().count() as u64;
        self.steps(data)
            .map(|step| match step {
                Step::Open(..) => 0,
                Step::Read { rows: expected, .. }
                | Step::ReadBack { rows: expected }
                | Step::Forward { rows: expected, .. } => rows(&expected),
                Step::Get { row, .. } => u64::from(row.is_some()),
            })
            .sum()
    }

    /// The steps. A list of ranges has a cursor that is forwarded from one to the next.
    pub(crate) fn steps<'a>(&self, data: &'a DataSet) -> Box<dyn Iterator<Item = Step> + 'a> {
        let total = data.rows;
        let present = move |from: i64, to: i64| from.clamp(0, total)..to.clamp(0, total);
        let all = Bounds::default();
        let open = |bounds| Step::Open(bounds, None);
        match *self {
            Self::Skips { skip: 0, .. } => {
                Box::new([open(all), Step::Read { limit: u64::MAX, rows: 0..total }].into_iter())
            }
            Self::Skips { read, skip } => {
                let starts = (0..total).step_by(usize::try_from(read + skip).unwrap_or(1));
                let chunks = starts.map(move |from| Step::Forward {
                    bounds: bounds(data.key(from), data.key(from + read)),
                    rows: present(from, from + read),
                });
                Box::new(std::iter::once(open(all)).chain(chunks))
            }
            Self::Slice { offset, read } => {
                let slice = bounds(data.key(offset), data.key(offset + read));
                let behind = Bounds { lower: Some(data.partition().1), upper: None };
                Box::new(
                    [
                        open(all),
                        Step::Forward { bounds: slice, rows: present(offset, offset + read) },
                        Step::Forward { bounds: behind, rows: 0..0 },
                    ]
                    .into_iter(),
                )
            }
            Self::SliceOfPartition { offset, read } => {
                let (from, to) = data.partition();
                let slice = bounds(data.key(offset), data.key(offset + read));
                let rows = present(offset, offset + read);
                Box::new([open(bounds(from, to)), Step::Forward { bounds: slice, rows }].into_iter())
            }
            Self::Bounded { offset, read, backward } => {
                let slice = bounds(data.key(offset), data.key(offset + read - 1).successor());
                let rows = present(offset, offset + read);
                let read = if backward { Step::ReadBack { rows } } else { Step::Read { limit: u64::MAX, rows } };
                Box::new([open(slice), read].into_iter())
            }
            Self::Limit { offset, read, hint } => {
                let from = Bounds { lower: Some(data.key(offset)), upper: None };
                let limit = read as u64;
                let rows = present(offset, offset + read);
                Box::new([Step::Open(from, hint.then_some(limit)), Step::Read { limit, rows }].into_iter())
            }
            Self::FewRows { .. } => {
                let rows = self.rows_of_ranges(data);
                let forward = rows.map(move |row| Step::Forward {
                    bounds: bounds(data.key(row), data.key(row).successor()),
                    rows: row..row + 1,
                });
                Box::new(std::iter::once(open(all)).chain(forward))
            }
            Self::Missing { offset } => {
                let key = data.missing(offset);
                let nothing = Step::Read { limit: u64::MAX, rows: 0..0 };
                Box::new([open(bounds(key, key.successor())), nothing].into_iter())
            }
            Self::Forwarding { partition_bounds } => {
                let half = total / 2;
                let end = partition_bounds.then(|| data.partition().1);
                let restricted = Bounds { lower: Some(data.key(half)), upper: end };
                let within = |from: i64, to: i64| bounds(data.key(from.max(half)), data.key(to));
                Box::new(
                    [
                        open(restricted),
                        Step::Forward { bounds: within(1, 2), rows: 0..0 },
                        Step::Forward { bounds: within(half - 2, half + 2), rows: present(half, half + 2) },
                    ]
                    .into_iter(),
                )
            }
            Self::KeySlice { first, last } => {
                let (from, to) = data.partition();
                let lower = first.map_or(from, |row| data.key(row));
                let upper = last.map_or(to, |row| data.key(row).successor());
                let rows = present(first.unwrap_or(0), last.map_or(total, |row| row + 1));
                Box::new([open(bounds(lower, upper)), Step::Read { limit: u64::MAX, rows }].into_iter())
            }
            Self::Get { offset } => {
                let row = Some(offset).filter(|row| (0..total).contains(row));
                Box::new([Step::Get { key: data.key(offset), row }].into_iter())
            }
            Self::GetMissing { offset } => Box::new([Step::Get { key: data.missing(offset), row: None }].into_iter()),
        }
    }

    /// Keys that it reads: the first of what it reads, and then one of so many rows that every index partition is met.
    pub(crate) fn keys_read<'a>(&self, data: &'a DataSet) -> Box<dyn Iterator<Item = Key> + 'a> {
        const ROWS_BETWEEN: i64 = 250;
        let mut last: Option<i64> = None;
        let mut sparse = move |rows: Range<i64>, lower: Option<Key>| -> Vec<Key> {
            if rows.is_empty() {
                return lower.into_iter().collect();
            }
            let from = last.filter(|last| *last <= rows.start).map_or(rows.start, |last| last + ROWS_BETWEEN);
            let found: Vec<i64> = (from.max(rows.start)..rows.end).step_by(ROWS_BETWEEN as usize).collect();
            last = found.last().copied().or(last);
            found.into_iter().map(|row| data.key(row)).collect()
        };
        let mut open = Bounds::default();
        Box::new(self.steps(data).flat_map(move |step| match step {
            Step::Open(bounds, _) => {
                open = bounds;
                Vec::new()
            }
            Step::Read { rows, .. } | Step::ReadBack { rows } => sparse(rows, open.lower),
            Step::Forward { bounds, rows } => sparse(rows, bounds.lower),
            Step::Get { key, .. } => vec![key],
        }))
    }

    /// The bounds of everything that it reads.
    pub(crate) fn read_bounds<'a>(&self, data: &'a DataSet) -> Box<dyn Iterator<Item = Bounds> + 'a> {
        let mut open = Bounds::default();
        Box::new(self.steps(data).filter_map(move |step| match step {
            Step::Open(bounds, _) => {
                open = bounds;
                None
            }
            Step::Read { limit: u64::MAX, .. } | Step::ReadBack { .. } => Some(open),
            // Bytes behind the rows are not read.
            Step::Read { rows, .. } => Some(Bounds { lower: open.lower, upper: Some(data.key(rows.end)) }),
            Step::Forward { bounds, .. } => Some(bounds),
            Step::Get { key, .. } => Some(bounds(key, key.successor())),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::Kind;
    use super::*;

    fn data() -> DataSet {
        DataSet::new(Kind::LargePart, 100, 10, false, 1)
    }

    #[test]
    fn rows_that_must_come() {
        let data = data();
        for (plan, expected) in [
            (Plan::Skips { read: 1, skip: 0 }, 100),
            (Plan::Skips { read: 1, skip: 8 }, 12),
            (Plan::Skips { read: 64, skip: 8 }, 64 + 28),
            (Plan::Slice { offset: 50, read: 32 }, 32),
            (Plan::SliceOfPartition { offset: 90, read: 32 }, 10),
            (Plan::Bounded { offset: 0, read: 4, backward: true }, 4),
            (Plan::Limit { offset: 50, read: 10, hint: false }, 10),
            (Plan::FewRows { offset: 0, stride: 25, rows: 4 }, 4),
            (Plan::Missing { offset: 100 }, 0),
            (Plan::Forwarding { partition_bounds: true }, 2),
            (Plan::KeySlice { first: None, last: Some(9) }, 10),
            (Plan::KeySlice { first: Some(-1), last: Some(-1) }, 0),
            (Plan::Get { offset: 99 }, 1),
            (Plan::GetMissing { offset: 99 }, 0),
        ] {
            assert_eq!(plan.expected(&data), expected, "{plan:?}");
        }
    }

    #[test]
    fn a_slice_goes_to_its_rows_and_then_behind_the_partition() {
        let data = data();
        let steps: Vec<Step> = Plan::Slice { offset: 5, read: 2 }.steps(&data).collect();
        let Step::Forward { bounds, .. } = &steps[1] else { panic!("{steps:?}") };
        assert_eq!((bounds.lower, bounds.upper), (Some(data.key(5)), Some(data.key(7))));
        let Step::Forward { bounds, rows } = &steps[2] else { panic!("{steps:?}") };
        assert_eq!((bounds.lower, bounds.upper, rows.clone()), (Some(data.partition().1), None, 0..0));
        let read: Vec<Bounds> = Plan::Limit { offset: 5, read: 2, hint: true }.read_bounds(&data).collect();
        assert_eq!(read, [Bounds { lower: Some(data.key(5)), upper: Some(data.key(7)) }]);
    }
}
