//! The ways to read that are not an iterator's: single keys, many keys, futures, scans of many ranges.
//!
//! A read that is begun by a thread may outlive it. `OnThread` and `FutureOfThread` have threads that end at once.

use crate::database::{Check, Database};
use crate::model::{FamilyModel, Filter, Pair};
use crate::operations::{AsyncScanOf, MultiScanOf, Target, Way};
use crate::reads::{same_value, show_pair};
use ferrock::{AsyncScan, ColumnFamily, Db, PinnedSlice, ReadOptions, ScanRange};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Thread, current, park};

type Found = ferrock::Result<Option<PinnedSlice>>;

/// Runs `act` here, or on a thread of its own that then ends.
pub fn somewhere<R: Send>(on_thread: bool, act: impl FnOnce() -> R + Send) -> R {
    if !on_thread {
        return act();
    }
    std::thread::scope(|scope| scope.spawn(act).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(out) => return out,
            Poll::Pending => park(),
        }
    }
}

/// Begins a future on a thread that then ends, polls it there once, and awaits it here.
fn of_thread<F: Future<Output: Send> + Unpin + Send>(begin: impl FnOnce() -> F + Send) -> F::Output {
    let (mut future, polled) = somewhere(true, || {
        let mut future = begin();
        let polled = pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        (future, polled)
    });
    match polled {
        Poll::Ready(out) => out,
        Poll::Pending => block_on(&mut future),
    }
}

