//! Reads under a kernel that refuses io_uring, from the beginning or from some moment on: a seccomp filter, in a
//! process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]
#![cfg(target_os = "linux")]

mod common;

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::pattern;
use ferrock_base::ErrorKind;
use ferrock_vfs::{
    FileSystem, PosixFileSystem, RandomAccessFile, RandomAccessOptions, RangeRead, ReadClass, ReadContext, ReadLabel,
    WritableOptions, read_range, read_ranges,
};

const CHILD: &str = "FERROCK_VFS_NO_RING_CHILD";
const BYTES: usize = 500_000;

/// Lets the system calls of io_uring fail with EPERM for this thread and those that it starts, as sandboxes do.
fn refuse_rings() {
    let calls = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let statement = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // The number of the call is the first field of what a filter sees.
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for (index, call) in calls.into_iter().enumerate() {
        let to_refusal = (calls.len() - index) as u8;
        filter.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, to_refusal, 0, call as u32));
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the first call takes only numbers; the second reads the program, which is whole and lives until it
    // returns.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

fn write(file_system: &PosixFileSystem, dir: &Path) -> (Vec<u8>, Arc<dyn RandomAccessFile>) {
    let bytes = pattern(BYTES, 3);
    let path = dir.join("000001.sst");
    let mut file = file_system.create_writable(&path, &WritableOptions::default()).unwrap();
    file.append(&bytes).unwrap();
    file.close().unwrap();
    (bytes, file_system.open_random_access(&path, &RandomAccessOptions::default()).unwrap())
}

struct ThreadWaker(std::thread::Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(out) => return out,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn check_reads(file_system: &PosixFileSystem, file: &Arc<dyn RandomAccessFile>, bytes: &[u8]) {
    let places: Vec<usize> = (0..30).map(|index| index * 16_000).collect();
    let timed = ReadContext { io_timeout: Duration::from_secs(600), ..ReadContext::for_class(ReadClass::Data) };
    for context in [ReadContext::default(), timed] {
        let mut reads: Vec<_> = places.iter().map(|&at| RangeRead::new(file, at as u64, 1000)).collect();
        read_ranges(file_system, &mut reads, &context);
        for (read, &at) in reads.iter().zip(&places) {
            assert!(read.result.as_ref().unwrap().bytes() == &bytes[at..at + 1000]);
        }
        let pending: Vec<_> =
            places.iter().map(|&at| file_system.start_read(file, at as u64, 1000, &context)).collect();
        for (pending, &at) in pending.into_iter().zip(&places) {
            assert!(pending.wait().unwrap().bytes() == &bytes[at..at + 1000]);
        }
        let reads: Vec<_> = places.iter().map(|&at| file_system.start_read(file, at as u64, 1000, &context)).collect();
        for (read, &at) in reads.into_iter().zip(&places) {
            assert!(block_on(read).unwrap().bytes() == &bytes[at..at + 1000]);
        }
        let mut stream = file_system.read_stream(&context);
        for (tag, &at) in places.iter().enumerate() {
            stream.add(file, at as u64, 1000, ReadLabel::default(), tag);
        }
        let mut came = 0;
        while stream.take(&mut |tag, read| {
            came += 1;
            assert!(read.unwrap().bytes() == &bytes[places[tag]..places[tag] + 1000]);
        }) {}
        assert_eq!(came, places.len());
        assert!(read_range(&**file, 7, 100, &context).unwrap().bytes() == &bytes[7..107]);
    }
}

#[test]
fn child() {
    let Ok(part) = std::env::var(CHILD) else { return };
    let dir = tempfile::tempdir().unwrap();
    match part.as_str() {
        "never" => {
            refuse_rings();
            let file_system = PosixFileSystem::with_backend(None);
            assert_eq!(file_system.io_backend(), "pread");
            let (bytes, file) = write(&file_system, dir.path());
            check_reads(&file_system, &file, &bytes);
            let forced = PosixFileSystem::with_backend(Some("io_uring"));
            let error = forced.open_random_access(file.path(), &RandomAccessOptions::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            assert!(error.to_string().contains("no ring can be used here"), "{error}");
        }
        "lost" => {
            let file_system = PosixFileSystem::with_backend(Some("io_uring"));
            let (bytes, file) = write(&file_system, dir.path());
            check_reads(&file_system, &file, &bytes);
            let before = file_system.start_read(&file, 100, 1000, &ReadContext::default());
            refuse_rings();
            // One in flight, then others that cannot be begun.
            let after = file_system.start_read(&file, 5000, 1000, &ReadContext::default());
            assert!(before.wait().unwrap().bytes() == &bytes[100..1100]);
            assert!(after.wait().unwrap().bytes() == &bytes[5000..6000]);
            drop(file_system.start_read(&file, 5000, 1000, &ReadContext::default()));
            check_reads(&file_system, &file, &bytes);
        }
        other => panic!("no part {other}"),
    }
    println!("DONE");
}

fn play(part: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(CHILD, part);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("DONE"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_rings_from_the_beginning() {
    play("never");
}

#[test]
fn rings_that_are_taken_away_cost_time_alone() {
    if common::io_uring_works() {
        play("lost");
    }
}
