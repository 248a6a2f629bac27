//! What the database tells the outside: lines of the LOG, and calls of listeners.
//!
//! Listeners are user code: they may call the database, and may take as long as they like. So no lock of the database
//! is held while one is called; what happened under a lock is collected there, and [`Events::tell`] is called after it.

use crate::info_log::InfoLog;
use ferrock_options::EventListener;
use std::sync::Arc;

/// Where events go.
pub(crate) struct Events {
    listeners: Vec<Arc<dyn EventListener>>,
    log: Arc<InfoLog>,
}

impl Events {
    /// Events go to `listeners`, in their order, and to `log`.
    pub(crate) fn new(listeners: Vec<Arc<dyn EventListener>>, log: Arc<InfoLog>) -> Self {
        Self { listeners, log }
    }

    /// The LOG.
    #[inline]
    pub(crate) fn log(&self) -> &Arc<InfoLog> {
        &self.log
    }

    /// Calls every listener. The caller holds no lock of the database.
    pub(crate) fn tell(&self, mut call: impl FnMut(&dyn EventListener)) {
        self.listeners.iter().for_each(|listener| call(&**listener));
    }
}
