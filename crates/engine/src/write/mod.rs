//! The write path below the public API: the queue that forms groups, the log they are
//! appended to, and the controller that slows writers down.

pub(crate) mod controller;
pub(crate) mod insert;
pub(crate) mod queue;
pub(crate) mod timer;
pub(crate) mod wal;
