//! How options come to own a listener.

use super::listener::rocksdb_eventlistener_t;
use crate::handle::take;
use crate::options::rocksdb_options_t;

c_functions! {
    /// Gives options a listener, which is handed over. Its state goes with the last options and databases that have it.
    fn rocksdb_options_add_eventlistener(
        options: *mut rocksdb_options_t,
        eventlistener: *mut rocksdb_eventlistener_t,
    ) {
        // SAFETY: the contract: the listener is handed over.
        let listener = unsafe { take(eventlistener) };
        // SAFETY: the contract.
        if let (Some(options), Some(listener)) = (unsafe { options.as_mut() }, listener) {
            options.event_listeners.push(listener.into_shared());
        }
    }
}
