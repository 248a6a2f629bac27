//! Tests across processes: a writer killed in the middle of an append, the lock, limits, the environment.
//!
//! A test starts this same binary again with `CHILD` set; `child` then plays the part that the variable names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use common::pattern;
use ferrock_base::ErrorKind;
use ferrock_vfs::{FileSystem, PosixFileSystem, RandomAccessOptions, WritableOptions, WritePurpose};

const CHILD: &str = "FERROCK_VFS_TEST_CHILD";
const DIR: &str = "FERROCK_VFS_TEST_DIR";
const APPENDS: &str = "FERROCK_VFS_TEST_APPENDS";
const PATTERN_BYTES: usize = 8 << 20;

fn log_options(preallocate_bytes: u64) -> WritableOptions {
    WritableOptions {
        mapped_append: true,
        preallocate_bytes,
        buffer_bytes: 0,
        ..WritableOptions::for_purpose(WritePurpose::Log)
    }
}

fn spawn(part: &str, dir: &Path, variables: &[(&str, &str)]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, part).env(DIR, dir).envs(variables.iter().copied());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// The rest of the next line that starts with the word.
fn wait_for(output: &mut impl BufRead, word: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the child ended without saying {word}");
        // The harness prints the test's name on the same line as the first words.
        if let Some((_, rest)) = line.split_once(word) {
            return rest.trim().to_owned();
        }
    }
}

fn run_to_end(part: &str, variables: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut output) = spawn(part, dir.path(), variables);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut output, &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("DONE"), "the child did not play its part: {said}");
}

#[test]
fn child() {
    let Ok(part) = std::env::var(CHILD) else { return };
    let dir = std::env::var(DIR).unwrap();
    let dir = Path::new(&dir);
    match part.as_str() {
        "append" => append_until_killed(dir),
        "hold-lock" => hold_lock(dir),
        "try-lock" => try_lock(dir),
        "limit" => meet_the_size_limit(dir),
        "backend" => tell_backend(),
        other => panic!("no part {other}"),
    }
}

/// Which appends a writer makes.
#[derive(Clone, Copy)]
struct Appends {
    preallocate_bytes: u64,
    largest: usize,
    /// So many appends at the beginning are followed by a sync each.
    synced: usize,
    /// Each ends six bytes before the end of a page, so that the header of the next lies in two pages.
    to_page_ends: bool,
}

impl Appends {
    const fn new(preallocate_bytes: u64, largest: usize) -> Self {
        Self { preallocate_bytes, largest, synced: 0, to_page_ends: false }
    }

    /// After so many syncs the log is written by calls, into space that was reserved.
    const fn after_syncs(largest: usize) -> Self {
        Self { synced: 20, ..Self::new(0, largest) }
    }

    /// The length of the append that starts at a position.
    fn bytes(&self, at: usize) -> usize {
        let bytes = at * 7919 % self.largest + 1;
        if self.to_page_ends { (at + 6 + bytes).next_multiple_of(4096) - 6 - at } else { bytes }
    }

    /// Few are acknowledged, so that the kill finds the writer copying and not printing.
    fn are_acknowledged_once(&self) -> bool {
        self.largest > 10_000 || self.synced > 0
    }

    fn to_variables(self) -> String {
        format!("{} {} {} {}", self.preallocate_bytes, self.largest, self.synced, u8::from(self.to_page_ends))
    }

    fn from_variables(text: &str) -> Self {
        let numbers: Vec<u64> = text.split(' ').map(|number| number.parse().unwrap()).collect();
        let [preallocate_bytes, largest, synced, to_page_ends] = numbers[..] else { panic!("{text}") };
        let (largest, synced) = (largest as usize, synced as usize);
        Self { preallocate_bytes, largest, synced, to_page_ends: to_page_ends > 0 }
    }
}

/// True when `left` holds an append wholly up to some log block, and from there on zeros wherever a header would start;
/// or the file ends within it.
fn is_published_front_to_back(at: usize, left: &[u8], wrote: &[u8]) -> bool {
    if left.len() < wrote.len() {
        return wrote.starts_with(left);
    }
    let mut published = true;
    let mut start = 0;
    while start < wrote.len() {
        let end = (start + (32 << 10) - (at + start) % (32 << 10)).min(wrote.len());
        let header = start..end.min(start + 8);
        published &= left[start..end] == wrote[start..end];
        if !published && left[header].iter().any(|&byte| byte != 0) {
            return false;
        }
        let same_or_zero = |index: usize| left[index] == wrote[index] || left[index] == 0;
        if !(start..end).all(same_or_zero) {
            return false;
        }
        start = end;
    }
    true
}

