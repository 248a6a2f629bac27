//! The writable file: three ways for bytes to reach it, one way to fail.
//!
//! ```text
//! Mapped --(no reservation, no map, syncs dominate)--> Buffered        Direct
//!    \________________________\______________________________\____ failure or close ----> Done
//! ```
//!
//! After a failed write or sync the contents of the file are unknown, so the first error is kept and returned by every
//! later call: in particular, a second `sync` must not succeed because the kernel forgot the pages it could not write.

use std::path::Path;
use std::sync::Arc;

use ferrock_base::{Error, Result};

use super::append_buffer::AppendBuffer;
use super::device;
use super::direct::DirectAppend;
use super::next_window::WindowThread;
use super::target::Target;
use super::window::MappedAppend;
use crate::file::WritableFile;
use crate::options::WritableOptions;
use crate::rate_limiter::{IoPriority, RateLimiter};

#[derive(Debug)]
enum Mode {
    Buffered(AppendBuffer),
    Direct(DirectAppend),
    Mapped(MappedAppend),
    Done,
}

#[derive(Debug)]
pub(super) struct PosixWritableFile {
    target: Target,
    mode: Mode,
    buffer_bytes: usize,
    failure: Option<Error>,
    closed: bool,
}

impl PosixWritableFile {
    /// Windows of mapped appends are made ahead by `thread`.
    pub(super) fn new(target: Target, options: &WritableOptions, thread: &Arc<WindowThread>) -> Result<Self> {
        let mode = if options.direct {
            Mode::Direct(DirectAppend::new(&target, options.buffer_bytes)?)
        } else if options.mapped_append && device::reservations_hold(&target.file) {
            Mode::Mapped(MappedAppend::new(options.preallocate_bytes, thread))
        } else {
            Mode::Buffered(AppendBuffer::default())
        };
        Ok(Self { target, mode, buffer_bytes: options.buffer_bytes, failure: None, closed: false })
    }

    fn check_usable(&self) -> Result<()> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None if self.closed => Err(Error::invalid_argument("the file is closed").in_file(&self.target.path)),
            None => Ok(()),
        }
    }

    /// Keeps the first failure. The buffer goes with the mode, and any window is unmapped.
    fn poison<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            self.failure = Some(error.clone());
            self.mode = Mode::Done;
        }
        outcome
    }

    /// From now on bytes are written by system calls. Reserved space stays and is written into.
    fn leave_mapping(&mut self) {
        self.mode = Mode::Buffered(AppendBuffer::default());
    }

    fn append_mapped(&mut self, data: &[u8]) -> Result<()> {
        if let Mode::Mapped(mapped) = &mut self.mode
            && mapped.is_too_large(data)
        {
            mapped.close_window(&mut self.target)?;
            return self.target.append(data);
        }
        self.target.limit(data.len());
        while let Mode::Mapped(mapped) = &mut self.mode {
            match mapped.store(&mut self.target, data) {
                Ok(true) => {
                    return self.target.start_writeback();
                }
                Ok(false) if mapped.advance(&mut self.target, data) => {}
                // No window could be mapped, or its pages not made present: the write call reports the error, if there
                // is one.
                Ok(false) | Err(_) => self.leave_mapping(),
            }
        }
        self.append_buffered(data)
    }

    fn append_buffered(&mut self, data: &[u8]) -> Result<()> {
        let Mode::Buffered(buffer) = &mut self.mode else { return Ok(()) };
        if buffer.len() + data.len() <= self.buffer_bytes {
            buffer.extend(data);
            return Ok(());
        }
        // A large append is written without a copy; a small one is written together with the buffered bytes.
        if data.len() < self.buffer_bytes {
            buffer.extend(data);
            return self.flush_buffer();
        }
        self.flush_buffer()?;
        self.target.append(data)
    }

    fn flush_buffer(&mut self) -> Result<()> {
        let Mode::Buffered(buffer) = &mut self.mode else { return Ok(()) };
        if buffer.len() > 0 {
            self.target.append(buffer.bytes())?;
            buffer.clear();
        }
        Ok(())
    }

    fn flush_mode(&mut self) -> Result<()> {
        match &mut self.mode {
            Mode::Buffered(_) => self.flush_buffer(),
            Mode::Direct(direct) => direct.flush(&mut self.target),
            Mode::Mapped(_) | Mode::Done => Ok(()),
        }
    }
}

impl WritableFile for PosixWritableFile {
    #[inline]
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.check_usable()?;
        if data.is_empty() {
            return Ok(());
        }
        self.target.counters.append(self.target.purpose, data.len() as u64);
        let outcome = match &mut self.mode {
            Mode::Mapped(mapped) => {
                mapped.note_append();
                self.append_mapped(data)
            }
            Mode::Direct(direct) => direct.append(&mut self.target, data),
            Mode::Buffered(_) | Mode::Done => self.append_buffered(data),
        };
        self.poison(outcome)
    }

    fn flush(&mut self) -> Result<()> {
        self.check_usable()?;
        let flushed = self.flush_mode();
        self.poison(flushed)
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        let synced = self.target.sync();
        self.poison(synced)?;
        if let Mode::Mapped(mapped) = &mut self.mode
            && mapped.note_sync(self.target.position)
        {
            self.target.prepare_for_syncs(mapped.reserved_bytes());
            self.leave_mapping();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        let flushed = match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => self.flush_mode(),
        };
        // Unmapped before it is cut: no store may meet truncated space.
        self.mode = Mode::Done;
        self.closed = true;
        let trimmed = self.target.trim();
        flushed.and(trimmed)
    }

    fn size(&self) -> u64 {
        match &self.mode {
            Mode::Buffered(buffer) => self.target.position + buffer.len() as u64,
            Mode::Direct(direct) => direct.size(),
            Mode::Mapped(_) | Mode::Done => self.target.position,
        }
    }

    fn path(&self) -> &Path {
        &self.target.path
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.target.set_rate_limiter(limiter, priority);
    }

    fn append_backend(&self) -> &'static str {
        match &self.mode {
            Mode::Buffered(_) | Mode::Done => "buffered",
            Mode::Direct(_) => "direct",
            Mode::Mapped(_) => "mapped",
        }
    }
}

impl Drop for PosixWritableFile {
    fn drop(&mut self) {
        // An error cannot be reported here.
        let _ = self.close();
    }
}
