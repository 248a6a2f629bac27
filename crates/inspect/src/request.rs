//! One HTTP request: the head of a GET or HEAD, bounded, and nothing else.
//!
//! ```text
//! GET /api/files?cf=default&limit=100 HTTP/1.1\r\n     request line: method, target, version
//! Host: 127.0.0.1:8080\r\n                             the one header that is needed
//! \r\n                                                 no body
//! ```
//!
//! The `Host` must be a loopback name, or the address at which the connection arrived. A page of another site whose
//! name was pointed at a loopback address (DNS rebinding) sends that name, and is refused.

use std::net::IpAddr;

/// Bytes that a head may have.
pub(crate) const MAX_HEAD_BYTES: usize = 8 << 10;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// HEAD: the answer goes without its body.
    pub(crate) is_head: bool,
    pub(crate) path: String,
    pub(crate) query: Query,
}

/// Names and values behind the `?`, decoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

/// Why a request is refused: the status, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new("400 Bad Request", message)
    }
}

impl Query {
    /// The value of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The number that a parameter is.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = || Refusal::bad(format!("{name} must be a whole number from 0 on, not {text:?}"));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// Refuses parameters that are not in `known`.
    pub(crate) fn check_names(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => Err(Refusal::bad(format!("{name:?}: no parameters are known here"))),
            Some((name, _)) => {
                Err(Refusal::bad(format!("{name:?} is no parameter; those known here are {}", known.join(", "))))
            }
        }
    }
}

/// Where the head ends, behind its empty line.
pub(crate) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads a head. `local` is the address at which the connection arrived.
pub(crate) fn parse(head: &[u8], local: IpAddr) -> Result<Request, Refusal> {
    let text = std::str::from_utf8(head).map_err(|_| Refusal::bad("the head of the request is not UTF-8"))?;
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::bad("the request line is not METHOD TARGET VERSION"));
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Err(Refusal::new("505 HTTP Version Not Supported", "HTTP/1.1 is spoken here"));
    }
    check_headers(lines, local)?;
    let is_head = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(Refusal::new("405 Method Not Allowed", "only GET and HEAD: nothing here can be changed")),
    };
    if !target.starts_with('/') {
        return Err(Refusal::bad("the target must be a path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Request { is_head, path: path.to_owned(), query: parse_query(query)? })
}

fn check_headers<'a>(lines: impl Iterator<Item = &'a str>, local: IpAddr) -> Result<(), Refusal> {
    let mut hosts = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| Refusal::bad("a header has no colon"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value);
        }
        let has_body = name.eq_ignore_ascii_case("transfer-encoding")
            || (name.eq_ignore_ascii_case("content-length") && value != "0");
        if has_body {
            return Err(Refusal::new("413 Content Too Large", "a request has no body here"));
        }
    }
    match hosts[..] {
        [host] if is_ours(host, local) => Ok(()),
        [host] => Err(Refusal::new(
            "403 Forbidden",
            format!("the host {host:?} is neither a loopback name nor the address of this server: use the URL printed"),
        )),
        _ => Err(Refusal::bad("one Host header is needed")),
    }
}

/// True of `localhost`, of loopback addresses and of `local`, each with or without a port.
fn is_ours(host: &str, local: IpAddr) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok());
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address == local.to_canonical());
    is_port && is_name
}

fn parse_query(text: &str) -> Result<Query, Refusal> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let decoded = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decode(name)?, decode(value)?))
    });
    decoded.collect::<Result<_, _>>().map(Query)
}

fn decode(text: &str) -> Result<String, Refusal> {
    let wrong = || Refusal::bad(format!("{text:?} is not a URL-encoded text"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(wrong);
                u8::try_from(digit()? * 16 + digit()?).map_err(|_| wrong())?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::net::Ipv4Addr;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn status(head: &str) -> &'static str {
        parse(head.as_bytes(), LOCAL).map_or_else(|refusal| refusal.status, |_| "200")
    }

    #[test]
    fn a_target_is_decoded() {
        let head = b"GET /api/files?cf=a%20b%C3%A9+c&level=3& HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let request = parse(head, LOCAL).unwrap();
        assert_eq!((request.path.as_str(), request.is_head), ("/api/files", false));
        assert_eq!(request.query.text("cf"), Some("a b\u{e9} c"));
        assert_eq!(request.query.number("level"), Ok(Some(3)));
        assert_eq!(request.query.number("offset"), Ok(None));
        assert!(request.query.check_names(&["cf", "level"]).is_ok());
        assert!(request.query.check_names(&["cf"]).unwrap_err().message.contains("level"));
        for wrong in ["/?a=%", "/?a=%2", "/?a=%zz", "/?a=%ff"] {
            assert!(status(&format!("GET {wrong} HTTP/1.1\r\nHost: localhost\r\n\r\n")).starts_with("400"), "{wrong}");
        }
    }

    #[test]
    fn only_hosts_that_are_this_server() {
        for good in ["localhost", "LocalHost:80", "127.0.0.1", "127.3.2.1:8080", "[::1]", "[::1]:8080", "192.0.2.7:1"] {
            assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {good}\r\n\r\n")), "200", "{good}");
        }
        for bad in ["example.com", "localhost.example.com", "192.0.2.8", "[::2]", "[::1", "127.0.0.1:x", "", "a@::1"] {
            assert!(status(&format!("GET / HTTP/1.1\r\nHost: {bad}\r\n\r\n")).starts_with("403"), "{bad}");
        }
        assert!(status("GET / HTTP/1.1\r\n\r\n").starts_with("400"), "no host");
        assert!(status("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").starts_with("400"), "two hosts");
    }

    #[test]
    fn what_is_no_get_is_refused() {
        for (head, wanted) in [
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
            ("GET / HTTP/2\r\nHost: localhost\r\n\r\n", "505"),
            ("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
            ("GET /\r\nHost: localhost\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n", "413"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nnothing\r\n\r\n", "400"),
            ("HEAD / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "200"),
        ] {
            assert!(status(head).starts_with(wanted), "{head}");
        }
    }
}
