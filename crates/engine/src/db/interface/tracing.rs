//! What the database is asked, written to a file.

use super::Db;
use crate::trace::TraceOptions;
use ferrock_base::Result;
use std::path::Path;

impl Db {
    /// Writes what is asked of the database to a new file at `path` from now on, as RocksDB writes it: batches, keys
    /// that are read, seeks. Another trace that is on ends first.
    ///
    /// Iterators that were made before are not written down, nor are the steps of any, scans of many ranges at once,
    /// and reads that the database makes for itself. A future is written down when it is made. A batch that the
    /// database refuses at once is left out; one that fails later is in the trace.
    ///
    /// `ferrock::replay` asks a database the same again. An error while a trace is written ends the trace, not what it
    /// writes down; [`end_trace`](Self::end_trace) has it.
    ///
    /// # Errors
    /// `Io` naming the file, also that of a trace that was on and could not be ended; the new one is on then.
    /// `ShutdownInProgress` once the database is closed.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use ferrock::TraceOptions;
    ///
    /// let path = directory.path().join("trace");
    /// db.start_trace(&path, TraceOptions::default())?;
    /// db.put(b"key", b"value")?;
    /// db.get(b"key")?;
    /// db.end_trace()?;
    /// assert!(std::fs::read(&path).unwrap().windows(16).any(|bytes| bytes == b"feedcafedeadbeef"));
    /// assert!(db.end_trace().is_err(), "none is on");
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn start_trace(&self, path: impl AsRef<Path>, options: TraceOptions) -> Result<()> {
        let core = self.core();
        if !core.jobs.is_read_only() {
            core.jobs.check_open()?;
        }
        core.tracer.start(&core.env.file_system, path.as_ref(), options)
    }

    /// Ends the trace that is on. Closing the database does it, too.
    ///
    /// # Errors
    /// `Io` where no trace is on, and the first error that the trace met.
    pub fn end_trace(&self) -> Result<()> {
        self.core().tracer.end()
    }
}
