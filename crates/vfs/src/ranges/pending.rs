//! Reads that were started and are waited for later.

use std::sync::Arc;

use ferrock_base::Result;

use super::buffer::ReadBuffer;
use super::context::ReadContext;
use crate::file_system::{FileSystem, RandomAccessFile};

/// A read that was started. Dropping it gives it up.
#[derive(Debug)]
#[must_use = "a read that is not waited for was in vain"]
pub struct PendingRead {
    state: State,
}

#[derive(Debug)]
enum State {
    /// It is over.
    Done(Result<ReadBuffer>),
    /// There was too much read-ahead to begin it: whoever waits for it performs it.
    Deferred { file: Arc<dyn RandomAccessFile>, offset: u64, length: usize, context: ReadContext },
}

impl PendingRead {
    /// A read that is over.
    pub fn ready(result: Result<ReadBuffer>) -> Self {
        Self { state: State::Done(result) }
    }

    /// True when [`wait`](Self::wait) would return at once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// The bytes, as soon as they are there.
    pub fn wait(self) -> Result<ReadBuffer> {
        match self.state {
            State::Done(result) => result,
            State::Deferred { file, offset, length, context } => file.read_range(offset, length, &context),
        }
    }
}

/// [`FileSystem::start_read`] that performs the read at once.
pub(crate) fn start_read<S: FileSystem + ?Sized>(
    file_system: &S,
    file: &Arc<dyn RandomAccessFile>,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> PendingRead {
    let has_room = file_system.read_layer().is_none_or(|layer| layer.pool().has_room_ahead(length));
    if has_room {
        return PendingRead::ready(file.read_range(offset, length, context));
    }
    PendingRead { state: State::Deferred { file: Arc::clone(file), offset, length, context: *context } }
}
