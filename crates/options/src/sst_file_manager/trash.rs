//! Trash: files under a name of their own that one thread removes at a rate.
//!
//! What was removed must be paid for before more is: after `n` bytes the thread waits `n / rate` seconds. A large file
//! with one name alone is cut from its end, a chunk at a time, so that the device is not busy with one removal. Trash
//! that cannot be removed is given up, and left to the next open of its directory.

use super::{RemovalPlace, Shared, State};
use ferrock_base::clock::Clock;
use ferrock_base::{Error, Result};
use ferrock_format::file_name;
use ferrock_statistics::Ticker;
use parking_lot::MutexGuard;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A file that is to be removed.
#[derive(Clone)]
pub(super) struct Trash {
    path: PathBuf,
    place: Arc<RemovalPlace>,
    /// Bytes that are left of it.
    bytes: u64,
}

/// So many reasons are kept.
const MOST_ERRORS: usize = 100;

impl Shared {
    /// Gives the file its new name and puts it into the queue.
    pub(super) fn make_trash(self: &Arc<Self>, place: &Arc<RemovalPlace>, path: &Path) -> Result<()> {
        let bytes = place.file_system.file_size(path)?;
        let is_trash = path.file_name().is_some_and(|name| file_name::is_trash(&name.to_string_lossy()));
        let renamed = if is_trash { path.to_path_buf() } else { rename(place, path)? };
        let mut state = self.state.lock();
        // What was trash when its directory was opened has not been counted before.
        match state.take(path) {
            Some(counted) => state.add(renamed.clone(), counted),
            None if is_trash => state.add(renamed.clone(), bytes),
            None => {}
        }
        state.trash_bytes = state.trash_bytes.saturating_add(bytes);
        state.trash.push_back(Trash { path: renamed, place: Arc::clone(place), bytes });
        place.count(Ticker::FilesMarkedTrash);
        self.start_thread(state, place);
        Ok(())
    }

    /// Without a thread to be had the trash waits for the next file.
    fn start_thread(self: &Arc<Self>, mut state: MutexGuard<'_, State>, place: &RemovalPlace) {
        if state.has_thread || state.is_closing {
            return;
        }
        state.has_thread = true;
        drop(state);
        let (shared, clock) = (Arc::clone(self), Arc::clone(&place.clock));
        if place.spawner.spawn("ferrock:trash", Box::new(move || shared.empty_trash(&*clock))).is_err() {
            self.state.lock().has_thread = false;
        }
    }

    /// The body of the thread.
    fn empty_trash(&self, clock: &dyn Clock) {
        loop {
            self.alarm.arm();
            let mut state = self.state.lock();
            let next = if state.is_closing { None } else { state.trash.front().cloned() };
            let Some(next) = next else {
                state.has_thread = false;
                self.emptied.notify_all();
                return;
            };
            let wait_us = if state.delete_rate > 0 { state.due_us.saturating_sub(clock.monotonic_us()) } else { 0 };
            drop(state);
            if wait_us > 0 {
                clock.sleep_unless(&self.alarm, Duration::from_micros(wait_us));
                continue;
            }
            let outcome = self.remove_part(&next);
            self.note(&next, outcome, clock.monotonic_us());
        }
    }

    /// Removes the file or its last chunk; the bytes that are left.
    fn remove_part(&self, trash: &Trash) -> Result<u64> {
        let (file_system, chunk) = (&trash.place.file_system, self.bytes_max_delete_chunk);
        let bytes = file_system.file_size(&trash.path)?;
        if chunk > 0 && bytes > chunk && trash.place.may_cut {
            // A second name is a copy, as of a checkpoint, that must stay whole.
            let is_only_name = file_system.link_count(&trash.path).is_ok_and(|links| links == 1);
            if is_only_name && file_system.truncate(&trash.path, bytes - chunk).is_ok() {
                return Ok(bytes - chunk);
            }
        }
        file_system.remove_file(&trash.path).map(|()| 0)
    }

    /// Counts what was removed of the first file of the queue, and what must be waited for it.
    fn note(&self, trash: &Trash, outcome: Result<u64>, now_us: u64) {
        let mut state = self.state.lock();
        let left = match &outcome {
            Ok(left) => *left,
            Err(_) => 0,
        };
        let removed = trash.bytes.saturating_sub(left);
        state.trash_bytes = state.trash_bytes.saturating_sub(removed);
        match outcome {
            Ok(0) => {
                trash.place.count(Ticker::FilesDeletedFromTrashQueue);
                state.take(&trash.path);
            }
            Ok(left) => {
                if state.files.get(&trash.path).is_some_and(|counted| *counted > left) {
                    state.add(trash.path.clone(), left);
                }
            }
            Err(error) if error.is_not_found() => drop(state.take(&trash.path)),
            Err(error) => state.note_error(&trash.path, error),
        }
        if left > 0 {
            if let Some(first) = state.trash.front_mut() {
                first.bytes = left;
            }
        } else {
            state.trash.pop_front();
        }
        if let Ok(rate) = u128::try_from(state.delete_rate)
            && rate > 0
        {
            let cost_us = u64::try_from(u128::from(removed) * 1_000_000 / rate).unwrap_or(u64::MAX);
            state.due_us = state.due_us.max(now_us).saturating_add(cost_us);
        }
        if state.trash.is_empty() {
            self.emptied.notify_all();
        }
        drop(state);
        self.tell_observers();
    }
}

impl State {
    fn note_error(&mut self, path: &Path, error: Error) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.insert(path.to_path_buf(), error);
        }
    }
}

/// A new name for a file: one that no other trash has. No two threads remove one file.
fn rename(place: &RemovalPlace, path: &Path) -> Result<PathBuf> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut attempt = None;
    loop {
        let renamed = path.with_file_name(file_name::trash(&name, attempt));
        if !place.file_system.exists(&renamed)? {
            place.file_system.rename(path, &renamed)?;
            return Ok(renamed);
        }
        attempt = Some(attempt.map_or(0_u64, |attempt| attempt + 1));
    }
}
