//! Events that a caller can listen to.

use ferrock_base::{Error, FileNumber};

/// A flush that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushEvent {
    /// The column family.
    pub column_family: String,
    /// The table written; `None` when everything in the memtables cancelled out.
    pub file_number: Option<FileNumber>,
    /// Its size.
    pub size_bytes: u64,
}

/// A compaction that began or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionEvent {
    /// Distinguishes compactions that run at once.
    pub job_id: u64,
    /// The column family.
    pub column_family: String,
    /// First level read.
    pub start_level: usize,
    /// Level written.
    pub output_level: usize,
    /// Tables read.
    pub input_files: Vec<FileNumber>,
    /// Tables written; empty when it began.
    pub output_files: Vec<FileNumber>,
    /// The tables only changed their level.
    pub is_trivial_move: bool,
}

/// The end of a background-error state, or of the attempts to leave it.
#[derive(Clone, Debug)]
pub struct ErrorRecoveryEvent {
    /// The error for which writes were stopped.
    pub old_error: Error,
    /// The error for which they still are; `None` when they are accepted again.
    pub new_error: Option<Error>,
}

/// How writers of a column family are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WriteStallCondition {
    /// At full speed.
    #[default]
    Normal,
    /// Slowed down.
    Delayed,
    /// They wait.
    Stopped,
}

/// A column family has writers treated in another way. The most severe condition of all families holds for the writers
/// of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStallInfo {
    /// The column family.
    pub column_family: String,
    /// The condition until now.
    pub previous: WriteStallCondition,
    /// The condition from now on.
    pub current: WriteStallCondition,
}

/// Hears of what happens in the background. Called without locks held; a slow listener slows the job it listens to.
pub trait EventListener: Send + Sync {
    /// A flush ended.
    fn on_flush_completed(&self, event: &FlushEvent) {
        let _ = event;
    }
    /// A compaction is about to read its inputs.
    fn on_compaction_begin(&self, event: &CompactionEvent) {
        let _ = event;
    }
    /// A compaction was installed.
    fn on_compaction_completed(&self, event: &CompactionEvent) {
        let _ = event;
    }
    /// The database entered, or changed, its background-error state.
    fn on_background_error(&self, error: &Error) {
        let _ = error;
    }
    /// The database begins to try, without a call, to leave the background-error state.
    fn on_error_recovery_begin(&self, error: &Error) {
        let _ = error;
    }
    /// The database accepts writes again, or it stopped trying. A listener without this function has
    /// [`on_error_recovery_completed`](Self::on_error_recovery_completed) called where writes are accepted.
    fn on_error_recovery_end(&self, event: &ErrorRecoveryEvent) {
        if event.new_error.is_none() {
            self.on_error_recovery_completed();
        }
    }
    /// The database accepts writes again.
    fn on_error_recovery_completed(&self) {}
    /// Writers of a family are slowed down, stopped, or free again. Called by a thread of its own, one change after the
    /// other in the order in which they happened: a listener may write to the database, although a writer waits.
    /// Closing the database waits for what was not told yet, unless a listener closes it.
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let _ = info;
    }
}
