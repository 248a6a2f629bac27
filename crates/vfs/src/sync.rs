//! The locks of hand-overs between threads: real ones, or the model checker's under `--cfg shuttle`.

pub(crate) use ferrock_base::sync::{Condvar, Mutex};
