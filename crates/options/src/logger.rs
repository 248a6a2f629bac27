//! Takers of the lines of the LOG, in place of the file.

use crate::db::InfoLogLevel;
use ferrock_base::byte_text::to_bytes;
use ferrock_base::clock::{Clock, SystemClock, Utc};
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Takes the lines of the LOG of databases, which then have no such file.
///
/// It becomes `DbOptions::components.info_log` before the database is opened; several databases may have the same one.
/// Also a database that is opened read-only, and the database of a worker, tell it.
///
/// A line has no time, no name of its level and no end of line; it may be long, and have newlines within. The names of
/// families in it are those of [`byte_text`](ferrock_base::byte_text). The lines at the beginning, which say all
/// options, are of level [`Info`](InfoLogLevel::Info) and come whatever [`level`](Self::level) is, as in RocksDB.
///
/// It is called by whichever thread has something to tell, by several at once, and with locks of the database held: it
/// must not call the database, and whatever it waits for, the database waits for. `info_log_level` counts for the file
/// alone.
///
/// ```
/// use ferrock_options::{DbOptions, InfoLogLevel, Logger};
/// use std::sync::{Arc, Mutex};
///
/// /// Keeps what went wrong.
/// #[derive(Default)]
/// struct Problems(Mutex<Vec<String>>);
///
/// impl Logger for Problems {
///     fn level(&self) -> InfoLogLevel {
///         InfoLogLevel::Warn
///     }
///     fn log(&self, level: InfoLogLevel, line: &str) {
///         if level != InfoLogLevel::Info {
///             self.0.lock().unwrap().push(line.to_owned());
///         }
///     }
/// }
///
/// let mut options = DbOptions::default();
/// options.components.info_log = Some(Arc::new(Problems::default()));
/// ```
pub trait Logger: Send + Sync {
    /// The lowest level of the lines that it takes.
    fn level(&self) -> InfoLogLevel {
        InfoLogLevel::Info
    }

    /// Takes a line.
    fn log(&self, level: InfoLogLevel, line: &str);
}

impl fmt::Debug for dyn Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logger({:?})", self.level())
    }
}

/// Writes lines to the standard error, each with the time and a prefix before it.
///
/// ```text
/// 2026/01/31-12:00:00.123456 PREFIXcompaction ...
/// 2026/01/31-12:00:00.123456 PREFIX[WARN] ...
/// ```
#[derive(Clone, Debug)]
pub struct StderrLogger {
    level: InfoLogLevel,
    prefix: String,
}

impl StderrLogger {
    /// Writes lines from `level` on.
    #[must_use]
    pub fn new(level: InfoLogLevel, prefix: impl Into<String>) -> Self {
        Self { level, prefix: prefix.into() }
    }

    fn line(&self, unix_us: u64, level: InfoLogLevel, line: &str) -> Vec<u8> {
        let text = format!("{} {}{}{line}\n", log_time(unix_us), self.prefix, log_tag(level));
        to_bytes(&text).into_owned()
    }
}

impl Logger for StderrLogger {
    fn level(&self) -> InfoLogLevel {
        self.level
    }

    fn log(&self, level: InfoLogLevel, line: &str) {
        let clock: Arc<dyn Clock> = SystemClock::shared();
        // A standard error that is closed takes nothing.
        let _ = std::io::stderr().write_all(&self.line(clock.unix_us(), level, line));
    }
}

/// What stands before a line of a level, in the LOG.
#[doc(hidden)]
#[must_use]
pub fn log_tag(level: InfoLogLevel) -> &'static str {
    match level {
        InfoLogLevel::Debug => "[DEBUG] ",
        InfoLogLevel::Info | InfoLogLevel::Header => "",
        InfoLogLevel::Warn => "[WARN] ",
        InfoLogLevel::Error => "[ERROR] ",
        InfoLogLevel::Fatal => "[FATAL] ",
    }
}

/// A time as the LOG has it: `YYYY/MM/DD-HH:MM:SS.micros` in UTC.
#[doc(hidden)]
#[must_use]
pub fn log_time(unix_us: u64) -> String {
    let Utc { year, month, day, hour, minute, second } = Utc::of_unix_seconds((unix_us / 1_000_000).cast_signed());
    format!("{year:04}/{month:02}/{day:02}-{hour:02}:{minute:02}:{second:02}.{:06}", unix_us % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(log_time(0), "1970/01/01-00:00:00.000000");
        assert_eq!(log_time(1_709_208_000_000_001), "2024/02/29-12:00:00.000001");
        assert_eq!(log_time(1_798_761_599_000_000), "2026/12/31-23:59:59.000000");
    }

    #[test]
    fn a_line_has_time_prefix_and_level() {
        let logger = StderrLogger::new(InfoLogLevel::Warn, "here: ");
        let line = |level, text| String::from_utf8_lossy(&logger.line(0, level, text)).into_owned();
        assert_eq!(line(InfoLogLevel::Info, "text"), "1970/01/01-00:00:00.000000 here: text\n");
        assert_eq!(line(InfoLogLevel::Error, "text"), "1970/01/01-00:00:00.000000 here: [ERROR] text\n");
        assert!(logger.line(0, InfoLogLevel::Info, "\u{10ffff}").ends_with(b"here: \xff\n"), "the bytes of a name");
    }
}
