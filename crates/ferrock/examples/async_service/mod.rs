//! The service that both examples run: messages of rooms.

use ferrock::{Db, DbOptions, ReadOptions, Result};
use std::path::Path;

/// A request.
#[derive(Debug)]
pub enum Request {
    /// The text of one message.
    Message(u32, u32),
    /// Some messages of a room, at once.
    Messages(u32, Vec<u32>),
    /// How many messages a room has from a number on.
    Count(u32, u32),
}

/// The messages. Clones share the database.
#[derive(Clone)]
pub struct Rooms {
    db: Db,
}

fn key(room: u32, message: u32) -> Vec<u8> {
    [room.to_be_bytes(), message.to_be_bytes()].concat()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Rooms {
    /// Some rooms with some messages, in tables.
    pub fn open(directory: &Path) -> Result<Self> {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        let db = Db::open(directory, options)?;
        for room in 0..50 {
            for message in 0..200 {
                db.put(&key(room, message), format!("message {message} of room {room}").as_bytes())?;
            }
        }
        db.flush()?;
        Ok(Self { db })
    }

    /// Answers a request. Nothing in here blocks.
    pub async fn answer(&self, request: &Request) -> Result<String> {
        let options = ReadOptions::default();
        match request {
            Request::Message(room, message) => {
                let found = self.db.get_async(&options, &key(*room, *message)).await?;
                Ok(found.map_or_else(|| "no such message".to_owned(), |found| text(&found)))
            }
            Request::Messages(room, messages) => {
                let keys: Vec<_> = messages.iter().map(|message| key(*room, *message)).collect();
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let mut texts = Vec::new();
                for found in self.db.multi_get_async(&options, &keys).await {
                    texts.extend(found?.map(|found| text(&found)));
                }
                Ok(texts.join(", "))
            }
            Request::Count(room, from) => {
                let (lower, upper) = (key(*room, *from), key(*room + 1, 0));
                let bounds = ReadOptions { lower_bound: Some(lower), upper_bound: Some(upper), ..options };
                let mut scan = self.db.scan_async(&bounds);
                let mut count = 0;
                while let Some(batch) = scan.next_batch().await? {
                    count += batch.len();
                }
                Ok(format!("{count} messages"))
            }
        }
    }
}

/// What comes in.
pub fn some_requests() -> Vec<Request> {
    let of_room =
        |room| [Request::Message(room, 7), Request::Messages(room, vec![1, 2, 500]), Request::Count(room, 150)];
    (0..50).flat_map(of_room).collect()
}

/// Prints some answers, and whether all came.
pub fn report(answers: Vec<(Request, Result<String>)>) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let count = answers.len();
    for (number, (request, answer)) in answers.into_iter().enumerate() {
        let answer = answer?;
        if number < 3 {
            println!("{request:?}: {answer}");
        }
    }
    println!("{count} requests answered");
    Ok(())
}
