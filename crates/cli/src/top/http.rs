//! A client for one server: GET of a path by HTTP/1.1, with bounds for everything that the other side decides.
//!
//! ```text
//! GET /api/metrics HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n      ->
//!     <-   HTTP/1.1 200 OK\r\nContent-Length: N\r\n\r\n      at most 16 KiB
//!          N bytes                                           at most 64 MiB, all of them within 5 seconds
//! ```
//!
//! Only `http://` is spoken. The server has no password and should listen on a loopback address; what lies between
//! two machines belongs in an SSH tunnel, which every error about a URL names.

use ferrock_base::clock::{Clock, Moment};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// For how long a connection may take to be made.
const CONNECT_TIME: Duration = Duration::from_secs(2);
/// For how long an answer may take from the first to its last byte.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Bytes of the status line and the headers.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Bytes of a body: the numbers of a database of ten thousand families.
const MAX_BODY_BYTES: usize = 64 << 20;

const TUNNEL: &str = "another machine's is reached by `ssh -L 8080:127.0.0.1:PORT HOST` as http://127.0.0.1:8080/";

/// Host and port of an inspector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// As the `Host` header has it.
    authority: String,
    host: String,
    port: u16,
}

/// Why there is no answer, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Unanswered {
    fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into() }
    }
}

/// Status and body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/", self.authority)
    }
}

impl Url {
    /// Reads `http://HOST[:PORT][/]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text:?} is not the URL of an inspector: {why}");
        let Some(rest) = text.strip_prefix("http://") else {
            return Err(wrong(&format!("only http:// is spoken; {TUNNEL}")));
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#']) {
            return Err(wrong("give it as `ferrock inspect` prints it, http://HOST:PORT/, without a path"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or_else(|| wrong("an address in brackets has no end"))?,
            None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_address =
            authority.starts_with('[') && host.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        if host.is_empty() || !(is_address || host.bytes().all(is_name)) {
            return Err(wrong("the host must be a name or an address, as 127.0.0.1 or [::1]"));
        }
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => 80,
            None => return Err(wrong("a port comes behind a colon")),
            Some(digits) => {
                let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
                let port = digits.parse().ok().filter(|port| is_number && *port > 0);
                port.ok_or_else(|| wrong(&format!("the port must be from 1 to 65535, not {digits:?}")))?
            }
        };
        Ok(Self { authority: authority.to_owned(), host: host.to_owned(), port })
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str, clock: &dyn Clock) -> Result<Response, Unanswered> {
        let stream = self.connect()?;
        let exchange = Exchange { url: self, stream: &stream, clock, begin: clock.moment() };
        exchange.ask(path)?;
        let (head, rest) = exchange.head()?;
        exchange.body(&head, rest)
    }

    fn connect(&self) -> Result<TcpStream, Unanswered> {
        let resolved = (self.host.as_str(), self.port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = match resolved {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                let message = format!("{self}: the name {:?} has no address: {error}", self.host);
                return Err(Unanswered::new(message, "check the host in the URL"));
            }
        };
        let mut last = None;
        for address in &addresses {
            match TcpStream::connect_timeout(address, CONNECT_TIME) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        let why = last.map_or_else(|| "the name has no address".to_owned(), |error| error.to_string());
        let remedy = format!("check that the program or `ferrock inspect` still runs, and its port; {TUNNEL}");
        Err(Unanswered::new(format!("{self}: no connection: {why}"), remedy))
    }
}

/// One request and its answer.
struct Exchange<'a> {
    url: &'a Url,
    stream: &'a TcpStream,
    clock: &'a dyn Clock,
    begin: Moment,
}

impl Exchange<'_> {
    fn ask(&self, path: &str) -> Result<(), Unanswered> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.url.authority);
        let mut out = self.stream;
        let sent = self.stream.set_write_timeout(Some(ANSWER_TIME)).and_then(|()| out.write_all(request.as_bytes()));
        sent.map_err(|error| self.broken(&error))
    }

    /// The head without its empty line, and what came behind it.
    fn head(&self) -> Result<(String, Vec<u8>), Unanswered> {
        let mut bytes = Vec::new();
        loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = bytes.split_off(at + 4);
                bytes.truncate(at);
                return match String::from_utf8(bytes) {
                    Ok(head) => Ok((head, rest)),
                    Err(_) => Err(self.foreign("its answer does not begin as one of HTTP")),
                };
            }
            let shown = bytes.len().min(5);
            if bytes[..shown] != b"HTTP/"[..shown] {
                return Err(self.foreign("its answer does not begin as one of HTTP"));
            }
            if bytes.len() > MAX_HEAD_BYTES {
                return Err(self.foreign("the head of its answer does not end"));
            }
            if self.read_into(&mut bytes)? == 0 {
                return Err(self.foreign("it ended the connection before its answer"));
            }
        }
    }

    fn body(&self, head: &str, mut body: Vec<u8>) -> Result<Response, Unanswered> {
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let is_http = status.starts_with("HTTP/1.0 ") || status.starts_with("HTTP/1.1 ");
        let code = status.get(9..12).filter(|_| is_http).and_then(|digits| digits.parse::<u16>().ok());
        let code = code.ok_or_else(|| self.foreign("its answer does not begin as one of HTTP"))?;
        let mut length = None;
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| self.foreign("a header has no colon"))?;
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(self.foreign("it sends its answer in chunks"));
            }
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let length = length.ok_or_else(|| self.foreign("its answer has no length"))?;
        if length > MAX_BODY_BYTES {
            return Err(self.foreign(&format!("its answer has {length} bytes, more than {MAX_BODY_BYTES}")));
        }
        while body.len() < length {
            if self.read_into(&mut body)? == 0 {
                return Err(self.foreign(&format!("its answer ended after {} of {length} bytes", body.len())));
            }
        }
        body.truncate(length);
        Ok(Response { status: code, body })
    }

    /// Appends what is there, waiting no longer than the whole answer may take. 0 at the end.
    fn read_into(&self, bytes: &mut Vec<u8>) -> Result<usize, Unanswered> {
        let mut buffer = [0; 16 << 10];
        loop {
            let left = ANSWER_TIME.saturating_sub(Duration::from_micros(self.clock.elapsed_us(self.begin)));
            if left.is_zero() {
                let message = format!("{}: no whole answer within {} seconds", self.url, ANSWER_TIME.as_secs());
                return Err(Unanswered::new(
                    message,
                    "check that it is an inspector, and that its machine is not busy",
                ));
            }
            let mut from = self.stream;
            match self.stream.set_read_timeout(Some(left)).and_then(|()| from.read(&mut buffer)) {
                Ok(read) => {
                    bytes.extend_from_slice(&buffer[..read]);
                    return Ok(read);
                }
                Err(error) if is_to_retry(&error) => {}
                Err(error) => return Err(self.broken(&error)),
            }
        }
    }

    fn broken(&self, error: &io::Error) -> Unanswered {
        let message = format!("{}: the connection broke: {error}", self.url);
        Unanswered::new(message, "check that the program or `ferrock inspect` still runs")
    }

    fn foreign(&self, why: &str) -> Unanswered {
        foreign(self.url, why)
    }
}

