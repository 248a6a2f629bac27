//! io_uring as a [`RingDevice`].
//!
//! The submission queue is written and the completion queue is read by one user at a time: under the lock of the shared
//! ring's owner, or by the stream that owns the ring. The kernel is entered without a lock.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};

use crate::ranges::{self, CANCEL_USER_DATA, Descriptor, Entry, RingDevice, RingUse};

/// After so many failed attempts, because the kernel is short of a resource, the ring counts as broken. After the first
/// [`MAX_HASTY_ATTEMPTS`], each attempt is preceded by a pause.
const MAX_ATTEMPTS: u32 = 1000;
const MAX_HASTY_ATTEMPTS: u32 = 100;
/// Bytes that tell an executable file.
const MAGIC_BYTES: usize = 4;
/// How long to sleep if the kernel cannot wait.
const PAUSE: Duration = Duration::from_micros(50);

pub(super) struct UringDevice {
    ring: IoUring,
    /// A call failed permanently, for example because a system call filter was installed meanwhile.
    is_broken: AtomicBool,
}

impl UringDevice {
    /// Opens a ring; fails if the kernel has no io_uring, or no waits with a timeout (before 5.11).
    pub(super) fn open(ring_use: RingUse) -> io::Result<Self> {
        let entries = ring_use.entries() as u32;
        let ring = match ring_use {
            RingUse::Shared => IoUring::new(entries)?,
            // Completions do not interrupt the thread that submitted (Linux 5.19): they arrive when it enters the
            // kernel the next time.
            RingUse::Stream => {
                let ring = IoUring::builder().setup_coop_taskrun().build(entries);
                ring.or_else(|_| IoUring::new(entries))?
            }
        };
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { ring, is_broken: AtomicBool::new(false) })
    }

    fn call(&self, wanted: usize, time: Option<Duration>) -> Entered {
        let submitter = self.ring.submitter();
        let entered = match time {
            Some(time) if wanted > 0 => {
                let limit = types::Timespec::from(time);
                submitter.submit_with_args(wanted, &types::SubmitArgs::new().timespec(&limit))
            }
            _ => submitter.submit_and_wait(wanted),
        };
        let Err(error) = entered else { return Entered::Done };
        match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR) => Entered::Done,
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM | libc::EBADR) => Entered::Short,
            _ => {
                self.is_broken.store(true, Ordering::Release);
                Entered::Broken
            }
        }
    }
}

/// Whether a ring can be made that reads a real file.
pub(super) fn probe() -> io::Result<()> {
    let device = UringDevice::open(RingUse::Shared)?;
    let mut supported = Probe::new();
    device.ring.submitter().register_probe(&mut supported)?;
    if !supported.is_supported(opcode::Read::CODE) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let file = Arc::new(std::fs::File::open("/proc/self/exe")?);
    let descriptor = Descriptor::new(file.as_raw_fd(), MAGIC_BYTES as u64, file);
    match ranges::read_once(&device, descriptor, MAGIC_BYTES) {
        Some(magic) if magic.bytes() == b"\x7FELF" => Ok(()),
        _ => Err(io::Error::other("a read through a ring failed")),
    }
}

/// How a call of the kernel ended.
enum Entered {
    Done,
    /// The kernel is short of a resource.
    Short,
    Broken,
}

impl RingDevice for UringDevice {
    unsafe fn push(&self, entry: Entry) -> bool {
        let entry = match entry {
            Entry::Read { user_data, fd, offset, memory, length } => {
                opcode::Read::new(types::Fd(fd), memory, length).offset(offset).build().user_data(user_data)
            }
            Entry::Cancel { target } => opcode::AsyncCancel::new(target).build().user_data(CANCEL_USER_DATA),
        };
        // SAFETY: submissions come from one thread at a time, so this is the only view of the queue. The caller
        // guarantees the memory that the entry points to.
        let pushed = unsafe {
            let mut queue = self.ring.submission_shared();
            queue.push(&entry)
        };
        pushed.is_ok()
    }

    #[expect(clippy::disallowed_methods, reason = "the kernel is short of a resource: there is no clock to wait by")]
    fn enter(&self, wanted: usize, time: Option<Duration>) {
        if self.is_broken() {
            // Completions still arrive by themselves.
            return std::thread::sleep(PAUSE);
        }
        for attempt in 0..MAX_ATTEMPTS {
            match self.call(wanted, time) {
                Entered::Done | Entered::Broken => return,
                // The caller then takes the available completions, which makes room.
                Entered::Short if wanted > 0 => return std::thread::sleep(PAUSE.min(time.unwrap_or(PAUSE))),
                Entered::Short if attempt < MAX_HASTY_ATTEMPTS => std::thread::yield_now(),
                Entered::Short => std::thread::sleep(PAUSE),
            }
        }
    }

    fn take(&self, each: &mut dyn FnMut(u64, i32)) {
        // SAFETY: completions are taken by one thread at a time, so that this is the only view of the queue.
        let queue = unsafe { self.ring.completion_shared() };
        for completion in queue {
            each(completion.user_data(), completion.result());
        }
    }

    fn queued(&self) -> usize {
        // SAFETY: as in `push`.
        unsafe { self.ring.submission_shared() }.len()
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }
}