impl Database<'_> {
    pub fn get(&mut self, family: u8, snapshot: Option<u8>, target: &Target, way: Way) -> Check {
        self.stats.keys_read += 1;
        let family = self.family_index(family);
        let (options, model) = self.view(family, snapshot);
        let (db, own) = (self.db(), &self.families[family]);
        let key = target.bytes(own.model.order, self.key_space);
        let found: Found = match way {
            Way::Here => db.get_cf(&own.handle, &options, &key),
            Way::OnThread => somewhere(true, || db.get_cf(&own.handle, &options, &key)),
            Way::Future => block_on(db.get_cf_async(&own.handle, &options, &key)),
            Way::FutureOfThread => of_thread(|| db.get_cf_async(&own.handle, &options, &key)),
            Way::Families => db.multi_get_families(&options, &[(&own.handle, &key)]).remove(0),
            Way::FamiliesFuture => block_on(db.multi_get_families_async(&options, &[(&own.handle, &key)])).remove(0),
        };
        let found = found.map_err(|error| format!("get: {error}"))?;
        same_value(&own.name, &key, found.as_deref(), &model)
    }

    pub fn multi_get(&mut self, family: u8, snapshot: Option<u8>, targets: &[Target], way: Way) -> Check {
        self.stats.keys_read += targets.len() as u64;
        let family = self.family_index(family);
        let (options, model) = self.view(family, snapshot);
        let (db, own) = (self.db(), &self.families[family]);
        let keys: Vec<Vec<u8>> = targets.iter().map(|target| target.bytes(own.model.order, self.key_space)).collect();
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let with_family: Vec<_> = borrowed.iter().map(|key| (&own.handle, *key)).collect();
        let found: Vec<Found> = match way {
            Way::Here => db.multi_get_cf(&own.handle, &options, &borrowed),
            Way::OnThread => somewhere(true, || db.multi_get_cf(&own.handle, &options, &borrowed)),
            Way::Future => block_on(db.multi_get_cf_async(&own.handle, &options, &borrowed)),
            Way::FutureOfThread => of_thread(|| db.multi_get_cf_async(&own.handle, &options, &borrowed)),
            Way::Families => db.multi_get_families(&options, &with_family),
            Way::FamiliesFuture => block_on(db.multi_get_families_async(&options, &with_family)),
        };
        if found.len() != keys.len() {
            return Err(format!("multi_get: {} answers for {} keys", found.len(), keys.len()));
        }
        for (key, found) in keys.iter().zip(found) {
            let found = found.map_err(|error| format!("multi_get: {error}"))?;
            same_value(&own.name, key, found.as_deref(), &model)?;
        }
        Ok(())
    }

    /// Compares the rows of a range that come as futures.
    pub fn scan_async(&mut self, scan: &AsyncScanOf) -> Check {
        let family = self.family_index(scan.family);
        let (mut options, model) = self.view(family, scan.snapshot);
        scan.tuning.apply(&mut options);
        let (db, own) = (self.db(), &self.families[family]);
        let bound =
            |target: &Option<Target>| target.as_ref().map(|target| target.bytes(own.model.order, self.key_space));
        (options.lower_bound, options.upper_bound) = (bound(&scan.lower), bound(&scan.upper));
        let begin = || db.scan_cf_async(&own.handle, &options).with_batch_bytes(usize::from(scan.batch_bytes));
        let rows = if scan.on_thread {
            let (scan, first) = somewhere(true, || {
                let mut scan = begin();
                let first = pin!(scan.next_batch()).poll(&mut Context::from_waker(Waker::noop()));
                (scan, first)
            });
            collect(scan, first)
        } else {
            collect(begin(), Poll::Pending)
        };
        let mut rows = rows.map_err(|error| format!("scan_async of {}: {error}", own.name))?;
        rows.retain(|(key, _)| !model.is_doomed(key));
        let expected = model.between(options.lower_bound.as_deref(), options.upper_bound.as_deref());
        self.stats.iterator_steps += rows.len() as u64;
        let rows: Vec<_> = rows.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        same_rows(&model, &rows, &expected).map_err(|error| format!("scan_async: {error}"))
    }

    /// Compares the rows of many ranges.
    pub fn multi_scan(&mut self, scan: &MultiScanOf) -> Check {
        let family = self.family_index(scan.family);
        let (mut options, model) = self.view(family, scan.snapshot);
        scan.tuning.apply(&mut options);
        let (db, own) = (self.db(), &self.families[family]);
        let bound =
            |target: &Option<Target>| target.as_ref().map(|target| target.bytes(own.model.order, self.key_space));
        // Rows that a filter has not removed yet would count.
        let limits = u64::from(model.filter == Filter::None);
        let ranges: Vec<ScanRange> = scan
            .ranges
            .iter()
            .map(|(lower, upper, limit)| ScanRange {
                lower: bound(lower),
                upper: bound(upper),
                limit: limits * u64::from(*limit),
            })
            .collect();
        let found = somewhere(scan.on_thread, || rows_of(db, &own.handle, &options, &ranges, scan))?;
        for (index, (range, rows)) in ranges.iter().zip(&found).enumerate() {
            let mut expected = model.between(range.lower.as_deref(), range.upper.as_deref());
            if scan.backward {
                expected.reverse();
            }
            if range.limit > 0 {
                expected.truncate(range.limit as usize);
            }
            let mut rows: Vec<_> = rows.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            rows.retain(|(key, _)| !model.is_doomed(key));
            same_rows(&model, &rows, &expected).map_err(|error| format!("multi_scan, range {index}: {error}"))?;
        }
        self.stats.iterator_steps += found.iter().map(|rows| rows.len() as u64).sum::<u64>();
        Ok(())
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;
type Batch = ferrock::Result<Option<ferrock::ScanBatch>>;

/// All rows of a scan, the first batch of which may have come.
fn collect(mut scan: AsyncScan, first: Poll<Batch>) -> ferrock::Result<Rows> {
    let mut rows = Rows::new();
    let mut next = first;
    loop {
        let batch = match std::mem::replace(&mut next, Poll::Pending) {
            Poll::Ready(batch) => batch?,
            Poll::Pending => block_on(scan.next_batch())?,
        };
        let Some(batch) = batch else { return Ok(rows) };
        rows.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}

fn same_rows(model: &FamilyModel, found: &[Pair<'_>], expected: &[Pair<'_>]) -> Check {
    for index in 0..found.len().max(expected.len()) {
        let (found, expected) = (found.get(index).copied(), expected.get(index).copied());
        if !model.is_same(found, expected) {
            return Err(format!("row {index}: found {}, expected {}", show_pair(found), show_pair(expected)));
        }
    }
    Ok(())
}

fn rows_of(
    db: &Db,
    family: &ColumnFamily,
    options: &ReadOptions,
    ranges: &[ScanRange],
    scan: &MultiScanOf,
) -> Result<Vec<Rows>, String> {
    let mut found = vec![Rows::new(); ranges.len()];
    let mut rows = db.multi_scan_cf(family, options, ranges).with_memory_limit(usize::from(scan.memory_bytes));
    if scan.backward {
        rows = rows.reverse();
    }
    while let Some(row) = rows.next_row() {
        let row = row.map_err(|error| format!("multi_scan: {error}"))?;
        found[row.range].push((row.key.to_vec(), row.value.to_vec()));
    }
    Ok(found)
}
