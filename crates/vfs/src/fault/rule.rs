//! Rules: which operations fail, when, and how.

use std::io;
use std::path::Path;
use std::thread::ThreadId;
use std::time::Duration;

use ferrock_base::random::Random;

/// A kind of operation that a rule can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Every kind.
    Any,
    /// Opening a file for reading.
    Open,
    /// Creating or reopening a file for appending.
    Create,
    /// A read, at an offset or in sequence, alone or in a batch.
    Read,
    /// `append`.
    Append,
    /// `flush`.
    Flush,
    /// `sync` of a file.
    Sync,
    /// `close`; not consulted when a file is dropped.
    Close,
    /// `remove_file`, `remove_dir`.
    Remove,
    /// `rename`; the rule's path may match either name.
    Rename,
    /// `hard_link`; the rule's path may match either name.
    Link,
    /// `truncate`.
    Truncate,
    /// `children`.
    List,
    /// `create_dir_all`.
    CreateDir,
    /// `sync_dir`.
    SyncDir,
    /// `lock_file`.
    Lock,
    /// `exists`, `file_size`, `modified_unix_seconds`, `free_space`, `is_read_only`.
    Metadata,
}

/// Which of the operations that match a rule it strikes. Counting starts at 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// Every operation.
    Always,
    /// Only this one.
    Nth(u64),
    /// This one and all later ones.
    From(u64),
    /// Every n-th (0: never).
    Every(u64),
    /// Each with this probability (0 to 1), by a seeded sequence.
    Probability {
        /// The probability.
        chance: f64,
        /// Starts the sequence.
        seed: u64,
    },
}

/// What happens to an operation that a rule strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fails: the device is full. The operation has no effect.
    NoSpace,
    /// Fails: not permitted. The operation has no effect.
    PermissionDenied,
    /// Fails: the device returns an error. The operation has no effect.
    Io,
    /// Fails as if the file did not exist.
    NotFound,
    /// `append`: this many bytes get through, then the device is full. Elsewhere as [`NoSpace`](Self::NoSpace).
    ShortWrite {
        /// How much of the data is written.
        kept_bytes: usize,
    },
    /// `append`: this many bytes get through, the rest is lost and the call *succeeds*, as on a disk that lies.
    /// Elsewhere as [`Io`](Self::Io).
    TornWrite {
        /// How much of the data is written.
        kept_bytes: usize,
    },
    /// `read`: at most this many bytes, as if the file ended there. Elsewhere as [`Io`](Self::Io).
    ShortRead {
        /// How much is read.
        kept_bytes: usize,
    },
    /// `read`, `append`: one bit of the data is changed, chosen by the seed, and the call succeeds. Elsewhere as
    /// [`Io`](Self::Io).
    BitFlip {
        /// Chooses the bit.
        seed: u64,
    },
    /// Waits by the file system's clock, then performs the operation.
    Delay(Duration),
}

/// A rule: which operations on which paths suffer which fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// Which operations.
    pub operation: OperationKind,
    /// Which paths: `*` stands for any characters but `/`, `?` for one. A pattern without `/` is compared with the last
    /// component, one with `/` with the whole path. A plain suffix is written `*.sst`.
    pub path: String,
    /// Only operations of this thread; `None`: of all threads.
    pub thread: Option<ThreadId>,
    /// Which of the matching operations.
    pub trigger: Trigger,
    /// What happens.
    pub fault: Fault,
}

impl FaultRule {
    /// A rule that always strikes.
    #[must_use]
    pub fn new(operation: OperationKind, path: impl Into<String>, fault: Fault) -> Self {
        Self { operation, path: path.into(), thread: None, trigger: Trigger::Always, fault }
    }

