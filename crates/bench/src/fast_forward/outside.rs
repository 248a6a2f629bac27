//! The system's counters of the same reads: requests and bytes as they left the process.
//!
//! ```text
//! /proc/self/io      syscr, read_bytes: requests made by system calls (pread)
//! /proc/diskstats    reads, sectors of the device: all processes, so nothing else may use it (io_uring)
//! ```

use super::engine::ClassCounters;
use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::{default_file_system, read_file};
use std::path::Path;

/// A sector of /proc/diskstats.
const SECTOR_BYTES: u64 = 512;

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// The process's own counters. With the system calls that reading them takes.
    Process { own_calls: u64 },
    /// The counters of a device, by its number.
    Device(String),
}

fn text(path: &str) -> Result<String> {
    let bytes = read_file(&*default_file_system(), Path::new(path))?;
    String::from_utf8(bytes).map_err(|_| Failure::NotDone(format!("{path} is not text")))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line?.trim().parse().ok()
}

fn missing(path: &str) -> Failure {
    Failure::NotDone(format!("{path} does not tell what was read; --verify-outside needs Linux"))
}

impl Outside {
    /// The counters that show the reads of a backend from a directory.
    pub(crate) fn of(backend: &str, directory: &Path) -> Result<Self> {
        if backend == "pread" {
            let mut outside = Self::Process { own_calls: 0 };
            let (first, second) = (outside.counters()?, outside.counters()?);
            outside = Self::Process { own_calls: second.requests - first.requests };
            return Ok(outside);
        }
        let directory = std::path::absolute(directory)
            .map_err(|error| Failure::NotDone(format!("{}: {error}", directory.display())))?;
        let mounts = text("/proc/self/mountinfo")?;
        let of_line = |line: &str| {
            let mut words = line.split(' ').skip(2);
            let (device, mount) = (words.next()?, words.nth(1)?);
            directory.starts_with(mount).then(|| (mount.len(), device.to_owned()))
        };
        let found = mounts.lines().filter_map(of_line).max();
        found.map(|(_, device)| Self::Device(device)).ok_or_else(|| missing("/proc/self/mountinfo"))
    }

    /// All reads so far.
    pub(crate) fn counters(&self) -> Result<ClassCounters> {
        match self {
            Self::Process { .. } => {
                let text = text("/proc/self/io")?;
                let counters = field(&text, "syscr").zip(field(&text, "read_bytes"));
                let (requests, bytes) = counters.ok_or_else(|| missing("/proc/self/io"))?;
                Ok(ClassCounters { requests, bytes })
            }
            Self::Device(device) => {
                let text = text("/proc/diskstats")?;
                device_counters(&text, device).ok_or_else(|| missing("/proc/diskstats"))
            }
        }
    }

    /// The reads between two calls of [`Self::counters`], the second of which was the `calls`th since the first.
    pub(crate) fn between(&self, before: ClassCounters, after: ClassCounters, calls: u64) -> ClassCounters {
        let own = if let Self::Process { own_calls } = self { *own_calls * calls } else { 0 };
        ClassCounters {
            requests: (after.requests - before.requests).saturating_sub(own),
            bytes: after.bytes - before.bytes,
        }
    }

    /// The counters are not of this process alone.
    pub(crate) fn sees_others(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Process { .. } => "/proc/self/io",
            Self::Device(_) => "/proc/diskstats",
        }
    }
}

fn device_counters(text: &str, device: &str) -> Option<ClassCounters> {
    let (major, minor) = device.split_once(':')?;
    let fields = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = fields.into_iter().find(|fields| fields.first() == Some(&major) && fields.get(1) == Some(&minor))?;
    let sectors: u64 = line.get(5)?.parse().ok()?;
    Some(ClassCounters { requests: line.get(3)?.parse().ok()?, bytes: sectors * SECTOR_BYTES })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        let io = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\n";
        assert_eq!((field(io, "syscr"), field(io, "read_bytes"), field(io, "writes")), (Some(10), Some(4096), None));
        let disks = "   7       0 loop0 1 0 0 0\n 254       0 vda 66 0 1024 11 5 0 7 0 0 0 0\n";
        assert_eq!(device_counters(disks, "254:0"), Some(ClassCounters { requests: 66, bytes: 1024 * 512 }));
        assert_eq!(device_counters(disks, "254:1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn looking_costs_nothing() {
        let outside = Outside::of("pread", Path::new(".")).unwrap();
        let (before, after) = (outside.counters().unwrap(), outside.counters().unwrap());
        // Other tests of this process may read meanwhile.
        assert!(outside.between(before, after, 1).requests < 1000);
        assert!(matches!(outside, Outside::Process { own_calls } if own_calls > 0));
    }
}
