//! Queries: ranges of rows, forwards or backwards, page by page.

use super::key_range::KeyRange;
use super::rows::Rows;
use super::table::Table;
use super::tuple::{KeyTuple, RowRange};
use ferrock_base::coding::put_length_prefixed;
use ferrock_base::hash::hash128;
use ferrock_base::{Error, Result};
use ferrock_engine::options::{LimitReads, ReadOptions};
use ferrock_format::wide::PageToken;
use std::ops::Bound;
use std::sync::Arc;

/// Rows of a partition, or of many, to be read. Made by [`Table::partition`] and [`Table::scan`]; nothing is read
/// before [`iter`](Self::iter).
///
/// ```
/// # use ferrock::wide::{ColumnType, Schema, Table};
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// # let schema = Schema::new().partition_by("user", ColumnType::Text).clustered_by("n", ColumnType::U32);
/// # let table = Table::open_or_create(&db, "events", schema)?;
/// # for n in 0..30 { table.insert::<&str>("ada", n, &[])?; }
/// // The last five of the first twenty, the last one first; and those behind them, page by page.
/// let query = table.partition("ada").rows(..20).reverse().limit(5);
/// let mut rows = query.clone().iter()?;
/// assert_eq!(rows.next_row()?.unwrap().clustering()?, [19u32.into()]);
/// while rows.next_row()?.is_some() {}
/// let token = rows.page_token().unwrap();
/// let next = query.page(&token).iter()?.next().unwrap()?;
/// assert_eq!(next.clustering()?, [14u32.into()]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is read before iter()"]
pub struct Query<'t> {
    table: &'t Table,
    /// The common prefix of all keys.
    prefix: Vec<u8>,
    /// The components behind it.
    from: usize,
    ranges: Vec<KeyRange>,
    is_reverse: bool,
    limit: u64,
    limit_reads: LimitReads,
    token: Option<Vec<u8>>,
    /// The first error of the builder calls so far.
    error: Option<Error>,
}

impl<'t> Query<'t> {
    pub(super) fn new(table: &'t Table, prefix: Vec<u8>, from: usize, error: Option<Error>) -> Self {
        Self {
            table,
            prefix,
            from,
            ranges: Vec::new(),
            is_reverse: false,
            limit: 0,
            limit_reads: LimitReads::FewestRequests,
            token: None,
            error,
        }
    }

    /// Only the rows of a range. Called more than once, the rows of each range, in the order of the calls; rows of
    /// overlapping ranges come more than once.
    ///
    /// Of a partition, a range is one of clustering components; of a scan, one of partition components and, if it goes
    /// that far, of clustering components behind them.
    pub fn rows(mut self, range: impl RowRange) -> Self {
        if self.error.is_none() {
            match self.table.core().bounds_of(&self.prefix, self.from, &range) {
                Ok((lower, upper)) => self.ranges.push(KeyRange { lower, upper }),
                Err(error) => self.error = Some(error),
            }
        }
        self
    }

    /// Only the rows whose next components have these values: `rows(values..=values)`.
    pub fn rows_of(self, values: impl KeyTuple) -> Self {
        self.rows((Bound::Included(&values), Bound::Included(&values)))
    }

    /// The last row of each range first.
    pub fn reverse(mut self) -> Self {
        self.is_reverse = true;
        self
    }

    /// So many rows at most, of all ranges together; 0: all.
    ///
    /// **Cost:** mostly one request, at the price of bytes that the rows may not need: the first request reads as many
    /// blocks as so many rows take on average, and one more; with several ranges, that for each.
    /// [`fewest_bytes`](Self::fewest_bytes) makes the opposite choice.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// With a limit: no block is read that the rows do not need. If all rows are of about the same size, that is one
    /// request, and mostly a second one for the last block; if sizes differ, or rows lie in several tables, there are
    /// more, since no request reads a block that may turn out not to be needed. For devices and networks on which bytes
    /// cost more than requests.
    pub fn fewest_bytes(mut self) -> Self {
        self.limit_reads = LimitReads::FewestBytes;
        self
    }

