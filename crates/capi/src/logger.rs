//! Loggers: what takes the lines of the LOG in place of a file.

use crate::handle::give;
use crate::open_and_compact::rocksdb_compaction_service_options_override_t;
use crate::options::rocksdb_options_t;
use crate::options_presets::INFO_LOG_LEVELS;
use ferrock::options::{InfoLogLevel, Logger, StderrLogger};
use ferrock_base::byte_text::{from_bytes, to_bytes};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// A logger; `None` is that of a database which writes its own LOG.
pub struct rocksdb_logger_t {
    logger: Option<Arc<dyn Logger>>,
}

/// state, level, line, its length; a zero byte follows it
type LogLine = unsafe extern "C" fn(*mut c_void, c_uint, *mut c_char, usize);

struct CallbackLogger {
    level: InfoLogLevel,
    state: *mut c_void,
    callback: LogLine,
}

// SAFETY: the contract: callbacks may run on any thread, by many at once.
unsafe impl Send for CallbackLogger {}
// SAFETY: as above.
unsafe impl Sync for CallbackLogger {}

impl Logger for CallbackLogger {
    fn level(&self) -> InfoLogLevel {
        self.level
    }

    fn log(&self, level: InfoLogLevel, line: &str) {
        let mut bytes = to_bytes(line).into_owned();
        let length = bytes.len();
        bytes.push(0);
        // SAFETY: the contract about callbacks; the line lives through the call, and may be changed.
        unsafe { (self.callback)(self.state, number_of(level), bytes.as_mut_ptr().cast(), length) };
    }
}

fn number_of(level: InfoLogLevel) -> c_uint {
    INFO_LOG_LEVELS.iter().zip(0..).find(|(known, _)| **known == level).map_or(0, |(_, number)| number)
}

/// The level with a number; that next to it of a number that is none.
fn level_of(number: c_int) -> InfoLogLevel {
    let last = INFO_LOG_LEVELS.len() - 1;
    let index = usize::try_from(number).unwrap_or(0).min(last);
    INFO_LOG_LEVELS.get(index).copied().unwrap_or(InfoLogLevel::Info)
}

c_functions! {
    /// A logger that writes to the standard error, with a prefix that may be null.
    fn rocksdb_logger_create_stderr_logger(log_level: c_int, prefix: *const c_char) -> *mut rocksdb_logger_t {
        // SAFETY: the contract: a text that ends with a zero byte, or null.
        let prefix = if prefix.is_null() { &[][..] } else { unsafe { CStr::from_ptr(prefix) }.to_bytes() };
        let logger = StderrLogger::new(level_of(log_level), from_bytes(prefix));
        give(rocksdb_logger_t { logger: Some(Arc::new(logger)) })
    }

    /// A logger that calls a function with each line. Without a function the lines go nowhere.
    fn rocksdb_logger_create_callback_logger(
        log_level: c_int,
        callback: Option<LogLine>,
        priv_value: *mut c_void,
    ) -> *mut rocksdb_logger_t {
        unsafe extern "C" fn nowhere(_: *mut c_void, _: c_uint, _: *mut c_char, _: usize) {}
        let callback = callback.unwrap_or(nowhere);
        let logger = CallbackLogger { level: level_of(log_level), state: priv_value, callback };
        give(rocksdb_logger_t { logger: Some(Arc::new(logger)) })
    }

    /// Has a logger take the lines of the LOG of databases that are opened with the options. Null changes nothing.
    fn rocksdb_options_set_info_log(options: *mut rocksdb_options_t, logger: *mut rocksdb_logger_t) {
        // SAFETY: the contract.
        if let Some((options, logger)) = unsafe { options.as_mut().zip(logger.as_ref()) } {
            options.db.components.info_log = logger.logger.clone();
        }
    }

    /// The logger of options, as a handle of its own.
    fn rocksdb_options_get_info_log(options: *mut rocksdb_options_t) -> *mut rocksdb_logger_t {
        // SAFETY: the contract.
        let options = unsafe { options.as_ref() };
        options.map_or(null_mut(), |options| give(rocksdb_logger_t { logger: options.db.components.info_log.clone() }))
    }

    /// Has a logger take the lines of the LOG of a worker. Null changes nothing.
    fn rocksdb_compaction_service_options_override_set_info_log(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        logger: *mut rocksdb_logger_t,
    ) {
        // SAFETY: the contract.
        if let Some((overrides, logger)) = unsafe { override_options.as_mut().zip(logger.as_ref()) } {
            overrides.set_info_log(logger.logger.clone());
        }
    }
}

c_destructors! {
    /// Ends a handle; options and databases that have the logger keep it.
    fn rocksdb_logger_destroy(rocksdb_logger_t);
}
