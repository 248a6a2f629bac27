//! Locks for code that is checked under `--cfg shuttle`: `parking_lot`'s, or the model checker's.

pub(crate) use ferrock_base::sync::{Condvar, Mutex, MutexGuard};
