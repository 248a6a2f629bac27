//! One JSON object on one line, as the LOG has it behind `EVENT_LOG_v1`, in the spelling of RocksDB's.
//!
//! ```text
//! {"time_micros": 1795833720653433, "job": 2, "event": "flush_finished", "lsm_state": [1, 0, 0], ...}
//! ```
//!
//! Whatever a text contains, the line is ASCII without control characters: everything else is escaped, so that any
//! parser reads it and no name breaks the line. A byte that is not UTF-8 is the character that
//! [`byte_text`](ferrock_base::byte_text) has for it, which turns it back.

use ferrock_base::byte_text::from_bytes;
use ferrock_base::{FileNumber, Result};
use std::fmt::{Display, Write as _};

/// A line that is being written.
pub(crate) struct JsonLine {
    text: String,
    /// Whether the object that is open has a member.
    has_member: bool,
}

impl JsonLine {
    /// The line of an event that happens now.
    pub(super) fn new(unix_us: u64) -> Self {
        let mut line = Self { text: String::from("{"), has_member: false };
        line.number("time_micros", unix_us);
        line
    }

    /// The whole line.
    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    /// Writing to a String cannot fail.
    fn put(&mut self, value: impl Display) {
        let _ = write!(self.text, "{value}");
    }

    fn key(&mut self, key: &str) {
        if std::mem::replace(&mut self.has_member, true) {
            self.text.push_str(", ");
        }
        self.string(key);
        self.text.push_str(": ");
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\t' => self.text.push_str("\\t"),
                ' '..='~' => self.text.push(character),
                _ => {
                    character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| self.put(format_args!("\\u{unit:04x}")))
                }
            }
        }
        self.text.push('"');
    }

    pub(crate) fn number(&mut self, key: &str, number: impl Into<i128>) -> &mut Self {
        self.key(key);
        self.put(number.into());
        self
    }

    /// How many there are of something.
    pub(crate) fn count(&mut self, key: &str, count: usize) -> &mut Self {
        self.number(key, count as u64)
    }

    pub(crate) fn file(&mut self, key: &str, number: FileNumber) -> &mut Self {
        self.number(key, number.0)
    }

    /// A number with a fraction. JSON has none that is not finite: such a one is 0.
    pub(crate) fn fraction(&mut self, key: &str, number: f64) -> &mut Self {
        self.key(key);
        self.put(if number.is_finite() { number } else { 0.0 });
        self
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.key(key);
        self.string(text);
        self
    }

    /// `status`, as RocksDB says it.
    pub(crate) fn status(&mut self, result: &Result<()>) -> &mut Self {
        match result {
            Ok(()) => self.text("status", "OK"),
            Err(error) => self.text("status", &error.to_string()),
        }
    }

    /// Bytes that are a text for most purposes.
    pub(crate) fn bytes(&mut self, key: &str, bytes: &[u8]) -> &mut Self {
        self.text(key, &from_bytes(bytes))
    }

    pub(crate) fn numbers(&mut self, key: &str, numbers: impl IntoIterator<Item = u64>) -> &mut Self {
        self.list(key, numbers, |line, number| line.put(number))
    }

    /// Texts and numbers in turns.
    pub(crate) fn mixed<'a>(&mut self, key: &str, items: impl IntoIterator<Item = Item<'a>>) -> &mut Self {
        self.list(key, items, |line, item| match item {
            Item::Text(text) => line.string(text),
            Item::Number(number) => line.put(number),
        })
    }

    fn list<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.key(key);
        self.text.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            write(self, item);
        }
        self.text.push(']');
        self
    }

    /// An object within.
    pub(crate) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.key(key);
        self.text.push('{');
        self.has_member = false;
        fill(self);
        self.has_member = true;
        self.text.push('}');
        self
    }
}

/// A member of a list that has both.
pub(crate) enum Item<'a> {
    Text(&'a str),
    Number(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::byte_text::to_bytes;
    use ferrock_base::random::Random;
    use serde_json::Value;

    #[test]
    fn looks_as_rocksdb_writes_it() {
        let mut line = JsonLine::new(17);
        line.count("job", 2).text("event", "x").numbers("lsm_state", [1, 0]).numbers("none", []);
        line.object("table_properties", |line| {
            line.number("data_size", 3u64).text("db_id", "");
        });
        line.mixed("files", [Item::Text("a.sst"), Item::Number(6)]).fraction("score", 0.25).number("oldest", -1);
        assert_eq!(
            line.finish(),
            "{\"time_micros\": 17, \"job\": 2, \"event\": \"x\", \"lsm_state\": [1, 0], \"none\": [], \
             \"table_properties\": {\"data_size\": 3, \"db_id\": \"\"}, \"files\": [\"a.sst\", 6], \"score\": 0.25, \
             \"oldest\": -1}"
        );
    }

    #[test]
    fn any_bytes_come_back_from_an_ascii_line() {
        let mut random = Random::new(7);
        for round in 0..2000 {
            let name: Vec<u8> = match round {
                0 => (0..=255).collect(),
                1 => "\u{7f}\u{2028}\u{10ff81}\u{fffd}😀".into(),
                _ => (0..random.below(12)).map(|_| random.next_u64().to_le_bytes()[0]).collect(),
            };
            let mut line = JsonLine::new(0);
            line.bytes("name", &name).bytes(&from_bytes(&name), b"value").fraction("score", f64::NAN);
            let line = line.finish();
            assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
            let value: Value = serde_json::from_str(&line).unwrap();
            let text = value["name"].as_str().unwrap();
            if from_bytes(&name) == "name" {
                continue;
            }
            assert_eq!(&to_bytes(text)[..], &name[..], "{line}");
            assert_eq!(value[&from_bytes(&name)[..]], "value");
        }
    }
}
