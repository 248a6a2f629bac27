//! A service on tokio: requests come by a channel, each is a task, all on one thread.
//!
//! `cargo run -p ferrock --example async_tokio`. The same without tokio: `async_block_on.rs`.

#[path = "async_service/mod.rs"]
mod service;

use service::{Request, Rooms};
use std::sync::mpsc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let rooms = Rooms::open(directory.path())?;
    let (send, answers) = mpsc::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for request in service::some_requests() {
            let (rooms, send) = (rooms.clone(), send.clone());
            tasks.push(tokio::spawn(async move {
                let answer = rooms.answer(&request).await;
                // The receiver is gone: then no task wants the answer.
                let _ = send.send((request, answer));
            }));
        }
        for task in tasks {
            task.await?;
        }
        Ok::<_, tokio::task::JoinError>(())
    })?;
    drop(send);
    service::report(answers.into_iter().collect::<Vec<(Request, _)>>())
}
