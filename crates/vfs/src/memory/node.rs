//! The bytes of one file, and which changes of them would survive a crash.
//!
//! ```text
//! data     [..................|..............................]   what readers see
//! durable  [..................]                                  what the last sync left
//! pending                      Append Append Truncate Append     what a crash may keep in part
//! ```
//!
//! As long as a file only grew since its last sync, the durable image is a prefix of `data` and takes no memory of its
//! own; cutting into it first saves a copy.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

/// A change of bytes that a crash may undo.
#[derive(Clone, Debug)]
pub(super) enum DataChange {
    /// Bytes added at an offset: a range of `data`, or a copy once `data` was cut.
    Append { offset: u64, bytes: Appended },
    /// The size was set.
    Truncate(u64),
}

#[derive(Clone, Debug)]
pub(super) enum Appended {
    InData(Range<usize>),
    Copy(Arc<[u8]>),
}

#[derive(Clone, Debug)]
enum Durable {
    Prefix(usize),
    Image(Arc<Vec<u8>>),
}

impl Default for Durable {
    fn default() -> Self {
        Self::Prefix(0)
    }
}

#[derive(Debug, Default)]
struct FileState {
    /// False: every change is durable at once, and nothing of it is remembered.
    records: bool,
    data: Arc<Vec<u8>>,
    durable: Durable,
    pending: Vec<DataChange>,
    modified_unix_seconds: u64,
    locked: bool,
}

#[derive(Debug, Default)]
pub(super) struct FileNode(Mutex<FileState>);

/// The state of a file for a crash policy.
pub(super) struct CrashView {
    pub(super) data: Arc<Vec<u8>>,
    pub(super) durable: Arc<Vec<u8>>,
    pub(super) pending: Vec<DataChange>,
}

impl CrashView {
    /// The bytes of an append.
    pub(super) fn bytes<'v>(&'v self, appended: &'v Appended) -> &'v [u8] {
        match appended {
            Appended::InData(range) => &self.data[range.clone()],
            Appended::Copy(bytes) => bytes,
        }
    }
}

impl FileNode {
    /// An empty file, which records what was not synced, or does not.
    pub(super) fn new(records: bool) -> Self {
        Self(Mutex::new(FileState { records, ..FileState::default() }))
    }

    /// A file whose contents are durable.
    pub(super) fn durable(data: Arc<Vec<u8>>, modified_unix_seconds: u64) -> Self {
        let durable = Durable::Prefix(data.len());
        Self(Mutex::new(FileState { records: true, data, durable, modified_unix_seconds, ..FileState::default() }))
    }

    pub(super) fn size(&self) -> u64 {
        self.0.lock().data.len() as u64
    }

    /// A snapshot of the bytes; later changes do not affect it.
    pub(super) fn data(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.0.lock().data)
    }

    pub(super) fn modified_unix_seconds(&self) -> u64 {
        self.0.lock().modified_unix_seconds
    }

    pub(super) fn touch(&self, unix_seconds: u64) {
        self.0.lock().modified_unix_seconds = unix_seconds;
    }

    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let state = self.0.lock();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let available = state.data.get(start..).unwrap_or_default();
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        read
    }

    pub(super) fn append(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        let start = state.data.len();
        Arc::make_mut(&mut state.data).extend_from_slice(bytes);
        if !state.records {
            return;
        }
        let bytes = Appended::InData(start..state.data.len());
        state.pending.push(DataChange::Append { offset: start as u64, bytes });
    }

    pub(super) fn truncate(&self, length_bytes: u64) {
        let mut state = self.0.lock();
        if length_bytes == state.data.len() as u64 {
            return;
        }
        let state = &mut *state;
        let length = usize::try_from(length_bytes).unwrap_or(usize::MAX);
        if !state.records {
            Arc::make_mut(&mut state.data).resize(length, 0);
            return;
        }
        let data = Arc::clone(&state.data);
        if let Durable::Prefix(length) = state.durable {
            state.durable = Durable::Image(Arc::new(data[..length].to_vec()));
        }
        for change in &mut state.pending {
            if let DataChange::Append { bytes, .. } = change
                && let Appended::InData(range) = bytes
            {
                *bytes = Appended::Copy(data[range.clone()].into());
            }
        }
        drop(data);
        Arc::make_mut(&mut state.data).resize(length, 0);
        state.pending.push(DataChange::Truncate(length_bytes));
    }

    /// Gives back the room that appends kept for more of them, unless the bytes are shared with a reader.
    pub(super) fn trim(&self) {
        if let Some(data) = Arc::get_mut(&mut self.0.lock().data) {
            data.shrink_to_fit();
        }
    }

    pub(super) fn sync(&self) {
        let mut state = self.0.lock();
        state.durable = Durable::Prefix(state.data.len());
        state.pending.clear();
    }

    /// Takes the advisory lock; false when it is held.
    pub(super) fn lock(&self) -> bool {
        !std::mem::replace(&mut self.0.lock().locked, true)
    }

    pub(super) fn unlock(&self) {
        self.0.lock().locked = false;
    }

    pub(super) fn crash_view(&self) -> CrashView {
        let state = self.0.lock();
        let durable = match &state.durable {
            Durable::Prefix(length) if *length == state.data.len() => Arc::clone(&state.data),
            Durable::Prefix(length) => Arc::new(state.data[..*length].to_vec()),
            Durable::Image(image) => Arc::clone(image),
        };
        CrashView { data: Arc::clone(&state.data), durable, pending: state.pending.clone() }
    }
}
