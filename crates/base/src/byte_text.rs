//! Names of arbitrary bytes, as text.
//!
//! RocksDB's names of column families are strings of arbitrary bytes, in files and in the C interface. Inside the
//! engine a name is a `String`; this module converts exactly in both directions:
//!
//! ```text
//! bytes that are UTF-8                          the same text
//! a byte that is not UTF-8 (80..FF)             U+10FF80..U+10FFFF: 0x10FF00 + the byte
//! UTF-8 of U+10FF80..U+10FFFF themselves        each of its four bytes as above
//! ```
//!
//! The last line makes the conversion exact in both directions: `to_bytes(from_bytes(b)) == b` for all bytes. The range
//! is at the end of a private plane, where no assigned character is, so ordinary names look the same on both sides.
//! (The alternative, names as `Vec<u8>` everywhere, would make every message, option and interface that only shows a
//! name convert it.)

use std::borrow::Cow;

/// The character for byte 0.
const BASE: u32 = 0x0010_FF00;
/// The first byte of the UTF-8 of every character that stands for a byte.
const LEAD: u8 = 0xF4;

/// The byte that a character stands for.
fn byte_of(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(BASE)?).ok().filter(|byte| *byte >= 0x80)
}

fn push_bytes(text: &mut String, bytes: &[u8]) {
    text.extend(bytes.iter().filter_map(|byte| char::from_u32(BASE + u32::from(*byte))));
}

/// Bytes as text.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !bytes.contains(&LEAD)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match byte_of(character) {
                Some(_) => push_bytes(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => text.push(character),
            }
        }
        push_bytes(&mut text, chunk.invalid());
    }
    Cow::Owned(text)
}

/// The bytes that a text stands for.
#[must_use]
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.as_bytes().contains(&LEAD) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// The one text that stands for the bytes that `text` stands for: two texts for the same bytes become equal.
#[must_use]
pub fn canonical(text: &str) -> String {
    from_bytes(&to_bytes(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn ordinary_text_is_itself() {
        for text in ["", "default", "Überblick", "\u{10FF7F}", "日本語\0"] {
            assert_eq!(from_bytes(text.as_bytes()), text);
            assert_eq!(*to_bytes(text), *text.as_bytes());
            assert_eq!(canonical(text), text);
        }
    }

    #[test]
    fn all_bytes_come_back() {
        let mut random = Random::new(7);
        let pieces: [&[u8]; 8] = [
            b"a",
            b"\xff",
            b"\xfe\x80",
            "\u{10FF80}".as_bytes(),
            "\u{10FFFF}".as_bytes(),
            b"\xf4",
            b"\xe2\x82",
            "é".as_bytes(),
        ];
        for round in 0..20_000 {
            let bytes: Vec<u8> = if round % 2 == 0 {
                (0..random.next_u64() % 9).map(|_| random.next_u64() as u8).collect()
            } else {
                (0..random.next_u64() % 5).flat_map(|_| pieces[random.next_u64() as usize % 8].to_vec()).collect()
            };
            let text = from_bytes(&bytes);
            assert_eq!(*to_bytes(&text), bytes[..], "{bytes:x?}");
            assert_eq!(canonical(&text), text, "{bytes:x?}");
        }
    }

    #[test]
    fn two_texts_for_the_same_bytes_become_one() {
        // C3 A9, once as a character and once as two that stand for bytes.
        assert_eq!(canonical("\u{10FFC3}\u{10FFA9}"), "é");
        assert_eq!(canonical("x\u{10FFFF}"), "x\u{10FFFF}");
    }
}