    /// With a limit: few requests, as [`limit`](Self::limit) says; this is the default.
    pub fn fewest_requests(mut self) -> Self {
        self.limit_reads = LimitReads::FewestRequests;
        self
    }

    /// Continues behind the last row of another page, whose token is [`Rows::page_token`]. Everything but the limit
    /// must be the same as in that query; rows that were written since are seen if they lie ahead.
    pub fn page(mut self, token: &[u8]) -> Self {
        self.token = Some(token.to_vec());
        self
    }

    /// A hash of the table and of all parameters but limit and page.
    fn fingerprint(&self, ranges: &[KeyRange]) -> u64 {
        let mut text = self.table.core().fingerprint.to_le_bytes().to_vec();
        text.push(u8::from(self.is_reverse));
        put_length_prefixed(&mut text, &self.prefix);
        for KeyRange { lower, upper } in ranges {
            put_length_prefixed(&mut text, lower);
            text.push(u8::from(upper.is_some()));
            put_length_prefixed(&mut text, upper.as_deref().unwrap_or_default());
        }
        hash128(&text, 0).0
    }

    /// The position at which a token continues the query: the index of the range, and the rest of it.
    fn resume(&self, token: &[u8], query: u64, ranges: &mut [KeyRange]) -> Result<usize> {
        let wrong = |what: &str| self.table.core().wrong(&format!("page token: {what}"));
        let token = PageToken::decode(token)?;
        if token.query != query {
            return Err(wrong("it is of another query or another table; say everything but the limit as for its page"));
        }
        let key = [&self.prefix[..], &token.key].concat();
        let at = token.range as usize;
        match ranges.get_mut(at).filter(|range| range.has(&key)) {
            Some(range) if self.is_reverse => range.upper = Some(key),
            Some(range) => range.lower = [&key[..], &[0]].concat(),
            None => return Err(wrong("its row is not in the range that it names")),
        }
        Ok(at)
    }

    /// Begins to read.
    ///
    /// **Cost:** one read for each table that has rows of the range, as long as the range takes up to 256 KiB; none
    /// where filter, index or row bounds exclude all rows: for an absent partition, up to the filter's false positives
    /// (1 %). With a limit, see [`limit`](Self::limit). Several ranges are read together, one batch for all; with a
    /// limit and [`fewest_bytes`](Self::fewest_bytes) one after the other.
    ///
    /// # Errors
    /// `Invalid argument` for wrong parameters, and for a page token that is damaged or of another query.
    pub fn iter(self) -> Result<Rows> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let core = self.table.core();
        let mut ranges = self.ranges.clone();
        if ranges.is_empty() {
            let (lower, upper) = core.bounds_of(&self.prefix, self.from, &..)?;
            ranges.push(KeyRange { lower, upper });
        }
        // The schema record is no row.
        ranges.iter_mut().filter(|range| range.lower.is_empty()).for_each(|range| range.lower.push(0));
        let query = self.fingerprint(&ranges);
        let first = match &self.token {
            Some(token) => self.resume(token, query, &mut ranges)?,
            None => 0,
        };
        let ranges = ranges.into_iter().enumerate().skip(first).filter(|(_, range)| !range.is_empty()).collect();
        let rows_left = if self.limit == 0 { u64::MAX } else { self.limit };
        let options = ReadOptions { limit_reads: self.limit_reads, ..self.table.read_options().clone() };
        let order = (self.is_reverse, rows_left);
        Ok(Rows::new(Arc::clone(core), options, ranges, order, query, (self.prefix, self.from)))
    }
}

impl Table {
    /// A query of rows of one partition.
    pub fn partition(&self, partition: impl KeyTuple) -> Query<'_> {
        let mut prefix = Vec::new();
        let error = self.core.encode_partition(&partition, &mut prefix).err();
        Query::new(self, prefix, self.core.partition_count, error)
    }

    /// A query of rows of many partitions. Its ranges are of partition components, or of all components.
    pub fn scan(&self) -> Query<'_> {
        Query::new(self, Vec::new(), 0, None)
    }
}
