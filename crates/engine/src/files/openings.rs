//! Files being opened for futures: by a few threads, each file once however many futures wait for it.
//!
//! ```text
//! asked for ----> waits ----> a thread opens it ----> done: the file, or why it cannot be opened, for all tasks
//!                   |
//!                   +-------> no task waits any more: nothing is opened
//! ```

use ferrock_base::sync::Mutex;
use ferrock_base::thread::{Job, Spawner, ThreadPool};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const MAX_THREADS: usize = 4;

/// The threads of a database for what would block a polling thread.
pub(crate) fn helper_threads(spawner: Arc<dyn Spawner>) -> ThreadPool<Job> {
    ThreadPool::new(spawner, "ferrock-open", MAX_THREADS)
}

struct State<T> {
    outcome: Option<Result<Arc<T>>>,
    /// By the numbers of all tasks that ever waited.
    wakers: Vec<Option<Waker>>,
    waiters: usize,
}

struct Shared<T> {
    state: Mutex<State<T>>,
}

type Running<T> = Arc<Mutex<HashMap<FileNumber, Arc<Shared<T>>>>>;

/// The files of one kind that are being opened.
pub(crate) struct Openings<T> {
    /// Locked before the state of one of them.
    running: Running<T>,
}

impl<T> Default for Openings<T> {
    fn default() -> Self {
        Self { running: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> Openings<T> {
    /// The file, as soon as `open` has opened it on one of the threads. Where it is being opened already, it is only
    /// waited for; where there are no threads, it is opened here.
    pub(crate) fn start(
        &self,
        threads: &ThreadPool<Job>,
        number: FileNumber,
        open: impl FnOnce() -> Result<Arc<T>> + Send + 'static,
    ) -> Opening<T> {
        let mut running = self.running.lock();
        if let Some(shared) = running.get(&number) {
            return Opening::join(shared);
        }
        let state = State { outcome: None, wakers: Vec::new(), waiters: 0 };
        let shared = Arc::new(Shared { state: Mutex::new(state) });
        let opening = Opening::join(&shared);
        running.insert(number, Arc::clone(&shared));
        drop(running);
        let work = Work { running: Arc::clone(&self.running), number, shared, is_over: false };
        threads.run(Box::new(move || work.perform(open)));
        opening
    }
}

/// A file that a thread has to open. However that ends, the waiting tasks are woken.
struct Work<T> {
    running: Running<T>,
    number: FileNumber,
    shared: Arc<Shared<T>>,
    is_over: bool,
}

impl<T> Work<T> {
    fn perform(mut self, open: impl FnOnce() -> Result<Arc<T>>) {
        if self.is_wanted() {
            let outcome = open();
            self.finish(outcome);
        }
    }

    /// False when no task waits, and none will.
    fn is_wanted(&mut self) -> bool {
        let mut running = self.running.lock();
        let is_wanted = self.shared.state.lock().waiters > 0;
        if !is_wanted {
            running.remove(&self.number);
            self.is_over = true;
        }
        is_wanted
    }

    fn finish(&mut self, outcome: Result<Arc<T>>) {
        self.is_over = true;
        self.running.lock().remove(&self.number);
        let wakers = {
            let mut state = self.shared.state.lock();
            state.outcome = Some(outcome);
            std::mem::take(&mut state.wakers)
        };
        for waker in wakers.into_iter().flatten() {
            // A waker that panics is the trouble of its task, not of the others.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        if !self.is_over {
            let number = self.number;
            let message = format!("file #{number} was not opened: its thread panicked, or was gone before it began");
            self.finish(Err(Error::new(ErrorKind::Aborted, message)));
        }
    }
}

/// A file that is being opened, for one of the waiting tasks.
pub(crate) struct Opening<T> {
    shared: Arc<Shared<T>>,
    number: usize,
}

impl<T> fmt::Debug for Opening<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("is_done", &self.shared.state.lock().outcome.is_some()).finish()
    }
}

impl<T> Opening<T> {
    fn join(shared: &Arc<Shared<T>>) -> Self {
        let mut state = shared.state.lock();
        state.waiters += 1;
        state.wakers.push(None);
        Self { shared: Arc::clone(shared), number: state.wakers.len().wrapping_sub(1) }
    }
}

impl<T> Future for Opening<T> {
    type Output = Result<Arc<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.state.lock();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        let before = state.wakers.get_mut(self.number).and_then(|waker| waker.replace(context.waker().clone()));
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T> Drop for Opening<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.waiters -= 1;
        let waker = state.wakers.get_mut(self.number).and_then(Option::take);
        drop(state);
        drop(waker);
    }
}

#[cfg(all(test, shuttle))]
mod models {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

