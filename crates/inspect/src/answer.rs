//! One HTTP answer, with the headers that all have.
//!
//! A browser takes nothing from elsewhere for the page (`Content-Security-Policy`), shows it in no other page, keeps
//! nothing, and guesses no types. Scripts and styles run only with the nonce of their answer.

use crate::request::Refusal;
use serde_json::{Value, json};
use std::hash::{BuildHasher, Hasher, RandomState};

const PAGE: &str = include_str!("page.html");
/// What stands for the nonce in the page.
const NONCE: &str = "{nonce}";

/// Status, type and body.
#[derive(Debug)]
pub(crate) struct Answer {
    status: &'static str,
    content_type: &'static str,
    nonce: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn new(status: &'static str, content_type: &'static str, body: String) -> Self {
        Self { status, content_type, nonce: None, body: body.into_bytes() }
    }

    /// The page.
    pub(crate) fn page() -> Self {
        // `RandomState` takes its keys from the system's random numbers, so the hash of nothing cannot be guessed.
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        let body = PAGE.replace(NONCE, &nonce);
        Self { nonce: Some(nonce), ..Self::new("200 OK", "text/html; charset=utf-8", body) }
    }

    /// A result for a program.
    pub(crate) fn json(value: &Value) -> Self {
        Self::new("200 OK", "application/json", value.to_string())
    }

    /// The database does not open: why, and what to do.
    pub(crate) fn unavailable(value: &Value) -> Self {
        Self::new("503 Service Unavailable", "application/json", value.to_string())
    }

    /// Text in the exposition format of Prometheus.
    pub(crate) fn prometheus(text: String) -> Self {
        Self::new("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
    }

    /// A request that is refused.
    pub(crate) fn refusal(refusal: &Refusal) -> Self {
        let body = json!({ "error": { "kind": refusal.status, "message": refusal.message } });
        Self::new(refusal.status, "application/json", body.to_string())
    }

    /// Status line and headers, with the empty line.
    pub(crate) fn head(&self) -> String {
        let inline = self.nonce.as_ref().map_or(String::new(), |nonce| {
            format!("; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:")
        });
        let allow = if self.status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             {allow}X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src 'none'{inline}; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_runs_with_its_nonce_alone() {
        let (one, two) = (Answer::page(), Answer::page());
        assert_ne!(one.nonce, two.nonce);
        let nonce = one.nonce.clone().unwrap_or_default();
        let text = String::from_utf8_lossy(&one.body).into_owned();
        assert_eq!(text.matches(&nonce).count(), 2, "a style and a script");
        assert!(!text.contains(NONCE) && one.head().contains(&format!("script-src 'nonce-{nonce}'")));
        for outside in ["http://", "https://", " style=\"", " onclick", "innerHTML"] {
            assert!(!text.contains(outside), "{outside}");
        }
    }
}
