//! The machine that a measurement ran on, as far as the system tells.

use ferrock_vfs::{default_file_system, read_file};
use std::path::Path;

/// A file of the system, if it is there and is text.
pub(crate) fn text(path: &str) -> Option<String> {
    let content = read_file(&*default_file_system(), Path::new(path)).ok()?;
    String::from_utf8(content).ok()
}

/// The value behind `name :` in a file of such lines.
pub(crate) fn field(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// Processor, cores, memory, system, release: in one line.
#[must_use]
pub fn describe() -> String {
    let mut parts = Vec::new();
    parts.extend(text("/proc/cpuinfo").and_then(|text| field(&text, "model name")));
    parts.push(format!("{} cores", std::thread::available_parallelism().map_or(1, usize::from)));
    let memory = text("/proc/meminfo").and_then(|text| field(&text, "MemTotal"));
    let kib = memory.and_then(|memory| memory.split_whitespace().next()?.parse::<f64>().ok());
    parts.extend(kib.map(|kib| format!("{:.0} GiB of memory", kib / 1_048_576.0)));
    let system = text("/proc/sys/kernel/osrelease").map(|release| format!("Linux {}", release.trim()));
    parts.push(system.unwrap_or_else(|| format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)));
    parts.push(format!("Ferrock {}", env!("CARGO_PKG_VERSION")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        let text = "processor\t: 0\nmodel name\t: A  CPU @ 2\nMemTotal:   2097152 kB\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A  CPU @ 2"));
        assert_eq!(field(text, "MemTotal").as_deref(), Some("2097152 kB"));
        assert_eq!(field(text, "flags"), None);
        assert!(describe().contains("Ferrock "), "{}", describe());
    }
}
