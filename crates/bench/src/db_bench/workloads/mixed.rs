//! Reads and writes together.

use super::{read, write};
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use std::sync::atomic::Ordering;

fn put_random(worker: &mut Worker<'_>) -> Result<()> {
    write::put_batch(worker, 1, |worker, _| worker.random_number())
}

pub(super) fn update_random(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut updates, mut found) = (0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        let number = worker.random_number();
        worker.shared.keys.make(number, &mut worker.key);
        found += u64::from(read::look_up(worker)?);
        write::put_batch(worker, 1, |_, _| number)?;
        updates += 1;
        worker.finished(1, Operation::Update);
    }
    worker.stats.add_message(&format!("( updates:{updates} found:{found})"));
    Ok(())
}

pub(super) fn read_write(worker: &mut Worker<'_>) -> Result<()> {
    let settings = worker.shared.settings;
    let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
    let mut pace = worker.pace(settings.reads.max(settings.writes), true);
    while pace.next(1) {
        if worker.random.below(100) < settings.read_write_percent {
            let number = worker.random_number();
            worker.shared.keys.make(number, &mut worker.key);
            found += u64::from(read::look_up(worker)?);
            reads += 1;
            worker.finished(1, Operation::Read);
        } else {
            put_random(worker)?;
            writes += 1;
            worker.finished(1, Operation::Write);
        }
    }
    worker.stats.add_message(&format!(
        "( reads:{reads} writes:{writes} total:{} found:{found})",
        settings.reads.max(settings.writes)
    ));
    Ok(())
}

/// The thread after the last reader writes until the readers are done.
pub(super) fn read_while_writing(worker: &mut Worker<'_>, seeks: bool) -> Result<()> {
    if worker.index < worker.shared.settings.threads {
        let outcome = if seeks { read::seek_random(worker) } else { read::read_random(worker, false, false) };
        worker.shared.readers.fetch_sub(1, Ordering::Relaxed);
        return outcome;
    }
    while worker.shared.readers.load(Ordering::Relaxed) > 0 && !worker.shared.stop.load(Ordering::Relaxed) {
        put_random(worker)?;
        worker.finished(1, Operation::Write);
    }
    Ok(())
}
