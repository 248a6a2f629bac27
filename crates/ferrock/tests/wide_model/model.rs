//! The map of tuples.

use crate::values::{compare, random_value};
use ferrock::wide::{ColumnType, Value};
use ferrock_base::random::Random;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

/// What a table is made of.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Type of each component, and whether it is descending.
    pub components: Vec<(ColumnType, bool)>,
    pub partition_count: usize,
    pub columns: BTreeMap<u32, ColumnType>,
}

/// Values, with the directions that order them.
#[derive(Clone, Debug)]
pub struct Tuple {
    pub values: Vec<(Value, bool)>,
}

impl Tuple {
    /// The order of the first components that both have.
    fn order_of_beginning(&self, other: &Self) -> Ordering {
        let pairs = self.values.iter().zip(&other.values);
        let orders =
            pairs.map(|((a, is_descending), (b, _))| if *is_descending { compare(b, a) } else { compare(a, b) });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    pub fn plain(&self) -> Vec<Value> {
        self.values.iter().map(|(value, _)| value.clone()).collect()
    }
}

impl PartialEq for Tuple {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Tuple {}

impl PartialOrd for Tuple {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tuple {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order_of_beginning(other).then(self.values.len().cmp(&other.values.len()))
    }
}

pub type Columns = BTreeMap<u32, Value>;

/// A range of some components; its ends may have fewer.
#[derive(Clone, Debug)]
pub struct TupleRange {
    from: Bound<Vec<Value>>,
    to: Bound<Vec<Value>>,
}

impl TupleRange {
    pub fn all() -> Self {
        Self { from: Bound::Unbounded, to: Bound::Unbounded }
    }

    pub fn of(values: &[Value]) -> Self {
        Self { from: Bound::Included(values.to_vec()), to: Bound::Included(values.to_vec()) }
    }

    pub fn bounds(&self) -> (Bound<Vec<Value>>, Bound<Vec<Value>>) {
        (self.from.clone(), self.to.clone())
    }

    /// `key` without the components before those of the range.
    fn has(&self, key: &Tuple) -> bool {
        let order = |end: &[Value]| {
            let end = Tuple { values: end.iter().map(|value| (value.clone(), false)).collect() };
            key.order_of_beginning(&end)
        };
        let is_behind_start = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(start) => order(start).is_ge(),
            Bound::Excluded(start) => order(start).is_gt(),
        };
        is_behind_start
            && match &self.to {
                Bound::Unbounded => true,
                Bound::Included(end) => order(end).is_le(),
                Bound::Excluded(end) => order(end).is_lt(),
            }
    }
}

#[derive(Clone)]
pub struct Model {
    pub shape: Shape,
    pub rows: BTreeMap<Tuple, Columns>,
    /// Partitions that are written to.
    partitions: Vec<Vec<Value>>,
}

impl Model {
    pub fn new(shape: Shape, random: &mut Random) -> Self {
        let mut model = Self { shape, rows: BTreeMap::new(), partitions: Vec::new() };
        let count = 1 + random.below(6);
        model.partitions = (0..count).map(|_| model.random_values(random, 0, model.shape.partition_count)).collect();
        model
    }

    fn random_values(&self, random: &mut Random, from: usize, to: usize) -> Vec<Value> {
        self.shape.components[from..to].iter().map(|(kind, _)| random_value(random, *kind)).collect()
    }

    /// Partition and clustering: mostly of the partitions in use.
    pub fn random_key(&self, random: &mut Random) -> (Vec<Value>, Vec<Value>) {
        let count = self.shape.partition_count;
        let partition = if random.one_in(10) {
            self.random_values(random, 0, count)
        } else {
            self.partitions[random.below(self.partitions.len() as u64) as usize].clone()
        };
        (partition, self.random_values(random, count, self.shape.components.len()))
    }

    pub fn random_columns(&self, random: &mut Random) -> Columns {
        let mut columns = Columns::new();
        for (id, kind) in &self.shape.columns {
            if !random.one_in(4) {
                columns.insert(*id, random_value(random, *kind));
            }
        }
        columns
    }

    /// A range of the components from `from` on.
    pub fn random_range(&self, random: &mut Random, from: usize) -> TupleRange {
        let end = |random: &mut Random| {
            let to = from + random.below((self.shape.components.len() - from) as u64 + 1) as usize;
            let values = self.random_values(random, from, to);
            match random.below(3) {
                0 => Bound::Unbounded,
                1 => Bound::Included(values),
                _ => Bound::Excluded(values),
            }
        };
        TupleRange { from: end(random), to: end(random) }
    }

    fn tuple(&self, values: impl IntoIterator<Item = Value>) -> Tuple {
        let directions = self.shape.components.iter().map(|(_, is_descending)| *is_descending);
        Tuple { values: values.into_iter().zip(directions).collect() }
    }

    pub fn key(&self, partition: &[Value], clustering: &[Value]) -> Tuple {
        self.tuple(partition.iter().chain(clustering).cloned())
    }

    pub fn insert(&mut self, partition: &[Value], clustering: &[Value], columns: Columns) {
        self.rows.insert(self.key(partition, clustering), columns);
    }

    /// The rows of a partition, or of all, within a range of the components behind.
    pub fn rows_in(&self, partition: &[Value], range: &TupleRange) -> Vec<(&Tuple, &Columns)> {
        let own = self.tuple(partition.iter().cloned());
        let is_in = |key: &Tuple| {
            let rest = Tuple { values: key.values[partition.len()..].to_vec() };
            own.order_of_beginning(key).is_eq() && range.has(&rest)
        };
        self.rows.iter().filter(|(key, _)| is_in(key)).collect()
    }

    pub fn delete_rows(&mut self, partition: &[Value], range: &TupleRange) {
        let gone: Vec<Tuple> = self.rows_in(partition, range).into_iter().map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| drop(self.rows.remove(key)));
    }
}
