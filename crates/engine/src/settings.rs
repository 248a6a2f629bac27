//! What an open database was given: its options as they are now, the environment that it runs in, its identity.

use crate::family_texts::FamilyTexts;
use crate::option_notes::OptionNotes;
use crate::options::DbOptions;
use arc_swap::{ArcSwap, Guard};
use ferrock_base::clock::{Alarm, Clock};
use ferrock_base::thread::Spawner;
use ferrock_options::CountedPool;
use ferrock_vfs::FileSystem;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// What the newest OPTIONS file lacks.
#[derive(Debug, Default)]
pub(crate) struct OptionsFileState {
    /// Families that came or went since.
    pub(crate) family_changes: usize,
    /// A thread writes a file for them after a while.
    pub(crate) is_thread_waiting: bool,
    /// What was written of families.
    pub(crate) texts: FamilyTexts,
}

/// The options of the database, and what there is to say about them.
pub(crate) struct LiveOptions {
    current: ArcSwap<DbOptions>,
    notes: OptionNotes,
    /// Held while an OPTIONS file is put together and written: the newest file has the newest options.
    file: Mutex<OptionsFileState>,
    /// Rings when what waits for a file is not to wait longer.
    file_alarm: Arc<Alarm>,
}

impl LiveOptions {
    /// The options of an open, and what opening noted about them.
    pub(crate) fn new(options: DbOptions, notes: Vec<String>) -> Self {
        Self {
            current: ArcSwap::from_pointee(options),
            notes: OptionNotes::new(notes),
            file: Mutex::default(),
            file_alarm: Arc::default(),
        }
    }

    /// The options as they are now, for a moment.
    #[inline]
    pub(crate) fn load(&self) -> Guard<Arc<DbOptions>> {
        self.current.load()
    }

    /// The options as they are now, to keep.
    pub(crate) fn load_full(&self) -> Arc<DbOptions> {
        self.current.load_full()
    }

    /// Replaces the options.
    pub(crate) fn store(&self, options: Arc<DbOptions>) {
        self.current.store(options);
    }

    /// Settings that do not do what was asked for.
    pub(crate) fn notes(&self) -> &OptionNotes {
        &self.notes
    }

    /// The turn to write an OPTIONS file, of whatever the options are then.
    pub(crate) fn begin_file(&self) -> MutexGuard<'_, OptionsFileState> {
        self.file.lock()
    }

    /// Ends the wait of what waits to be written into an OPTIONS file.
    pub(crate) fn file_alarm(&self) -> &Arc<Alarm> {
        &self.file_alarm
    }
}

/// Where files, time and threads come from.
pub(crate) struct Environment {
    pub(crate) file_system: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawner: Arc<dyn Spawner>,
    /// Counts the file system's buffers of reads in the memory budget, where there is one, by being there.
    pub(crate) _counted_reads: Option<Arc<CountedPool>>,
}

/// Names that stand in files: of the database, and of this time that it is open.
pub(crate) struct Identity {
    /// As in the file IDENTITY.
    pub(crate) db_id: String,
    /// Part of the unique ids of the tables that are written.
    pub(crate) session_id: String,
}
