//! What components made of callbacks share: the caller's state with its destructor, and names.

use crate::memory::text;
use ferrock::{Error, Result};
use std::ffi::{c_char, c_void};

/// Ends a caller's state.
pub(crate) type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;
/// Tells a component's name.
pub(crate) type Name = Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>;

/// A caller's state. The destructor runs once, when the last user of the component is gone.
pub(crate) struct State {
    pointer: *mut c_void,
    destructor: Destructor,
}

// SAFETY: the contract: callbacks may run on any thread, by many at once.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    pub(crate) fn new(pointer: *mut c_void, destructor: Destructor) -> Self {
        Self { pointer, destructor }
    }

    #[inline]
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    /// The name that the caller's function tells, copied.
    ///
    /// # Errors
    /// `Invalid argument` naming `what` when there is no function or no name.
    pub(crate) fn name(&self, name: Name, what: &str) -> Result<String> {
        let name = name.ok_or_else(|| missing(what, "name"))?;
        // SAFETY: the contract: the function takes this state, and gives a text.
        unsafe { text(name(self.pointer), what) }.map(str::to_owned)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the contract: the destructor takes this state, once.
            unsafe { destructor(self.pointer) };
        }
    }
}

/// For a callback that is null.
pub(crate) fn missing(what: &str, callback: &str) -> Error {
    Error::invalid_argument(format!("{what}: the callback {callback} is a null pointer"))
}
