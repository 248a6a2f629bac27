//! Look-ups and iterations. Reads are checked: values against their keys, keys against their order.

use crate::failure::Result;
use crate::settings::Settings;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{Iter, ReadOptions};

/// The most a seek benchmark's iterator is used before it is made anew: it pins what it reads.
const SEEKS_PER_ITERATOR: u64 = 10_000;

impl Worker<'_> {
    /// Looks a key up, checks what is found, counts the bytes.
    pub(super) fn look_up(&mut self) -> Result<bool> {
        let shared = self.shared;
        let key = std::mem::take(&mut self.key);
        let found = shared.db.get_with(&shared.read_options, &key);
        let outcome = match found {
            Ok(Some(value)) => {
                self.stats.add_bytes(key.len() + value.len());
                self.check(&key, &value).map(|()| true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(error.into()),
        };
        self.key = key;
        outcome
    }

    pub(super) fn read_random(&mut self, is_missing: bool, is_hot: bool) -> Result<()> {
        let settings = self.shared.settings;
        let keys = if is_missing { self.shared.keys.longer() } else { self.shared.keys };
        let range = if is_hot { settings.num.div_ceil(100) } else { settings.num };
        let (mut read, mut found) = (0_u64, 0_u64);
        let mut pace = self.pace(settings.reads, true);
        while pace.next(1) {
            let number = self.random.below(range);
            keys.make(number, &mut self.key);
            self.limit_reads(1);
            found += u64::from(self.look_up()?);
            if is_missing && found > 0 {
                return Err(self.wrong("found, and it was never written", &self.key));
            }
            read += 1;
            self.finished(1, Operation::Read);
        }
        self.stats.add_message(&format!("({found} of {read} found)"));
        Ok(())
    }

    pub(super) fn read_sequential(&mut self, is_reverse: bool) -> Result<()> {
        let settings = self.shared.settings;
        let mut iter = self.shared.db.iter(&self.shared.read_options);
        if is_reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        let mut pace = self.pace(settings.reads, false);
        let mut is_first = true;
        while iter.valid() && pace.next(1) {
            self.stats.add_bytes(iter.key().len() + iter.value().len());
            if settings.verify {
                self.check(iter.key(), iter.value())?;
                let is_ordered = if is_reverse { iter.key() < &self.key[..] } else { iter.key() > &self.key[..] };
                if !is_ordered && !is_first {
                    return Err(self.wrong("the iterator is out of order", iter.key()));
                }
                self.key.clear();
                self.key.extend_from_slice(iter.key());
            }
            is_first = false;
            if is_reverse {
                iter.prev()
            } else {
                iter.next()
            }
            self.finished(1, Operation::Read);
        }
        iter.status()?;
        Ok(())
    }

    pub(super) fn seek_random(&mut self) -> Result<()> {
        let settings = self.shared.settings;
        let (mut read, mut found) = (0_u64, 0_u64);
        let mut iter = self.shared.db.iter(&self.shared.read_options);
        let mut pace = self.pace(settings.reads, true);
        while pace.next(1) {
            self.limit_reads(1);
            let number = self.random_number();
            self.shared.keys.make(number, &mut self.key);
            // Now and then a new one, so that old versions and files can go.
            if settings.max_scan_distance > 0 {
                iter = self.shared.db.iter(&self.bounded_from(number));
            } else if read % SEEKS_PER_ITERATOR == SEEKS_PER_ITERATOR - 1 {
                iter = self.shared.db.iter(&self.shared.read_options);
            }
            iter.seek(&self.key);
            read += 1;
            found += u64::from(self.read_from(&mut iter)?);
            self.finished(1, Operation::Seek);
        }
        self.stats.add_message(&format!("({found} of {read} found)"));
        Ok(())
    }

    /// Options of a scan from the key of `number` that ends `max_scan_distance` keys on.
    fn bounded_from(&self, number: u64) -> ReadOptions {
        let Settings { max_scan_distance: distance, reverse_iterator, num, .. } = *self.shared.settings;
        let mut bound = Vec::new();
        let last = if reverse_iterator { number.saturating_sub(distance) } else { num.min(number + distance) };
        self.shared.keys.make(last, &mut bound);
        let mut options = self.shared.read_options.clone();
        *if reverse_iterator { &mut options.lower_bound } else { &mut options.upper_bound } = Some(bound);
        options
    }

    /// Reads where a seek to `self.key` came to, and the steps from there. True when the key itself was met.
    fn read_from(&mut self, iter: &mut Iter) -> Result<bool> {
        let settings = self.shared.settings;
        let is_found = iter.valid() && iter.key() == &self.key[..];
        if settings.verify && iter.valid() && iter.key() < &self.key[..] {
            return Err(self.wrong("a seek went to a smaller key", iter.key()));
        }
        for _ in 0..settings.seek_nexts {
            if !iter.valid() {
                break;
            }
            self.stats.add_bytes(iter.key().len() + iter.value().len());
            self.check(iter.key(), iter.value())?;
            if settings.reverse_iterator { iter.prev() } else { iter.next() }
        }
        if iter.valid() && settings.seek_nexts == 0 {
            self.stats.add_bytes(iter.key().len() + iter.value().len());
            self.check(iter.key(), iter.value())?;
        }
        iter.status()?;
        Ok(is_found)
    }

    pub(super) fn multi_read_random(&mut self) -> Result<()> {
        let settings = self.shared.settings;
        let size = settings.batch_size;
        let mut keys: Vec<Vec<u8>> = (0..size).map(|_| Vec::new()).collect();
        let (mut read, mut found) = (0_u64, 0_u64);
        let family = self.shared.db.default_column_family()?;
        let mut pace = self.pace(settings.reads, true);
        while pace.next(size) {
            for key in &mut keys {
                let number = self.random_number();
                self.shared.keys.make(number, key);
            }
            self.limit_reads(size);
            let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let values = self.shared.db.multi_get_cf(&family, &self.shared.read_options, &slices);
            if values.len() != slices.len() {
                return Err(self.wrong("a batch of look-ups has not one answer for each key", slices[0]));
            }
            for (key, value) in slices.iter().zip(values) {
                if let Some(value) = value? {
                    self.stats.add_bytes(key.len() + value.len());
                    self.check(key, &value)?;
                    found += 1;
                }
            }
            read += size;
            self.finished(size, Operation::Read);
        }
        self.stats.add_message(&format!("({found} of {read} found)"));
        Ok(())
    }

    pub(super) fn new_iterator(&mut self) -> Result<()> {
        let mut pace = self.pace(self.shared.settings.reads, true);
        while pace.next(1) {
            self.shared.db.iter(&self.shared.read_options).status()?;
            self.finished(1, Operation::Other);
        }
        Ok(())
    }
}
