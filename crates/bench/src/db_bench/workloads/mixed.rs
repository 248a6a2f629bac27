//! Reads and writes together.

use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use std::sync::atomic::Ordering;

impl Worker<'_> {
    fn put_random(&mut self) -> Result<()> {
        self.put_batch(1, |worker, _| worker.random_number())
    }

    pub(super) fn update_random(&mut self) -> Result<()> {
        let settings = self.shared.settings;
        let (mut updates, mut found) = (0_u64, 0_u64);
        let mut pace = self.pace(settings.reads.max(settings.writes), true);
        while pace.next(1) {
            let number = self.random_number();
            self.shared.keys.make(number, &mut self.key);
            found += u64::from(self.look_up()?);
            self.put_batch(1, |_, _| number)?;
            updates += 1;
            self.finished(1, Operation::Update);
        }
        self.stats.add_message(&format!("( updates:{updates} found:{found})"));
        Ok(())
    }

    pub(super) fn read_write(&mut self) -> Result<()> {
        let settings = self.shared.settings;
        let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
        let mut pace = self.pace(settings.reads.max(settings.writes), true);
        while pace.next(1) {
            if self.random.below(100) < settings.read_write_percent {
                let number = self.random_number();
                self.shared.keys.make(number, &mut self.key);
                found += u64::from(self.look_up()?);
                reads += 1;
                self.finished(1, Operation::Read);
            } else {
                self.put_random()?;
                writes += 1;
                self.finished(1, Operation::Write);
            }
        }
        self.stats.add_message(&format!(
            "( reads:{reads} writes:{writes} total:{} found:{found})",
            settings.reads.max(settings.writes)
        ));
        Ok(())
    }

    /// The thread after the last reader writes until the readers are done.
    pub(super) fn read_while_writing(&mut self, seeks: bool) -> Result<()> {
        if self.index < self.shared.settings.threads {
            let outcome = if seeks { self.seek_random() } else { self.read_random(false, false) };
            self.shared.readers.fetch_sub(1, Ordering::Relaxed);
            return outcome;
        }
        while self.shared.readers.load(Ordering::Relaxed) > 0 && !self.shared.stop.load(Ordering::Relaxed) {
            self.put_random()?;
            self.finished(1, Operation::Write);
        }
        Ok(())
    }
}