    /// The same rule with another trigger.
    #[must_use]
    pub fn when(mut self, trigger: Trigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// The same rule for the operations of one thread, for example one that must never wait. `thread` is its
    /// [`id`](std::thread::Thread::id).
    #[must_use]
    pub fn on_thread(mut self, thread: ThreadId) -> Self {
        self.thread = Some(thread);
        self
    }

    pub(super) fn concerns(&self, operation: OperationKind, path: &Path) -> bool {
        (self.operation == OperationKind::Any || self.operation == operation)
            && self.thread.is_none_or(|thread| thread == std::thread::current().id())
            && path_matches(&self.path, path)
    }
}

impl Fault {
    /// The error of an operation that cannot perform the fault otherwise.
    pub(super) fn to_io_error(self) -> io::Error {
        match self {
            Self::NoSpace | Self::ShortWrite { .. } => {
                io::Error::new(io::ErrorKind::StorageFull, "no space left on device (injected)")
            }
            Self::PermissionDenied => io::Error::new(io::ErrorKind::PermissionDenied, "permission denied (injected)"),
            Self::NotFound => io::Error::new(io::ErrorKind::NotFound, "no such file or directory (injected)"),
            Self::Io | Self::TornWrite { .. } | Self::ShortRead { .. } | Self::BitFlip { .. } | Self::Delay(_) => {
                io::Error::other("input/output error (injected)")
            }
        }
    }
}

/// A rule with its counts.
#[derive(Debug)]
pub(super) struct ActiveRule {
    pub(super) id: u64,
    pub(super) rule: FaultRule,
    matched: u64,
    pub(super) fired: u64,
    random: Random,
}

impl ActiveRule {
    pub(super) fn new(id: u64, rule: FaultRule) -> Self {
        let seed = if let Trigger::Probability { seed, .. } = rule.trigger { seed } else { 0 };
        Self { id, rule, matched: 0, fired: 0, random: Random::new(seed) }
    }

    /// Counts an operation that the rule concerns; true when it strikes.
    pub(super) fn strikes(&mut self) -> bool {
        self.matched += 1;
        let strikes = match self.rule.trigger {
            Trigger::Always => true,
            Trigger::Nth(nth) => self.matched == nth,
            Trigger::From(first) => self.matched >= first,
            Trigger::Every(every) => every > 0 && self.matched.is_multiple_of(every),
            Trigger::Probability { chance, .. } => {
                // 53 bits give a uniform `f64` from 0 to 1.
                let drawn = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                drawn < chance
            }
        };
        self.fired += u64::from(strikes);
        strikes
    }
}

fn path_matches(pattern: &str, path: &Path) -> bool {
    if pattern.contains('/') {
        return path.to_str().is_some_and(|path| glob_matches(pattern.as_bytes(), path.as_bytes()));
    }
    // The root has no name: only `*` matches it.
    let name = path.file_name().unwrap_or_default();
    name.to_str().is_some_and(|name| glob_matches(pattern.as_bytes(), name.as_bytes()))
}

/// Matches `*` and `?`, going back to the last star when a literal fails.
fn glob_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut in_pattern, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                star = Some((in_pattern, in_name));
                in_pattern += 1;
                continue;
            }
            Some(&byte) if byte == name[in_name] || (byte == b'?' && name[in_name] != b'/') => {
                in_pattern += 1;
                in_name += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((at, taken)) if name[taken] != b'/' => {
                star = Some((at, taken + 1));
                in_pattern = at + 1;
                in_name = taken + 1;
            }
            _ => return false,
        }
    }
    pattern[in_pattern..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        let matches = |pattern: &str, path: &str| path_matches(pattern, Path::new(path));
        assert!(matches("*.sst", "/db/000012.sst") && !matches("*.sst", "/db/000012.sst.tmp"));
        assert!(matches("*", "/db/CURRENT") && matches("CURRENT", "CURRENT"));
        assert!(matches("00?012.*", "/db/000012.log") && !matches("?", "/db/ab"));
        assert!(matches("/db/*.log", "/db/1.log") && !matches("/db/*.log", "/db/archive/1.log"));
        assert!(matches("*a*b*c", "/x/1a2a3b4b5c") && !matches("*a*b*c", "/x/1a2a3b4b5cd"));
        assert!(!matches("", "/x/y") && matches("MANIFEST-*", "MANIFEST-000001"));
    }
}
