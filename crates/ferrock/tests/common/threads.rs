//! Threads of a test: held at a gate, counted, and known to wait.
//!
//! A test that asserts that a thread waits must know that the thread has come to its wait; a sleep only makes that
//! likely, and passes without testing where the machine is slow. [`Waiting`] looks at the state of the thread instead.

use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use parking_lot::{Condvar, Mutex};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a test waits for what has to come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition that nothing signals.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE, "{what}: it does not come");
        // Only how often the condition is looked at depends on this time.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Holds the threads that pass while it is shut.
#[derive(Debug, Default)]
pub struct Gate {
    /// Whether it is shut, and how many threads wait.
    state: Mutex<(bool, usize)>,
    moved: Condvar,
}

impl Gate {
    pub fn shut() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new((true, 0)), moved: Condvar::new() })
    }

    pub fn set(&self, is_shut: bool) {
        self.state.lock().0 = is_shut;
        self.moved.notify_all();
    }

    pub fn open(&self) {
        self.set(false);
    }

    pub fn pass(&self) {
        let mut state = self.state.lock();
        state.1 += 1;
        self.moved.notify_all();
        let is_late = self.moved.wait_while_for(&mut state, |(is_shut, _)| *is_shut, PATIENCE).timed_out();
        state.1 -= 1;
        drop(state);
        assert!(!is_late, "the gate stays shut");
    }

    /// Waits until so many threads wait here.
    pub fn wait_for(&self, threads: usize) {
        let mut state = self.state.lock();
        let is_late = self.moved.wait_while_for(&mut state, |(_, waiting)| *waiting < threads, PATIENCE).timed_out();
        drop(state);
        assert!(!is_late, "fewer than {threads} threads come to the gate");
    }
}

/// Starts threads, keeps their names, and lets their jobs begin when the gate is open.
#[derive(Debug, Default)]
pub struct RecordingSpawner {
    names: Mutex<Vec<String>>,
    pub gate: Arc<Gate>,
}

impl RecordingSpawner {
    pub fn behind(gate: &Arc<Gate>) -> Self {
        Self { names: Mutex::default(), gate: Arc::clone(gate) }
    }

    /// How many threads with `part` in their names were started.
    pub fn count(&self, part: &str) -> u64 {
        self.names.lock().iter().filter(|name| name.contains(part)).count() as u64
    }
}

impl Spawner for RecordingSpawner {
    fn spawn(&self, name: &str, job: Job) -> ferrock::Result<Box<dyn Join>> {
        self.names.lock().push(name.to_owned());
        let gate = Arc::clone(&self.gate);
        let held = move || {
            gate.pass();
            job();
        };
        StdSpawner.spawn(name, Box::new(held))
    }
}

/// A thread that is expected to wait.
pub struct Waiting<T> {
    handle: JoinHandle<T>,
    task: PathBuf,
}

impl<T: Send + 'static> Waiting<T> {
    /// Starts a thread and returns when it waits. Panics if it ends instead.
    pub fn begin(what: &str, run: impl FnOnce() -> T + Send + 'static) -> Self {
        let (told, task) = channel();
        let handle = std::thread::spawn(move || {
            told.send(std::fs::read_link("/proc/thread-self").unwrap_or_default()).unwrap();
            run()
        });
        let task = PathBuf::from("/proc").join(task.recv().unwrap());
        let waiting = Self { handle, task };
        waiting.comes_to_wait(what);
        waiting
    }

    /// Returns when the thread waits: it is asleep, and was not woken between several looks at it.
    fn comes_to_wait(&self, what: &str) {
        let (mut last, mut looks) = (None, 0);
        let since = Instant::now();
        // Some waits end by themselves after a tenth of a second, and begin anew.
        while looks < 5 {
            assert!(!self.handle.is_finished(), "{what}: it did not wait");
            assert!(since.elapsed() < PATIENCE, "{what}: it comes to no wait");
            let now = self.sleeps();
            looks = if now.is_some() && now == last { looks + 1 } else { 0 };
            last = now;
            wait_a_look();
        }
    }

    /// How often the thread has gone to sleep, if it sleeps now.
    #[cfg(target_os = "linux")]
    fn sleeps(&self) -> Option<u64> {
        let status = std::fs::read_to_string(self.task.join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        field("State:")?.starts_with('S').then_some(())?;
        field("voluntary_ctxt_switches:")?.parse().ok()
    }

    /// Other systems do not say: there the thread has only had time to come to its wait.
    #[cfg(not(target_os = "linux"))]
    fn sleeps(&self) -> Option<u64> {
        Some(0)
    }

    /// Returns when the thread waits again, after something was done that must not let it go.
    pub fn still_waits(&self, what: &str) {
        self.comes_to_wait(what);
    }

    pub fn join(self) -> T {
        self.handle.join().unwrap()
    }
}

fn wait_a_look() {
    // Gives the processor to the thread that is looked at.
    std::thread::sleep(Duration::from_micros(200));
}
