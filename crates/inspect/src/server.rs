//! The server: HTTP/1.1, GET and HEAD, a request for each connection, a fixed number of threads.
//!
//! Every thread accepts, reads a head, answers and closes. A connection has [`HEAD_TIME`] for its head and
//! [`WRITE_TIME`] for each part of its answer, so that one that does nothing holds a thread for seconds only. Dropping
//! the server closes the connections that are open, wakes the threads by connections of its own, and joins them.

use crate::answer::Answer;
use crate::request::{self, MAX_HEAD_BYTES, Refusal, Request};
use ferrock::{Error, Result};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::{Join, Spawner, StdSpawner};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Threads, and so connections that are served at the same time. A browser opens six, some of them on suspicion.
const THREADS: usize = 8;
/// For how long a head may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// For how long a write of the answer may not advance.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// What is read, and for how long, of a request that was refused: a client that still writes would otherwise see a
/// broken connection in place of the answer.
const DRAIN_BYTES: usize = 1 << 20;
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// For how long a connection that wakes a thread may take.
const WAKE_TIME: Duration = Duration::from_secs(1);
/// The pause after an accept that failed: out of descriptors, mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What answers requests.
pub(crate) type Handler = dyn Fn(&Request) -> std::result::Result<Answer, Refusal> + Send + Sync;

/// Serves until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<Box<dyn Join>>,
}

struct Shared {
    listener: TcpListener,
    is_stopped: AtomicBool,
    /// The connection that each thread serves.
    open: [Mutex<Option<TcpStream>>; THREADS],
    handler: Box<Handler>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn start(address: &str, handler: Box<Handler>) -> Result<Self> {
        let failed = |source| Error::io("listening", address, source).context("choose another address");
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let open = std::array::from_fn(|_| Mutex::default());
        let is_stopped = AtomicBool::new(false);
        let shared = Arc::new(Shared { listener, is_stopped, open, handler, clock: SystemClock::shared() });
        // Dropped by an error, it stops the threads that were started.
        let mut server = Self { address, shared, threads: Vec::new() };
        for slot in 0..THREADS {
            let shared = Arc::clone(&server.shared);
            server.threads.push(StdSpawner.spawn("ferrock-inspect", Box::new(move || shared.serve(slot)))?);
        }
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        for slot in &self.shared.open {
            if let Some(stream) = &*slot.lock() {
                // It may be closed already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        for thread in self.threads.drain(..) {
            self.shared.wake();
            // A handler that panicked has ended its thread alone.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, slot: usize) {
        while !self.is_stopped.load(Ordering::SeqCst) {
            let Ok((stream, _)) = self.listener.accept() else {
                self.clock.sleep(ACCEPT_PAUSE);
                continue;
            };
            *self.open[slot].lock() = stream.try_clone().ok();
            if !self.is_stopped.load(Ordering::SeqCst) {
                // An error here is that of a client that went away.
                let _ = self.converse(&stream);
            }
            *self.open[slot].lock() = None;
        }
        // The thread that ends may have taken the connection that was to wake another one.
        self.wake();
    }

    /// Makes a thread that waits for a connection look whether it is to stop.
    fn wake(&self) {
        let Ok(mut address) = self.listener.local_addr() else { return };
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            });
        }
        let _ = TcpStream::connect_timeout(&address, WAKE_TIME);
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIME))?;
        stream.set_nodelay(true)?;
        let request = self.read_head(stream)?.and_then(|head| {
            let local = stream.local_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |local| local.ip());
            request::parse(&head, local.to_canonical())
        });
        let (answer, is_head) = match request {
            Ok(request) => {
                ((self.handler)(&request).unwrap_or_else(|refusal| Answer::refusal(&refusal)), request.is_head)
            }
            Err(refusal) => (Answer::refusal(&refusal), false),
        };
        let mut out = stream;
        out.write_all(answer.head().as_bytes())?;
        if !is_head {
            out.write_all(&answer.body)?;
        }
        stream.shutdown(Shutdown::Write)?;
        self.drain(stream)
    }

    /// Reads up to the empty line; the outer error is of the connection, the inner one of the request.
    fn read_head(&self, mut stream: &TcpStream) -> io::Result<std::result::Result<Vec<u8>, Refusal>> {
        let begin = self.clock.moment();
        let mut head = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            let left = HEAD_TIME.saturating_sub(Duration::from_micros(self.clock.elapsed_us(begin)));
            if left.is_zero() {
                return Ok(Err(Refusal::new("408 Request Timeout", "the request did not come in time")));
            }
            stream.set_read_timeout(Some(left))?;
            let read = match stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            head.extend_from_slice(&buffer[..read]);
            match request::end_of_head(&head) {
                Some(end) if end <= MAX_HEAD_BYTES => {
                    head.truncate(end);
                    return Ok(Ok(head));
                }
                None if head.len() <= MAX_HEAD_BYTES => {}
                _ => {
                    let message = format!("the head of a request has at most {MAX_HEAD_BYTES} bytes");
                    return Ok(Err(Refusal::new("431 Request Header Fields Too Large", message)));
                }
            }
        }
    }

    /// Reads what the client still sends, within bounds.
    fn drain(&self, mut stream: &TcpStream) -> io::Result<()> {
        let begin = self.clock.moment();
        let mut buffer = [0; 4096];
        let mut drained = 0;
        while drained < DRAIN_BYTES {
            let left = DRAIN_TIME.saturating_sub(Duration::from_micros(self.clock.elapsed_us(begin)));
            if left.is_zero() {
                break;
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut buffer)? {
                0 => break,
                read => drained += read,
            }
        }
        Ok(())
    }
}
