//! The LOG: what the engine did, in lines a person can read. Bounded: by default
//! 64 MiB a file and `keep_log_file_num` files.
//!
//! ```text
//! 2026/01/31-12:00:00.123456 RocksDB version: ...      the header, at the beginning of every file
//! 2026/01/31-12:00:00.123456 [WARN] compaction: ...
//! 2026/01/31-12:00:00.123456 7 EVENT_LOG_v1 {...}      an event, by thread 7: events/json_line.rs
//! LOG               the current file
//! LOG.old.<micros>  earlier ones
//! ```
//!
//! Logging never fails an operation: a LOG that cannot be written is given up.
//!
//! Where the options have a [`Logger`], it takes the lines, and there is no file.

use crate::options::{InfoLogLevel, Logger};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::clock::Clock;
use ferrock_format::file_name;
use ferrock_options::{log_tag, log_time};
use ferrock_vfs::{FileSystem, WritableFile, WritableOptions, WritePurpose};
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the LOG goes and how much of it is kept.
#[derive(Clone, Debug)]
pub(crate) struct InfoLogOptions {
    pub(crate) level: InfoLogLevel,
    pub(crate) max_file_bytes: u64,
    pub(crate) keep_files: usize,
}

struct State {
    file: Option<Box<dyn WritableFile>>,
    /// Texts that every file begins with, and their bytes in the current one, which do not count towards its bound.
    header: Vec<String>,
    header_bytes: u64,
    /// When the earlier files were replaced, in microseconds, which their names have; `None` until they were listed.
    replaced_us: Option<Vec<u64>>,
    options: InfoLogOptions,
}

/// Writes the LOG. Shared by all parts of a database.
pub(crate) struct InfoLog {
    file_system: Arc<dyn FileSystem>,
    directory: PathBuf,
    clock: Arc<dyn Clock>,
    /// Takes all lines.
    logger: Option<Arc<dyn Logger>>,
    state: Mutex<State>,
}

