//! Holds: as long as there is one, no file that was ever part of the database is removed.
//!
//! ```text
//! begin_hold ---> waits for the removal of a file that runs ---> copies, links, listings ---> end_hold
//!
//! clean-up, retired log, orphaned blob file ---> begin_removal: a turn   (no hold)  ---> removed
//!                                                            \--> none   (a hold)   ---> stays, and is owed
//! ```
//!
//! Invariants:
//! - Once `begin_hold` has returned, no file is removed until the last hold ends; what would have gone is owed, and a
//!   clean-up behind the last hold takes it.
//! - Unfinished files of failed jobs go all the same: no Version ever had them.
//! - Two kinds are counted apart: those that a program ends by calls, and those of a [`FileHold`](crate::FileHold),
//!   which end as it is dropped. So no call ends the hold of a copy that runs in another thread.
//!
//! A lock for readers and writers in place of the counts was tried and lost: a clean-up that waits for a copy of hours
//! keeps a thread, and closing waits for it.

use super::FileRegistry;
use ferrock_base::FileNumber;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The part of the registry's state that is about holds.
#[derive(Debug, Default)]
pub(super) struct HoldState {
    /// Those that end as they are dropped.
    holds: usize,
    /// Those that calls began and have not ended.
    disables: usize,
    /// Files that are being removed now.
    removals: usize,
    /// A file stayed because of a hold.
    is_owed: bool,
    /// Blob files that stayed, which no clean-up finds: nothing refers to them, and they have no footer.
    orphans: Vec<(PathBuf, FileNumber)>,
}

impl HoldState {
    fn is_held(&self) -> bool {
        self.holds + self.disables > 0
    }

    /// What is owed when the last hold has ended.
    fn take_owed(&mut self) -> Option<Owed> {
        if self.is_held() || !std::mem::take(&mut self.is_owed) {
            return None;
        }
        Some(Owed { orphans: std::mem::take(&mut self.orphans) })
    }
}

/// What stayed because of holds that are over.
#[must_use]
pub(crate) struct Owed {
    orphans: Vec<(PathBuf, FileNumber)>,
}

/// The removal of one file. It is over when this is dropped.
pub(super) struct RemovalTurn<'a>(&'a FileRegistry);

impl Drop for RemovalTurn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().holds.removals -= 1;
        self.0.ended.notify_all();
    }
}

impl FileRegistry {
    /// A turn to remove a file; `None` when it has to stay. The caller tells the registry of its name, so that the
    /// clean-up behind the last hold finds it.
    pub(super) fn begin_removal(&self) -> Option<RemovalTurn<'_>> {
        self.begin_removal_or(|_| ())
    }

    /// A turn to remove a blob file that nothing refers to, and that no clean-up finds; `None` when it has to stay
    /// until the last hold ends.
    pub(super) fn begin_orphan_removal(&self, directory: &Path, number: FileNumber) -> Option<RemovalTurn<'_>> {
        self.begin_removal_or(|holds| holds.orphans.push((directory.to_path_buf(), number)))
    }

    fn begin_removal_or(&self, note: impl FnOnce(&mut HoldState)) -> Option<RemovalTurn<'_>> {
        let mut state = self.state.lock();
        if state.holds.is_held() {
            state.holds.is_owed = true;
            note(&mut state.holds);
            return None;
        }
        state.holds.removals += 1;
        Some(RemovalTurn(self))
    }

    /// True when files may be removed.
    pub(crate) fn are_removals_enabled(&self) -> bool {
        !self.state.lock().holds.is_held()
    }

    /// Begins a hold that [`end_hold`](Self::end_hold) ends.
    pub(crate) fn begin_hold(&self) {
        self.begin(|holds| holds.holds += 1);
    }

    /// Begins a hold of a call.
    pub(crate) fn disable_removals(&self) {
        self.begin(|holds| holds.disables += 1);
    }

    /// Ends a hold of a call; nothing without one.
    pub(crate) fn enable_removals(&self) -> Option<Owed> {
        let mut state = self.state.lock();
        state.holds.disables = state.holds.disables.saturating_sub(1);
        state.holds.take_owed()
    }

    fn begin(&self, count: impl FnOnce(&mut HoldState)) {
        let mut state = self.state.lock();
        count(&mut state.holds);
        while state.holds.removals > 0 {
            self.ended.wait(&mut state);
        }
    }

    /// Ends a hold.
    pub(crate) fn end_hold(&self) -> Option<Owed> {
        let mut state = self.state.lock();
        state.holds.holds -= 1;
        state.holds.take_owed()
    }

    /// Removes the blob files that no clean-up finds, and makes the next clean-up one that is not passed over.
    pub(crate) fn settle(&self, owed: Owed) {
        for (directory, number) in owed.orphans {
            self.remove_orphan(&directory, number);
        }
        self.has_zombies.store(true, Ordering::SeqCst);
    }
}
