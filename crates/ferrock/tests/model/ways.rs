//! The ways to read that are not an iterator's: single keys, many keys, futures, scans of many ranges.
//!
//! A read that is begun by a thread may outlive it. `OnThread` and `FutureOfThread` have threads that end at once.

use crate::database::{Check, Database, Pace};
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
        let found = look_up(db, &own.handle, &options, &key, way);
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
        let found = look_up_many(db, &own.handle, &options, &borrowed, way);
        if found.len() != keys.len() {
            return Err(format!("multi_get: {} answers for {} keys", found.len(), keys.len()));
        }
        for (key, found) in keys.iter().zip(found) {
            let found = found.map_err(|error| format!("multi_get: {error}"))?;
            same_value(&own.name, key, found.as_deref(), &model)?;
        }
        Ok(())
    }

    /// Looks keys up in every way: whichever it is, as many of them come to tables. How tables are written follows
    /// these counts.
    pub fn count_lookups(&mut self, family: u8, snapshot: Option<u8>, targets: &[Target]) -> Check {
        if self.pace == Pace::Busy {
            // A flush between two ways brings keys into tables.
            return Ok(());
        }
        let family = self.family_index(family);
        let (options, model) = self.view(family, snapshot);
        let (db, own) = (self.db(), &self.families[family]);
        let mut keys: Vec<Vec<u8>> =
            targets.iter().map(|target| target.bytes(own.model.order, self.key_space)).collect();
        // A batch looks a key up once.
        keys.sort_by(|a, b| model.order.compare(a, b));
        keys.dedup_by(|a, b| model.order.compare(a, b).is_eq());
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut expected = None;
        for way in [Way::Here, Way::Future, Way::Families, Way::FamiliesFuture] {
            for is_batch in [false, true] {
                let before = lookups_of(db, &own.handle)?;
                let found: Vec<Found> = if is_batch {
                    look_up_many(db, &own.handle, &options, &borrowed, way)
                } else {
                    keys.iter().map(|key| look_up(db, &own.handle, &options, key, way)).collect()
                };
                for (key, found) in keys.iter().zip(found) {
                    let found = found.map_err(|error| format!("{way:?}, in a batch: {is_batch}: {error}"))?;
                    same_value(&own.name, key, found.as_deref(), &model)?;
                }
                let counted = lookups_of(db, &own.handle)? - before;
                let expected = *expected.get_or_insert(counted);
                if counted != expected {
                    let how = format!("{way:?}, in a batch: {is_batch}");
                    return Err(format!("{how}: {counted} of {} lookups count, {expected} by get", keys.len()));
                }
            }
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

fn look_up(db: &Db, family: &ColumnFamily, options: &ReadOptions, key: &[u8], way: Way) -> Found {
    match way {
        Way::Here => db.get_cf(family, options, key),
        Way::OnThread => somewhere(true, || db.get_cf(family, options, key)),
        Way::Future => block_on(db.get_cf_async(family, options, key)),
        Way::FutureOfThread => of_thread(|| db.get_cf_async(family, options, key)),
        Way::Families => db.multi_get_families(options, &[(family, key)]).remove(0),
        Way::FamiliesFuture => block_on(db.multi_get_families_async(options, &[(family, key)])).remove(0),
    }
}

fn look_up_many(db: &Db, family: &ColumnFamily, options: &ReadOptions, keys: &[&[u8]], way: Way) -> Vec<Found> {
    let with_family: Vec<_> = keys.iter().map(|key| (family, *key)).collect();
    match way {
        Way::Here => db.multi_get_cf(family, options, keys),
        Way::OnThread => somewhere(true, || db.multi_get_cf(family, options, keys)),
        Way::Future => block_on(db.multi_get_cf_async(family, options, keys)),
        Way::FutureOfThread => of_thread(|| db.multi_get_cf_async(family, options, keys)),
        Way::Families => db.multi_get_families(options, &with_family),
        Way::FamiliesFuture => block_on(db.multi_get_families_async(options, &with_family)),
    }
}

/// Lookups that the family counted so far.
fn lookups_of(db: &Db, family: &ColumnFamily) -> Result<u64, String> {
    let reads = db.property_cf(family, "ferrock.reads").unwrap_or_default();
    let lookups = reads.lines().find_map(|line| line.trim().strip_prefix("lookups: ")?.strip_suffix(',')?.parse().ok());
    lookups.ok_or_else(|| format!("no lookups in {reads:?}"))
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