fn append_until_killed(dir: &Path) {
    let contents = pattern(PATTERN_BYTES, 11);
    let appends = Appends::from_variables(&std::env::var(APPENDS).unwrap());
    let options = log_options(appends.preallocate_bytes);
    let mut file = PosixFileSystem::new().create_writable(&dir.join("000004.log"), &options).unwrap();
    let mut at = 0;
    let mut line = String::new();
    for count in 1.. {
        let step = appends.bytes(at).min(contents.len() - at);
        if step == 0 {
            break;
        }
        file.append(&contents[at..at + step]).unwrap();
        at += step;
        if count <= appends.synced {
            file.sync().unwrap();
        }
        if at % 13 == 0 && !appends.are_acknowledged_once() || count == 1.max(appends.synced) {
            line.clear();
            std::fmt::Write::write_fmt(&mut line, format_args!("ACK {at}\n")).unwrap();
            std::io::stdout().write_all(line.as_bytes()).unwrap();
            assert!(["mapped", "buffered"].contains(&file.append_backend()));
        }
    }
    println!("BACKEND {}", file.append_backend());
    // The killer comes in any case: the file must not be closed.
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_writer_leaves_its_bytes_and_zeros() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("000004.log");
    let contents = pattern(PATTERN_BYTES, 11);
    let setups = [
        Appends::new(0, 700),
        Appends::new(1, 25_000),
        Appends::new(4 << 20, 30_000),
        Appends::new(70_000, 300),
        Appends::new(1, 90_000),
        Appends::after_syncs(30_000),
        Appends::after_syncs(250_000),
        Appends { to_page_ends: true, ..Appends::after_syncs(9000) },
    ];
    for (round, appends) in setups.into_iter().cycle().take(120).enumerate() {
        let (mut child, mut output) = spawn("append", dir.path(), &[(APPENDS, &appends.to_variables())]);
        let mut acknowledged = 0;
        for _ in 0..(if appends.are_acknowledged_once() { 0 } else { round * 12 }) + 1 {
            acknowledged = wait_for(&mut output, "ACK ").parse().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_micros(round as u64 * 53 % 2500));
        child.kill().unwrap();
        child.wait().unwrap();
        // The lines printed before the kill.
        for line in output.lines() {
            if let Some(size) = line.unwrap().strip_prefix("ACK ").and_then(|size| size.parse().ok()) {
                acknowledged = size;
            }
        }
        let left = std::fs::read(&path).unwrap();
        let mut same = 0;
        while same < contents.len() {
            let end = (same + appends.bytes(same)).min(contents.len());
            if left.get(same..end) != Some(&contents[same..end]) {
                break;
            }
            same = end;
        }
        assert!(same >= acknowledged, "round {round}: {same} bytes of {acknowledged} acknowledged");
        let end = (same + appends.bytes(same)).min(contents.len()).min(left.len());
        let torn = &left[same..end];
        assert!(is_published_front_to_back(same, torn, &contents[same..end]), "round {round}: torn at {same}");
        assert!(left[end..].iter().all(|&byte| byte == 0), "round {round}: only zeros after the last append");
        // The log can be continued from there.
        let file_system = PosixFileSystem::new();
        file_system.truncate(&path, same as u64).unwrap();
        let mut file = file_system.reopen_writable(&path, &log_options(0)).unwrap();
        file.append(&contents[same..(same + 100).min(PATTERN_BYTES)]).unwrap();
        file.close().unwrap();
        let left = std::fs::read(&path).unwrap();
        assert!(left == contents[..left.len()] && left.len() >= (same + 100).min(PATTERN_BYTES));
    }
}

