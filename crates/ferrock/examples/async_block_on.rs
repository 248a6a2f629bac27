//! The service of `async_tokio.rs` without a runtime: an executor of twenty lines that polls many futures on one
//! thread.
//!
//! `cargo run -p ferrock --example async_block_on`

#[path = "async_service/mod.rs"]
mod service;

use service::Rooms;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

/// Tells the executor which of its futures to poll.
struct Task(usize, mpsc::Sender<usize>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // The executor has ended: then so has the future.
        let _ = self.1.send(self.0);
    }
}

/// Polls all futures until each has its result.
fn block_on_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let (send, woken) = mpsc::channel();
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let wakers: Vec<Waker> = (0..futures.len()).map(|number| Arc::new(Task(number, send.clone())).into()).collect();
    (0..futures.len()).for_each(|number| wakers[number].wake_by_ref());
    while results.iter().any(Option::is_none) {
        // It sleeps here, and `send` keeps the channel open.
        let Ok(number) = woken.recv() else { break };
        if results[number].is_none()
            && let Poll::Ready(out) = futures[number].as_mut().poll(&mut Context::from_waker(&wakers[number]))
        {
            results[number] = Some(out);
        }
    }
    results.into_iter().flatten().collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let rooms = Rooms::open(directory.path())?;
    let requests = service::some_requests();
    let answers = block_on_all(requests.iter().map(|request| rooms.answer(request)).collect());
    service::report(requests.into_iter().zip(answers).collect())
}
