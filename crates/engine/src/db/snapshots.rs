//! Taking snapshots.

#[cfg(doc)]
use super::Db;
use super::{DbCore, write};
use crate::snapshot::Snapshot;
use ferrock_base::{Error, Result, SequenceNumber};

/// See [`Db::snapshot`].
pub(crate) fn snapshot(core: &DbCore) -> Snapshot {
    take_snapshot(core, || core.visible())
}

/// A writer that writes over values looks at the snapshots before it does, so that none may be taken meanwhile.
fn take_snapshot(core: &DbCore, sequence: impl Fn() -> SequenceNumber) -> Snapshot {
    // No catch-up comes between the number and its registration.
    let _views = core.hold_views();
    let take = || core.reads.snapshots().take(core.env.clock.unix_seconds(), &sequence);
    if core.families.load().has_in_place()
        && let Ok(snapshot) = write::exclusively(core, take)
    {
        return snapshot;
    }
    take()
}

/// See [`Db::snapshot_at`].
pub(crate) fn snapshot_at(core: &DbCore, sequence: SequenceNumber) -> Result<Snapshot> {
    let latest = core.visible();
    if sequence > latest {
        return Err(Error::invalid_argument(format!("snapshot at {sequence}: the newest sequence number is {latest}")));
    }
    Ok(take_snapshot(core, || sequence))
}