fn hold_lock(dir: &Path) {
    let _lock = PosixFileSystem::new().lock_file(&dir.join("LOCK")).unwrap();
    println!("LOCKED");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn try_lock(dir: &Path) {
    let error = PosixFileSystem::new().lock_file(&dir.join("LOCK")).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    println!("REFUSED {error}");
}

#[test]
fn the_lock_holds_against_other_processes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let file_system = PosixFileSystem::new();
    let (mut child, mut output) = spawn("hold-lock", dir.path(), &[]);
    wait_for(&mut output, "LOCKED");
    let error = file_system.lock_file(&path).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains(&format!("process {}", child.id())), "{error}");
    let words = format!("While lock file: {}: Resource temporarily unavailable", path.display());
    assert!(error.to_string().contains(&words), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = file_system.lock_file(&path).unwrap();
    // A refused second attempt here, through another name even, must not lose the lock to others.
    std::os::unix::fs::symlink(dir.path(), dir.path().join("same")).unwrap();
    for name in [path.clone(), dir.path().join("same/LOCK")] {
        assert_eq!(file_system.lock_file(&name).map(drop).unwrap_err().kind(), ErrorKind::Busy);
    }
    let (mut child, mut output) = spawn("try-lock", dir.path(), &[]);
    let refused = wait_for(&mut output, "REFUSED ");
    assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    assert!(child.wait().unwrap().success());
    drop(lock);
    let (mut child, mut output) = spawn("hold-lock", dir.path(), &[]);
    wait_for(&mut output, "LOCKED");
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
}

/// A size limit stops reservations first and writes later, as a full device does, and needs no rights to set up.
fn meet_the_size_limit(dir: &Path) {
    const LIMIT: u64 = 3_500_000;
    // SAFETY: ignoring a signal installs no handler. No other thread of this process depends on it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let limit = rustix::process::Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    let file_system = PosixFileSystem::new();
    let contents = pattern(PATTERN_BYTES, 4);
    for mapped_append in [true, false] {
        let path = dir.join("000005.log");
        let options = WritableOptions { mapped_append, ..log_options(0) };
        let mut file = file_system.create_writable(&path, &options).unwrap();
        let mut at = 0;
        let error = loop {
            match file.append(&contents[at..at + 1000]) {
                Ok(()) => at += 1000,
                Err(error) => break error,
            }
        };
        assert_eq!(at as u64, LIMIT / 1000 * 1000, "every byte below the limit can be used");
        assert_eq!(file.append_backend(), "buffered");
        assert!(error.to_string().contains("000005.log"), "{error}");
        for outcome in [file.append(b"x"), file.flush(), file.sync()] {
            assert_eq!(outcome.unwrap_err().to_string(), error.to_string(), "the failure sticks");
        }
        assert!(file.close().is_err());
        file.close().unwrap();
        let left = std::fs::read(&path).unwrap();
        assert!(left.len() >= at && left == contents[..left.len()]);
    }
    println!("DONE");
}

#[test]
fn a_size_limit_ends_appends_cleanly() {
    run_to_end("limit", &[]);
}

fn tell_backend() {
    let file_system = PosixFileSystem::new();
    println!("BACKEND {}", file_system.io_backend());
    match file_system.open_random_access(Path::new("/proc/self/exe"), &RandomAccessOptions::default()) {
        Ok(_) => println!("OPENED"),
        Err(error) => println!("OPENED NOT {error}"),
    }
}

#[test]
fn the_environment_forces_the_backend() {
    let dir = tempfile::tempdir().unwrap();
    let chosen = |value: &str| {
        let (mut child, mut output) = spawn("backend", dir.path(), &[("FERROCK_IO_BACKEND", value)]);
        let backend = wait_for(&mut output, "BACKEND ");
        let opened = wait_for(&mut output, "OPENED");
        child.wait().unwrap();
        (backend, opened)
    };
    assert_eq!(chosen("pread"), ("pread".to_owned(), String::new()));
    let (backend, opened) = chosen("aio");
    assert_eq!(backend, "unavailable");
    assert!(opened.contains("FERROCK_IO_BACKEND=aio is not a backend; it may be pread or io_uring"), "{opened}");
    if common::io_uring_works() {
        assert_eq!(chosen("io_uring").0, "io_uring");
    } else {
        let (backend, opened) = chosen("io_uring");
        assert_eq!(backend, "unavailable");
        assert!(opened.contains("no ring can be used here"), "{opened}");
    }
}
