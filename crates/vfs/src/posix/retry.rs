//! Repeating interrupted system calls, and raw flags of opens.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

/// Repeats an operation that a signal interrupted.
pub(super) fn retry<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Permits `O_DIRECT` and other raw flags on an [`OpenOptions`].
pub(super) fn add_flags(open: &mut OpenOptions, flags: rustix::fs::OFlags) {
    open.custom_flags(flags.bits() as i32);
}