impl fmt::Debug for InfoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InfoLog").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl InfoLog {
    /// Begins a new LOG in `directory`; an earlier one is renamed.
    pub(crate) fn open(
        file_system: Arc<dyn FileSystem>,
        directory: &Path,
        clock: Arc<dyn Clock>,
        options: InfoLogOptions,
    ) -> Arc<Self> {
        let log = Self {
            file_system,
            directory: directory.to_path_buf(),
            clock,
            logger: None,
            state: Mutex::new(State { file: None, header: Vec::new(), header_bytes: 0, replaced_us: None, options }),
        };
        log.roll(&mut log.state.lock());
        Arc::new(log)
    }

    /// A LOG without a file: what is told goes to `logger`, or nowhere. Read-only databases write nothing.
    pub(crate) fn without_file(
        file_system: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        logger: Option<Arc<dyn Logger>>,
    ) -> Arc<Self> {
        let options = InfoLogOptions { level: InfoLogLevel::Fatal, max_file_bytes: 0, keep_files: 0 };
        Arc::new(Self {
            file_system,
            directory: PathBuf::new(),
            clock,
            logger,
            state: Mutex::new(State { file: None, header: Vec::new(), header_bytes: 0, replaced_us: None, options }),
        })
    }

    /// Writes texts, whatever the level, and begins every later file with them.
    pub(crate) fn header(&self, texts: Vec<String>) {
        if self.tell_header(&texts) {
            return;
        }
        let mut state = self.state.lock();
        state.header.extend(texts.iter().cloned());
        self.write_header(&mut state, &texts);
    }

    /// Writes texts, whatever the level, into the current file alone.
    pub(crate) fn header_once(&self, texts: &[String]) {
        if !self.tell_header(texts) {
            self.write_header(&mut self.state.lock(), texts);
        }
    }

    /// Tells texts to the logger, whatever its level; false without one.
    fn tell_header(&self, texts: &[String]) -> bool {
        let Some(logger) = &self.logger else { return false };
        texts.iter().for_each(|text| logger.log(InfoLogLevel::Info, text));
        true
    }

    /// All with one write.
    fn write_header(&self, state: &mut State, texts: &[String]) {
        let Some(file) = &mut state.file else { return };
        let now = log_time(self.clock.unix_us());
        let text: String = texts.iter().map(|text| format!("{now} {text}\n")).collect();
        state.header_bytes += text.len() as u64;
        if file.append(&to_bytes(&text)).and_then(|()| file.flush()).is_err() {
            state.file = None;
        }
    }

    pub(crate) fn info(&self, message: impl FnOnce() -> String) {
        self.write(InfoLogLevel::Info, message);
    }

    /// The time of an event, if the level and the file are such that a line is written for it.
    pub(crate) fn event_time_us(&self) -> Option<u64> {
        if let Some(logger) = &self.logger {
            return (logger.level() as u8 <= InfoLogLevel::Info as u8).then(|| self.clock.unix_us());
        }
        let state = self.state.lock();
        let is_written = state.file.is_some() && state.options.level as u8 <= InfoLogLevel::Info as u8;
        is_written.then(|| self.clock.unix_us())
    }

    pub(crate) fn warn(&self, message: impl FnOnce() -> String) {
        self.write(InfoLogLevel::Warn, message);
    }

    pub(crate) fn error(&self, message: impl FnOnce() -> String) {
        self.write(InfoLogLevel::Error, message);
    }

    fn write(&self, level: InfoLogLevel, message: impl FnOnce() -> String) {
        if let Some(logger) = &self.logger {
            if level as u8 >= logger.level() as u8 {
                logger.log(level, &message());
            }
            return;
        }
        let mut state = self.state.lock();
        if state.file.is_none() || (level as u8) < (state.options.level as u8) {
            return;
        }
        let line = format!("{} {}{}\n", log_time(self.clock.unix_us()), log_tag(level), message());
        let limit = state.options.max_file_bytes.saturating_add(state.header_bytes);
        if state.file.as_ref().is_some_and(|file| file.size() + line.len() as u64 > limit) {
            self.roll(&mut state);
        }
        if let Some(file) = &mut state.file
            && file.append(&to_bytes(&line)).and_then(|()| file.flush()).is_err()
        {
            state.file = None;
        }
    }

    fn roll(&self, state: &mut State) {
        if let Some(mut file) = state.file.take() {
            let _ = file.close();
        }
        let path = self.directory.join(file_name::INFO_LOG);
        let mut replaced = state.replaced_us.take().unwrap_or_else(|| self.list_replaced());
        if self.file_system.exists(&path).unwrap_or(false) {
            let now_us = self.clock.unix_us();
            let old = self.directory.join(file_name::old_info_log(now_us));
            if self.file_system.rename(&path, &old).is_ok() && replaced.last() != Some(&now_us) {
                replaced.push(now_us);
            }
        }
        // The file about to be begun counts.
        let excess = (replaced.len() + 1).saturating_sub(state.options.keep_files.max(1));
        for replaced_us in replaced.drain(..excess) {
            let _ = self.file_system.remove_file(&self.directory.join(file_name::old_info_log(replaced_us)));
        }
        state.replaced_us = Some(replaced);
        let options = WritableOptions { buffer_bytes: 0, ..WritableOptions::for_purpose(WritePurpose::Other) };
        state.file = self.file_system.create_writable(&path, &options).ok();
        state.header_bytes = 0;
        let header = std::mem::take(&mut state.header);
        if !header.is_empty() {
            self.write_header(state, &header);
        }
        state.header = header;
    }

    /// The earlier files, oldest first.
    fn list_replaced(&self) -> Vec<u64> {
        let children = self.file_system.children(&self.directory).unwrap_or_default();
        let replaced_us = |name: &String| name.strip_prefix("LOG.old.")?.parse().ok();
        let mut replaced: Vec<u64> = children.iter().filter_map(replaced_us).collect();
        replaced.sort_unstable();
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use ferrock_vfs::{MemoryFileSystem, read_file};
    use std::time::Duration;

    #[test]
    fn the_log_is_bounded_in_size_and_number() {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let directory = Path::new("/db");
        file_system.create_dir_all(directory).unwrap();
        let clock = Arc::new(ManualClock::new(1_000_000));
        let options = InfoLogOptions { level: InfoLogLevel::Warn, max_file_bytes: 400, keep_files: 3 };
        let log = InfoLog::open(Arc::clone(&file_system), directory, Arc::clone(&clock) as Arc<dyn Clock>, options);
        log.header(vec!["RocksDB version: 11.8.1".to_owned(), "Options.a: 1".to_owned()]);
        for number in 0..100 {
            log.info(|| panic!("below the level: not even formatted"));
            log.warn(|| format!("line {number}"));
            clock.advance(Duration::from_secs(1));
        }
        let names = file_system.children(directory).unwrap();
        assert_eq!(names.len(), 3, "{names:?}");
        for name in names {
            let text = String::from_utf8(read_file(&*file_system, &directory.join(name)).unwrap()).unwrap();
            let mut lines = text.lines();
            let header = lines.by_ref().take(2).map(|line| line.len() as u64 + 1).sum::<u64>();
            assert!(text[26..].starts_with(" RocksDB version: 11.8.1\n"), "{text}");
            assert!(lines.all(|line| line.contains("[WARN] line")), "{text}");
            assert!(text.len() as u64 <= 400 + header, "the header does not count");
        }
        let text = read_file(&*file_system, &directory.join("LOG")).unwrap();
        assert!(String::from_utf8(text).unwrap().ends_with("[WARN] line 99\n"));
    }
}
