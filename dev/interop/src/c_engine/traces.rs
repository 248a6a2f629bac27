//! Traces of an open database: beginning, ending, and replaying them.

use super::{CDatabase, made};
use crate::engine::Outcome;
use ferrock_c_library::{Functions, Object, Owned, c_text};
use std::path::Path;

const MISSING: &str = "the library has no traces";

/// The machine's files, and how they are written: what functions of traces ask for.
struct Files {
    environment: Owned,
    options: Owned,
}

impl Files {
    fn new(functions: &Functions) -> Outcome<Self> {
        let (create, destroy) = functions.create_default_env.zip(functions.env_destroy).ok_or(MISSING)?;
        let (make, end) = functions.envoptions_create.zip(functions.envoptions_destroy).ok_or(MISSING)?;
        Ok(Self { environment: made(create, destroy), options: made(make, end) })
    }
}

impl CDatabase {
    /// Writes what is asked of the database to a file from now on, batches in their order if `in_order`.
    pub fn start_trace(&self, path: &Path, in_order: bool) -> Outcome<()> {
        let f = self.functions;
        let start = f.start_trace.ok_or(MISSING)?;
        let (create, destroy) = f.trace_options_create.zip(f.trace_options_destroy).ok_or(MISSING)?;
        let order = f.trace_options_set_preserve_write_order.ok_or(MISSING)?;
        let (files, options) = (Files::new(f)?, made(create, destroy));
        let text = c_text(path.to_str().ok_or("the path is not UTF-8")?)?;
        // SAFETY: the options exist.
        unsafe { order(options.object(), in_order.into()) };
        let (environment, writing) = (files.environment.object(), files.options.object());
        // SAFETY: database, environment and options exist, and the path ends with a zero.
        f.checked(|error| unsafe { start(self.db, environment, writing, options.object(), text.as_ptr(), error) })
    }

    /// Ends the trace that is on.
    pub fn end_trace(&self) -> Outcome<()> {
        let end = self.functions.end_trace.ok_or(MISSING)?;
        // SAFETY: the database exists.
        self.functions.checked(|error| unsafe { end(self.db, error) })
    }

    /// Asks the database what a trace says, without much waiting.
    pub fn replay(&self, path: &Path, threads: u32) -> Outcome<()> {
        let f = self.functions;
        let make = f.new_default_replayer.ok_or(MISSING)?;
        let (prepare, replay) = f.replayer_prepare.zip(f.replayer_replay).ok_or(MISSING)?;
        let destroy = f.replayer_destroy.ok_or(MISSING)?;
        let (create, end) = f.replay_options_create.zip(f.replay_options_destroy).ok_or(MISSING)?;
        let (speed, count) = f.replay_options_set_fast_forward.zip(f.replay_options_set_num_threads).ok_or(MISSING)?;
        let (files, options) = (Files::new(f)?, made(create, end));
        // SAFETY: the options exist.
        unsafe {
            speed(options.object(), 1e6);
            count(options.object(), threads);
        }
        let text = c_text(path.to_str().ok_or("the path is not UTF-8")?)?;
        let (environment, reading) = (files.environment.object(), files.options.object());
        let families: *const Object = self.handles.as_ptr();
        // SAFETY: database, families, environment and options exist, and the path ends with a zero.
        let replayer = f.checked(|error| unsafe {
            make(self.db, families, self.handles.len(), environment, reading, text.as_ptr(), error)
        })?;
        // SAFETY: a replayer, and the function that ends such.
        let replayer = unsafe { Owned::new(replayer, destroy) };
        // SAFETY: replayer and options exist.
        f.checked(|error| unsafe { prepare(replayer.object(), error) })?;
        // SAFETY: replayer and options exist.
        f.checked(|error| unsafe { replay(replayer.object(), options.object(), error) })
    }
}
