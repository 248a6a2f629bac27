//! How long a thread was on a processor.

/// Nanoseconds for which the thread that calls was on a processor since it began, in the kernel and outside; 0 where
/// the system does not tell.
///
/// ```
/// let start = ferrock_vfs::thread_cpu_ns();
/// let sum: u64 = (0..100_000).map(std::hint::black_box).sum();
/// assert_eq!(sum, 4_999_950_000);
/// assert!(!cfg!(target_os = "linux") || ferrock_vfs::thread_cpu_ns() > start);
/// ```
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let part = |value: i64| u64::try_from(value).unwrap_or(0);
        part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec))
    }
    #[cfg(not(unix))]
    0
}