/// The error of a server that is no inspector.
pub(crate) fn foreign(url: &Url, why: &str) -> Unanswered {
    let message = format!("{url}: this is not an inspector of Ferrock: {why}");
    Unanswered::new(message, "give the URL that `ferrock inspect` prints or `Inspector::url` returns")
}

fn is_to_retry(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::SystemClock;
    use std::net::TcpListener;

    #[test]
    fn urls_are_those_that_an_inspector_prints() {
        for (text, host, port) in [
            ("http://127.0.0.1:8080/", "127.0.0.1", 8080),
            ("http://localhost", "localhost", 80),
            ("http://[::1]:9/", "::1", 9),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host.as_str(), url.port), (host, port));
            assert_eq!(url.to_string(), format!("{}/", text.trim_end_matches('/')));
        }
        for (text, word) in [
            ("https://127.0.0.1/", "ssh -L"),
            ("ftp://127.0.0.1/", "only http://"),
            ("http://", "host"),
            ("http://:80/", "host"),
            ("http://name@host/", "host"),
            ("http://a b/", "host"),
            ("http://a\r\nX: y/", "host"),
            ("http://127.0.0.1:0/", "1 to 65535"),
            ("http://127.0.0.1:65536/", "1 to 65535"),
            ("http://127.0.0.1:+1/", "1 to 65535"),
            ("http://[::1/", "no end"),
            ("http://[::1]80/", "colon"),
            ("http://127.0.0.1/api/metrics", "without a path"),
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }

    /// What the client makes of a server that sends `answer`, and then `more` until the client is gone.
    #[expect(clippy::disallowed_methods, reason = "a server in a test")]
    fn ask(answer: &'static [u8], more: &'static [u8]) -> Result<Response, Unanswered> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let mut sent = stream.write_all(answer);
            while sent.is_ok() && !more.is_empty() {
                sent = stream.write_all(more);
            }
            String::from_utf8(request).unwrap()
        });
        let response = url.get("/api/metrics", &*SystemClock::shared());
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /api/metrics HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        response
    }

    #[test]
    fn an_answer_is_its_status_and_as_many_bytes_as_it_says() {
        let answer = ask(b"HTTP/1.1 503 No\r\nX: y\r\ncontent-length: 3\r\n\r\nabcdef", b"").unwrap();
        assert_eq!((answer.status, &answer.body[..]), (503, &b"abc"[..]));
    }

    #[test]
    fn what_is_no_answer_says_so_and_ends() {
        for (answer, more, word) in [
            (&b""[..], &b""[..], "before its answer"),
            (b"SSH-2.0-OpenSSH\r\n", b"", "does not begin"),
            (b"\xff\xfe garbage", b"\x00\x01\x02", "does not begin"),
            (b"HTTP/1.1 200 OK\r\nX: ", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "does not end"),
            (b"HTTP/9.9 200 OK\r\n\r\n", b"", "does not begin"),
            (b"HTTP/1.1 2x0 OK\r\n\r\n", b"", "does not begin"),
            (b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n", b"", "colon"),
            (b"HTTP/1.1 200 OK\r\n\r\n", b"endless", "no length"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"endless", "no length"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", "chunks"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"endless", "more than 67108864"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", b"", "after 5 of 10 bytes"),
        ] {
            let error = ask(answer, more).unwrap_err();
            assert!(error.message.contains(word), "{word}: {error:?}");
            assert!(!error.remedy.is_empty());
        }
    }

    /// A server that says a little now and then does not hold the client longer than an answer may take.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a server in a test")]
    fn an_answer_that_drips_ends_by_the_clock() {
        let clock = std::sync::Arc::new(ferrock_base::clock::ManualClock::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn({
            let clock = clock.clone();
            move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
                for _ in 0..1_000_000 {
                    clock.advance(Duration::from_secs(1));
                    sent = sent.and_then(|()| stream.write_all(b"."));
                }
                sent.is_err()
            }
        });
        let error = url.get("/", &*clock).unwrap_err();
        assert!(error.message.contains("within 5 seconds"), "{error:?}");
        assert!(server.join().unwrap(), "the client went before the end");
    }
}
