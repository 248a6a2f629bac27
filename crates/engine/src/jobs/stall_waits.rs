//! A flush that a caller asks for makes one more memtable wait, and then one more table in level 0: one too many, and
//! writers are slowed down or stopped. Unless its options allow that, it waits here until jobs have made room. The
//! writers go on meanwhile.
//!
//! It waits for jobs that run. When none does and none is due, waiting would not end, and the flush goes on, unlike in
//! RocksDB.

use super::{JobScheduler, StoppedBy};
use ferrock_base::{Error, ErrorKind, Result};
use std::sync::Arc;

impl JobScheduler {
    /// Waits until a flush of the family would not have writers slowed down. False when the memtable that writers
    /// filled at the time of the call was flushed meanwhile.
    ///
    /// # Errors
    /// The background error that stands while there is something to wait for, `Column family dropped`, `Shutdown in
    /// progress`, and `Incomplete` or `Aborted` of what stops the caller.
    pub(crate) fn wait_until_flush_would_not_stall(&self, id: u32, stopped_by: StoppedBy<'_>) -> Result<bool> {
        let mut is_first = true;
        let mut locked = self.lock();
        let Some(own) = locked.families.get(&id).map(|family| family.switched_count + 1) else { return Ok(true) };
        loop {
            let Some(family) = locked.families.get(&id) else {
                return Err(Error::new(
                    ErrorKind::ColumnFamilyDropped,
                    "while a flush of it waited for a stall to end",
                ));
            };
            // Not `flushed_count`: a job counts there when it ends, after its table took the memtables' place.
            if family.switched_count - family.immutable.len() as u64 >= own {
                return Ok(false);
            }
            if !family.would_flush_stall_writers() {
                return Ok(true);
            }
            let waits = is_first.then(|| Arc::clone(&family.data));
            locked.error.check()?;
            self.check_not_closing()?;
            self.check_stop(stopped_by)?;
            let may_run = locked.pauses > 0 || self.num_aborts() > 0;
            if !may_run && !locked.runs_jobs() && !locked.runs_pieces() {
                return Ok(true);
            }
            if let Some(data) = waits {
                // Lines of the LOG are written when the lock is given up, which a wait does not count as.
                drop(locked);
                self.events
                    .log()
                    .info(|| format!("[{}] a flush waits until it would not slow writers down", data.name));
                is_first = false;
                locked = self.lock();
                continue;
            }
            self.wait_or_look(&mut locked, stopped_by);
        }
    }
}
