//! Files and directories for the Ferrock engine: posix, io_uring, in-memory with crash clones, fault injection.
#![warn(missing_docs)]
