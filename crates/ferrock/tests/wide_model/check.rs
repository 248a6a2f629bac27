//! Queries at random, asked of the table and of the map.

use crate::model::{Columns, Model, Tuple, TupleRange};
use crate::values::compare;
use ferrock::wide::{Query, Row, Rows, Table, Value, ValueRef};
use ferrock_base::random::Random;

pub struct Checker<'a> {
    pub random: &'a mut Random,
    pub context: String,
}

/// A row as the map has it. Float columns are compared by their bits, keys by their order.
fn is_row(row: &Row, key: &Tuple, columns: &Columns, partition_count: usize) -> bool {
    let (partition, clustering) = (row.partition().unwrap(), row.clustering().unwrap());
    assert_eq!(partition.len(), partition_count);
    let values: Vec<Value> = partition.into_iter().chain(clustering).collect();
    let has_key = values.len() == key.values.len()
        && values.iter().zip(&key.values).all(|(value, (expected, _))| compare(value, expected).is_eq());
    let bits = |value: ValueRef<'_>| match value {
        ValueRef::F32(value) => Value::U32(value.to_bits()),
        ValueRef::F64(value) => Value::U64(value.to_bits()),
        other => other.to_value(),
    };
    let found: Vec<(u32, Value)> =
        row.columns().unwrap().map(|column| column.unwrap()).map(|(id, value)| (id, bits(value))).collect();
    let expected: Vec<(u32, Value)> = columns.iter().map(|(id, value)| (*id, bits(value.as_ref()))).collect();
    for (id, value) in columns {
        assert_eq!(row.get(*id).unwrap().map(bits), Some(bits(value.as_ref())));
    }
    has_key && found == expected
}

impl Checker<'_> {
    pub fn check(&mut self, table: &Table, model: &Model) {
        for _ in 0..3 {
            self.check_gets(table, model);
            self.check_query(table, model);
        }
    }

    fn check_gets(&mut self, table: &Table, model: &Model) {
        let keys: Vec<_> = (0..4).map(|_| model.random_key(self.random)).collect();
        let many = table.get_many(&keys);
        for ((partition, clustering), together) in keys.iter().zip(many) {
            let key = model.key(partition, clustering);
            let expected = model.rows.get(&key);
            for row in [table.get(partition, clustering).unwrap(), together.unwrap()] {
                let is_right = match (&row, expected) {
                    (Some(row), Some(columns)) => is_row(row, &key, columns, model.shape.partition_count),
                    (None, None) => true,
                    _ => false,
                };
                assert!(is_right, "{}: get {key:?} is {row:?}, not {expected:?}", self.context);
            }
        }
    }

    fn check_query(&mut self, table: &Table, model: &Model) {
        let is_scan = self.random.one_in(3);
        let partition = if is_scan { Vec::new() } else { model.random_key(self.random).0 };
        let from = if is_scan { 0 } else { model.shape.partition_count };
        let ranges: Vec<TupleRange> = (0..[0, 1, 1, 2, 4][self.random.below(5) as usize])
            .map(|_| model.random_range(self.random, from))
            .collect();
        let is_reverse = self.random.one_in(2);
        let mut query = if is_scan { table.scan() } else { table.partition(&partition) };
        for range in &ranges {
            query = query.rows(range.bounds());
        }
        if is_reverse {
            query = query.reverse();
        }
        let all = [TupleRange::all()];
        let mut expected = Vec::new();
        for range in if ranges.is_empty() { &all[..] } else { &ranges } {
            let mut rows = model.rows_in(&partition, range);
            if is_reverse {
                rows.reverse();
            }
            expected.extend(rows);
        }
        let context = format!("{}: partition {partition:?}, ranges {ranges:?}, reverse {is_reverse}", self.context);
        let count = model.shape.partition_count;
        let compare_with = |rows: &[Row], expected: &[(&Tuple, &Columns)], what: &str| {
            let is_right = rows.len() == expected.len()
                && rows.iter().zip(expected).all(|(row, (key, columns))| is_row(row, key, columns, count));
            let wanted: Vec<_> = expected.iter().map(|(key, _)| key.plain()).collect();
            assert!(is_right, "{context}, {what}: {rows:?} instead of {wanted:?}");
        };
        let collect = |rows: Rows| rows.map(|row| row.unwrap()).collect::<Vec<Row>>();
        compare_with(&collect(query.clone().iter().unwrap()), &expected, "all");
        let limit = 1 + self.random.below(9);
        let first = &expected[..expected.len().min(limit as usize)];
        compare_with(&collect(query.clone().limit(limit).iter().unwrap()), first, "with a limit");
        let few = query.clone().limit(limit).fewest_bytes();
        compare_with(&collect(few.iter().unwrap()), first, "with a limit, in few bytes");
        if !is_reverse && ranges.len() < 2 {
            // On to another range, from wherever the rows are.
            let mut rows = query.clone().limit(if self.random.one_in(2) { 1 << 20 } else { 0 }).iter().unwrap();
            for _ in 0..self.random.below(4) {
                rows.next_row().unwrap();
            }
            for _ in 0..1 + self.random.below(3) {
                let range = model.random_range(self.random, from);
                rows.fast_forward(range.bounds()).unwrap();
                assert!(rows.current().is_none() && rows.page_token().is_none());
                let found: Vec<Row> = rows.by_ref().map(|row| row.unwrap()).collect();
                compare_with(&found, &model.rows_in(&partition, &range), &format!("forwarded to {range:?}"));
            }
        }
        let paged = self.all_pages(&query);
        compare_with(&paged, &expected, "by pages");
    }

    /// All rows, in pages of random length; each goes on by a token.
    fn all_pages(&mut self, query: &Query<'_>) -> Vec<Row> {
        let (mut all, mut token) = (Vec::new(), None::<Vec<u8>>);
        loop {
            let mut page = query.clone().limit(1 + self.random.below(7));
            if self.random.one_in(8) {
                page = page.limit(0);
            }
            if self.random.one_in(3) {
                page = page.fewest_bytes();
            }
            if let Some(token) = &token {
                page = page.page(token);
            }
            let mut rows = page.iter().unwrap();
            for row in rows.by_ref() {
                all.push(row.unwrap());
                if self.random.one_in(10) {
                    break;
                }
            }
            token = rows.page_token();
            if token.is_none() {
                return all;
            }
        }
    }
}
