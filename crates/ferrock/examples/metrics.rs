//! Numbers: what a database tells about itself, and the page of it that Prometheus scrapes.
//!
//!     cargo run --release -p ferrock --example metrics            # one scrape of its own
//!     cargo run --release -p ferrock --example metrics -- 9184    # answers on 127.0.0.1:9184 until it is ended
//!
//! The server is as small as it can be; a program with a web server adds one more answer to it.

use ferrock::options::MemoryBudget;
use ferrock::statistics::Statistics;
use ferrock::{Db, DbOptions, Error, ErrorKind};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

/// Reads a request and answers it with the numbers of this moment.
fn answer(db: &Db, mut stream: TcpStream) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
    let page = ferrock::metrics::prometheus(&db.metrics());
    let length = page.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\r\n")?;
    stream.write_all(page.as_bytes())
}

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-metrics");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    // With these a page also has latencies, and what holds which part of the memory.
    options.components.statistics = Some(Arc::new(Statistics::default()));
    options.components.memory_budget = Some(MemoryBudget::new(64 << 20));
    let db = Db::open(&directory, options)?;
    for number in 0..10_000_u32 {
        db.put(&number.to_be_bytes(), b"value")?;
    }
    db.flush()?;
    let _snapshot = db.snapshot();
    for number in 0..1_000_u32 {
        db.get(&number.to_be_bytes())?;
    }

    // A program that looks after itself takes the numbers as they are.
    let metrics = db.metrics();
    let family = metrics.family("default").ok_or_else(|| Error::new(ErrorKind::NotFound, "no default family"))?;
    println!("{} batches in {} groups", metrics.writes.batches, metrics.writes.groups);
    println!("{} sorted runs, write amplification {:.1}", family.sorted_runs(), family.write_amplification());
    for waits in metrics.stalls.waits.iter().filter(|waits| waits.delays + waits.stops > 0) {
        println!("writers waited {} us for {}", waits.delay_us + waits.stop_us, waits.cause.name());
    }

    // Of a test of this example there are no arguments.
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if port.is_some() {
        println!("http://{address}/metrics");
        for stream in listener.incoming() {
            if let Err(error) = stream.and_then(|stream| answer(&db, stream)) {
                eprintln!("{error}");
            }
        }
        return Ok(());
    }
    // A scrape: its request waits in the listener until it is answered.
    let mut client = TcpStream::connect(address).map_err(failed)?;
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").map_err(failed)?;
    answer(&db, listener.accept().map_err(failed)?.0).map_err(failed)?;
    let mut page = String::new();
    client.read_to_string(&mut page).map_err(failed)?;
    let shown = ["ferrock_level_bytes", "ferrock_statistics_db_get_seconds_sum", "ferrock_snapshots"];
    page.lines().filter(|line| shown.iter().any(|name| line.starts_with(name))).for_each(|line| println!("{line}"));
    db.close()
}
