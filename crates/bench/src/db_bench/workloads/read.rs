//! Look-ups and iterations. Reads are checked: values against their keys, keys against their order.

use crate::failure::Result;
use crate::settings::Settings;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{Iter, ReadOptions};
use ferrock_base::checksum::ChecksumType;

/// The most a seek benchmark's iterator is used before it is made anew: it pins what it reads.
const SEEKS_PER_ITERATOR: u64 = 10_000;

/// Looks a key up, checks what is found, counts the bytes.
pub(super) fn look_up(worker: &mut Worker<'_>) -> Result<bool> {
    let shared = worker.shared;
    let key = std::mem::take(&mut worker.key);
    let found = shared.db.get_with(&shared.read_options, &key);
    let outcome = match found {
        Ok(Some(value)) => {
            worker.stats.add_bytes(key.len() + value.len());
            worker.check(&key, &value).map(|()| true)
        }
        Ok(None) => Ok(false),
        Err(error) => Err(error.into()),
    };
    worker.key = key;
    outcome
}

pub(super) fn read_random(worker: &mut Worker<'_>, is_missing: bool, is_hot: bool) -> Result<()> {
    let settings = worker.shared.settings;
    let keys = if is_missing { worker.shared.keys.longer() } else { worker.shared.keys };
    let range = if is_hot { settings.num.div_ceil(100) } else { settings.num };
    let (mut read, mut found) = (0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads, true);
    while pace.next(1) {
        let number = worker.random.below(range);
        keys.make(number, &mut worker.key);
        worker.limit_reads(1);
        found += u64::from(look_up(worker)?);
        if is_missing && found > 0 {
            return Err(worker.wrong("found, and it was never written", &worker.key));
        }
        read += 1;
        worker.finished(1, Operation::Read);
    }
    worker.stats.add_message(&format!("({found} of {read} found)"));
    Ok(())
}

pub(super) fn read_sequential(worker: &mut Worker<'_>, is_reverse: bool) -> Result<()> {
    let settings = worker.shared.settings;
    let mut iter = worker.shared.db.iter(&worker.shared.read_options);
    if is_reverse {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    let mut pace = worker.pace(settings.reads, false);
    let mut is_first = true;
    while iter.valid() && pace.next(1) {
        worker.stats.add_bytes(iter.key().len() + iter.value().len());
        if settings.verify {
            worker.check(iter.key(), iter.value())?;
            let is_ordered = if is_reverse { iter.key() < &worker.key[..] } else { iter.key() > &worker.key[..] };
            if !is_ordered && !is_first {
                return Err(worker.wrong("the iterator is out of order", iter.key()));
            }
            worker.key.clear();
            worker.key.extend_from_slice(iter.key());
        }
        is_first = false;
        if is_reverse {
            iter.prev()
        } else {
            iter.next()
        }
        worker.finished(1, Operation::Read);
    }
    iter.status()?;
    Ok(())
}

pub(super) fn seek_random(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut read, mut found) = (0_u64, 0_u64);
    let mut iter = worker.shared.db.iter(&worker.shared.read_options);
    let mut pace = worker.pace(settings.reads, true);
    while pace.next(1) {
        worker.limit_reads(1);
        let number = worker.random_number();
        worker.shared.keys.make(number, &mut worker.key);
        // Now and then a new one, so that old versions and files can go.
        if settings.max_scan_distance > 0 {
            iter = worker.shared.db.iter(&bounded_from(worker, number));
        } else if read % SEEKS_PER_ITERATOR == SEEKS_PER_ITERATOR - 1 {
            iter = worker.shared.db.iter(&worker.shared.read_options);
        }
        iter.seek(&worker.key);
        read += 1;
        found += u64::from(read_from(worker, &mut iter)?);
        worker.finished(1, Operation::Seek);
    }
    worker.stats.add_message(&format!("({found} of {read} found)"));
    Ok(())
}

/// Options of a scan from the key of `number` that ends `max_scan_distance` keys on.
fn bounded_from(worker: &Worker<'_>, number: u64) -> ReadOptions {
    let Settings { max_scan_distance: distance, reverse_iterator, num, .. } = *worker.shared.settings;
    let mut bound = Vec::new();
    let last = if reverse_iterator { number.saturating_sub(distance) } else { num.min(number + distance) };
    worker.shared.keys.make(last, &mut bound);
    let mut options = worker.shared.read_options.clone();
    let end = if reverse_iterator { &mut options.lower_bound } else { &mut options.upper_bound };
    *end = Some(bound);
    options
}