    use super::*;
    use ferrock_base::thread::Join;
    use shuttle::thread;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug)]
    struct ModelSpawner;

    struct ModelJoin(thread::JoinHandle<()>);

    impl Join for ModelJoin {
        fn join(self: Box<Self>) -> Result<()> {
            self.0.join().expect("no thread panics");
            Ok(())
        }
    }

    impl Spawner for ModelSpawner {
        fn spawn(&self, _name: &str, job: Job) -> Result<Box<dyn Join>> {
            Ok(Box::new(ModelJoin(thread::spawn(job))))
        }
    }

    /// A task that waits gets the file, whichever others give up, and at the end nothing is left.
    fn model() {
        let files = Arc::new(Openings::<u64>::default());
        let threads = Arc::new(ThreadPool::new(Arc::new(ModelSpawner), "model", 2));
        let opened = Arc::new(AtomicU64::new(0));
        let start = |files: &Openings<u64>, threads: &ThreadPool<Job>, opened: &Arc<AtomicU64>| {
            let opened = Arc::clone(opened);
            files.start(threads, FileNumber(1), move || Ok(Arc::new(opened.fetch_add(1, Ordering::Relaxed))))
        };
        let askers: Vec<_> = (0..3)
            .map(|number| {
                let (files, threads, opened) = (Arc::clone(&files), Arc::clone(&threads), Arc::clone(&opened));
                thread::spawn(move || {
                    let opening = start(&files, &threads, &opened);
                    match number {
                        0 => drop(opening),
                        _ => drop(shuttle::future::block_on(opening).expect("it can be opened")),
                    }
                })
            })
            .collect();
        askers.into_iter().for_each(|asker| asker.join().expect("no asker panics"));
        // Whatever was given up does not stand in the way.
        shuttle::future::block_on(start(&files, &threads, &opened)).expect("it can be opened");
        assert!((1..=4).contains(&opened.load(Ordering::Relaxed)));
        let queue = threads.queue();
        drop(threads);
        while queue.has_threads() {
            thread::yield_now();
        }
        assert!(files.running.lock().is_empty());
    }

    #[test]
    fn shuttle_files_are_opened_for_all_who_wait() {
        shuttle::check_random(model, 5000);
    }

    #[test]
    fn shuttle_files_are_opened_for_all_who_wait_with_few_preemptions() {
        shuttle::check_pct(model, 5000, 3);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

    use super::*;
    use ferrock_base::thread::{Join, StdSpawner};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::Wake;
    use std::thread::Thread;

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<T>(mut opening: Opening<T>) -> Result<Arc<T>> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            match Pin::new(&mut opening).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    fn is_pending<T>(opening: &mut Opening<T>) -> bool {
        Pin::new(opening).poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    struct Bench {
        threads: ThreadPool<Job>,
        files: Openings<u64>,
        opened: Arc<AtomicUsize>,
        gate: Sender<()>,
        gated: Arc<Mutex<Receiver<()>>>,
    }

    impl Bench {
        fn new() -> Self {
            let (gate, gated) = channel();
            let threads = helper_threads(StdSpawner::shared());
            let (files, opened) = (Openings::default(), Arc::default());
            Self { threads, files, opened, gate, gated: Arc::new(Mutex::new(gated)) }
        }

        /// Opens a file whose number is its contents when the gate lets it.
        fn start(&self, number: u64) -> Opening<u64> {
            let (opened, gated) = (Arc::clone(&self.opened), Arc::clone(&self.gated));
            self.files.start(&self.threads, FileNumber(number), move || {
                gated.lock().recv().expect("the gate is there");
                opened.fetch_add(1, Ordering::Relaxed);
                Ok(Arc::new(number))
            })
        }

        fn let_in(&self, count: usize) {
            (0..count).for_each(|_| self.gate.send(()).expect("the gate is open"));
        }
    }

    #[test]
    fn a_file_is_opened_once_for_all_who_wait() {
        let bench = Bench::new();
        let mut all: Vec<_> = (0..20).map(|number| bench.start(number % 2)).collect();
        assert!(all.iter_mut().all(is_pending));
        // A task that gives up does not disturb the others.
        drop(all.drain(..2));
        bench.let_in(2);
        for (number, opening) in all.into_iter().enumerate() {
            assert_eq!(*block_on(opening).unwrap(), number as u64 % 2);
        }
        assert_eq!(bench.opened.load(Ordering::Relaxed), 2);
        assert!(bench.files.running.lock().is_empty());
        bench.let_in(1);
        assert_eq!(*block_on(bench.start(1)).unwrap(), 1, "and again when it is asked for again");
    }

    #[test]
    fn what_nobody_waits_for_is_not_opened() {
        let bench = Bench::new();
        let busy: Vec<_> = (0..MAX_THREADS as u64).map(|number| bench.start(number)).collect();
        drop(bench.start(100));
        let joined = (bench.start(101), bench.start(101));
        drop(joined.0);
        bench.let_in(MAX_THREADS + 1);
        busy.into_iter().for_each(|opening| drop(block_on(opening).unwrap()));
        assert_eq!(*block_on(joined.1).unwrap(), 101);
        assert_eq!(bench.opened.load(Ordering::Relaxed), MAX_THREADS + 1);
        while !bench.files.running.lock().is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_panic_is_an_error_for_those_who_wait() {
        let bench = Bench::new();
        for _ in 0..10 {
            let opening = bench.files.start(&bench.threads, FileNumber(7), || panic!("as it was told"));
            let error = block_on(opening).unwrap_err();
            assert!(error.kind() == ErrorKind::Aborted && error.to_string().contains("#000007"), "{error}");
        }
        bench.let_in(1);
        assert_eq!(*block_on(bench.start(7)).unwrap(), 7);
    }

    #[derive(Debug)]
    struct NoThreads;

    impl Spawner for NoThreads {
        fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
            Err(Error::new(ErrorKind::Aborted, "no more threads"))
        }
    }

    #[test]
    fn without_threads_who_asks_opens_it() {
        let bench = Bench { threads: helper_threads(Arc::new(NoThreads)), ..Bench::new() };
        bench.let_in(1);
        let mut opening = bench.start(3);
        assert!(!is_pending(&mut opening));
        assert!(bench.files.running.lock().is_empty());
    }
}