/// Reads where a seek to `worker.key` came to, and the steps from there. True when the key itself was met.
fn read_from(worker: &mut Worker<'_>, iter: &mut Iter) -> Result<bool> {
    let settings = worker.shared.settings;
    let is_found = iter.valid() && iter.key() == &worker.key[..];
    if settings.verify && iter.valid() && iter.key() < &worker.key[..] {
        return Err(worker.wrong("a seek went to a smaller key", iter.key()));
    }
    for _ in 0..settings.seek_nexts {
        if !iter.valid() {
            break;
        }
        worker.stats.add_bytes(iter.key().len() + iter.value().len());
        worker.check(iter.key(), iter.value())?;
        if settings.reverse_iterator { iter.prev() } else { iter.next() }
    }
    if iter.valid() && settings.seek_nexts == 0 {
        worker.stats.add_bytes(iter.key().len() + iter.value().len());
        worker.check(iter.key(), iter.value())?;
    }
    iter.status()?;
    Ok(is_found)
}

pub(super) fn multi_read_random(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let size = settings.batch_size;
    let mut keys: Vec<Vec<u8>> = (0..size).map(|_| Vec::new()).collect();
    let (mut read, mut found) = (0_u64, 0_u64);
    let family = worker.shared.db.default_column_family()?;
    let mut pace = worker.pace(settings.reads, true);
    while pace.next(size) {
        for key in &mut keys {
            let number = worker.random_number();
            worker.shared.keys.make(number, key);
        }
        worker.limit_reads(size);
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let values = worker.shared.db.multi_get_cf(&family, &worker.shared.read_options, &slices);
        if values.len() != slices.len() {
            return Err(worker.wrong("a batch of look-ups has not one answer for each key", slices[0]));
        }
        for (key, value) in slices.iter().zip(values) {
            if let Some(value) = value? {
                worker.stats.add_bytes(key.len() + value.len());
                worker.check(key, &value)?;
                found += 1;
            }
        }
        read += size;
        worker.finished(size, Operation::Read);
    }
    worker.stats.add_message(&format!("({found} of {read} found)"));
    Ok(())
}

pub(super) fn new_iterator(worker: &mut Worker<'_>) -> Result<()> {
    let mut pace = worker.pace(worker.shared.settings.reads, true);
    while pace.next(1) {
        worker.shared.db.iter(&worker.shared.read_options).status()?;
        worker.finished(1, Operation::Other);
    }
    Ok(())
}

pub(super) fn read_to_cache(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut read, mut found) = (0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads, false);
    while pace.next(1) {
        worker.shared.keys.make(read % settings.num, &mut worker.key);
        found += u64::from(look_up(worker)?);
        read += 1;
        worker.finished(1, Operation::Read);
    }
    worker.stats.add_message(&format!("({found} of {read} found)"));
    Ok(())
}

pub(super) fn approximate_sizes(worker: &mut Worker<'_>) -> Result<()> {
    let shared = worker.shared;
    let family = shared.db.default_column_family()?;
    let (mut asked, mut bytes) = (0_u64, 0_u64);
    let mut pace = worker.pace(shared.settings.reads, true);
    while pace.next(1) {
        let (a, b) = (worker.random_number(), worker.random_number());
        shared.keys.make(a.min(b), &mut worker.key);
        shared.keys.make(a.max(b), &mut worker.value);
        bytes += shared.db.approximate_sizes(&family, &[(&worker.key, &worker.value)])?.iter().sum::<u64>();
        asked += 1;
        worker.finished(1, Operation::Other);
    }
    worker.stats.add_message(&format!("(on average {} bytes)", bytes / asked.max(1)));
    Ok(())
}

/// Bytes of a block, and how many each thread sums up: as RocksDB's program.
const SUMMED_BLOCK_BYTES: usize = 4096;
const SUMMED_BYTES: u64 = 500 << 20;

pub(super) fn checksum(worker: &mut Worker<'_>, kind: ChecksumType) -> Result<()> {
    let block = vec![b'x'; SUMMED_BLOCK_BYTES];
    let mut sum = 0;
    let mut pace = worker.pace(SUMMED_BYTES / SUMMED_BLOCK_BYTES as u64, true);
    while pace.next(1) {
        sum ^= kind.checksum(std::hint::black_box(&block));
        worker.stats.add_bytes(SUMMED_BLOCK_BYTES);
        worker.finished(1, Operation::Other);
    }
    std::hint::black_box(sum);
    worker.stats.add_message(&format!("({SUMMED_BLOCK_BYTES} bytes each)"));
    Ok(())
}
