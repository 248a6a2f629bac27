//! Unique ids of table files.
//!
//! A file is identified by where it was made: database identity, session identity and file number, all three in its
//! properties. The *internal* id is recorded in the MANIFEST, so that a file swapped for another is noticed; the
//! *public* id is the internal one passed through a one-to-one mix, and is what users see and cache keys may be built
//! from.
//!
//! ```text
//! session id  base 36, [ a: 1-12 digits | b: last 12 digits ]      upper = a >> 2, lower = (b mod 2^62) | (a << 62)
//! word 0      lower
//! word 1      high half of XXH3-128(db id, seed upper), ^ file number
//! word 2      low half of the same (extended form, 192 bits)
//! ```

use crate::properties::TableProperties;
use ferrock_base::hash::{bijective_hash, hash128};
use ferrock_base::{Error, Result};

const PUBLIC_OFFSET_LOW: u64 = 6_417_269_962_128_484_497;
const PUBLIC_OFFSET_HIGH: u64 = 17_391_078_804_906_429_400;

/// Digits of a session id that hold its lower number.
const LOWER_DIGITS: usize = 12;

/// An internal unique id: what the MANIFEST records is its first two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UniqueId {
    /// The three words; the third extends the id to 192 bits and is not recorded.
    pub words: [u64; 3],
}

/// A public unique id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicUniqueId {
    /// The three words; RocksDB shows the first two unless asked for the extended form.
    pub words: [u64; 3],
}

impl UniqueId {
    /// The id of file `file_number` made by a session of a database.
    ///
    /// # Errors
    /// `NotSupported` when the identity of the database or the file number is missing, or the session id is not of its
    /// form.
    pub fn new(db_id: &[u8], db_session_id: &str, file_number: u64) -> Result<Self> {
        if db_id.is_empty() {
            return Err(Error::not_supported("a unique id needs a database identity, which the file lacks"));
        }
        if file_number == 0 {
            return Err(Error::not_supported("a unique id needs the original file number, which the file lacks"));
        }
        let (upper, lower) = decode_session_id(db_session_id)?;
        let (high, low) = hash128(db_id, upper);
        Ok(Self { words: [lower, high ^ file_number, low] })
    }

    /// The id of the file with these properties; `NotSupported` if it is too old to have one.
    ///
    /// # Errors
    /// `NotSupported` when a property that the id is made of is missing.
    pub fn from_properties(properties: &TableProperties) -> Result<Self> {
        Self::new(properties.db_id.as_bytes(), &properties.db_session_id, properties.original_file_number)
    }

    /// The id as the MANIFEST records it: two little-endian words. All zeros there means unknown.
    #[must_use]
    pub fn manifest_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.words[0].to_le_bytes());
        bytes[8..].copy_from_slice(&self.words[1].to_le_bytes());
        bytes
    }

    /// The public form.
    #[must_use]
    pub fn to_public(self) -> PublicUniqueId {
        let [first, second, third] = self.words;
        let (high, low) =
            bijective_hash(second.wrapping_add(PUBLIC_OFFSET_HIGH), first.wrapping_add(PUBLIC_OFFSET_LOW), 0);
        PublicUniqueId { words: [low, high, third.wrapping_add(low).wrapping_add(high)] }
    }
}

impl PublicUniqueId {
    /// Sixteen bytes as upper-case hex in two groups, as RocksDB prints a unique id.
    #[must_use]
    pub fn to_human_string(self) -> String {
        let group = |word: u64| format!("{:016X}", word.swap_bytes());
        format!("{}-{}", group(self.words[0]), group(self.words[1]))
    }
}

/// Splits a session id into its `(upper, lower)` numbers: 13 to 24 digits of base 36 are accepted.
///
/// # Errors
/// `NotSupported` for another number of digits, and for other characters.
pub fn decode_session_id(session_id: &str) -> Result<(u64, u64)> {
    let digits = session_id.as_bytes();
    if !(LOWER_DIGITS + 1..=2 * LOWER_DIGITS).contains(&digits.len()) {
        return Err(Error::not_supported(format!("session id {session_id:?} does not have 13 to 24 digits")));
    }
    let (head, tail) = digits.split_at(digits.len() - LOWER_DIGITS);
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u64, |number, &digit| {
            let digit = match digit {
                b'0'..=b'9' => digit - b'0',
                b'A'..=b'Z' => digit - b'A' + 10,
                _ => return None,
            };
            Some(number.wrapping_mul(36).wrapping_add(u64::from(digit)))
        })
    };
    match (number(head), number(tail)) {
        (Some(head), Some(tail)) => Ok((head >> 2, (tail & (u64::MAX >> 2)) | head << 62)),
        _ => Err(Error::not_supported(format!("session id {session_id:?} is not of base 36"))),
    }
}

/// A session id from two numbers, as a new session draws them at random: twenty digits of base 36. Decoding gives back
/// the low 39 bits of `upper` (the first eight digits hold no more) and all of `lower`.
#[must_use]
pub fn encode_session_id(upper: u64, lower: u64) -> String {
    let head = (upper << 2) | (lower >> 62);
    let tail = lower & (u64::MAX >> 2);
    let mut out = vec![b'0'; 20];
    let mut put = |range: std::ops::Range<usize>, mut number: u64| {
        for slot in out[range].iter_mut().rev() {
            let digit = (number % 36) as u8;
            *slot = if digit < 10 { b'0' + digit } else { b'A' + digit - 10 };
            number /= 36;
        }
    };
    put(0..8, head);
    put(8..20, tail);
    out.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(value: &serde_json::Value) -> [u64; 3] {
        let words: Vec<u64> =
            value.as_array().unwrap().iter().map(|w| u64::from_str_radix(w.as_str().unwrap(), 16).unwrap()).collect();
        words.try_into().unwrap()
    }

    #[test]
    fn ids_agree_with_their_vectors() {
        let document: serde_json::Value =
            serde_json::from_str(include_str!("../tests/data/sst-unique-ids.json")).unwrap();
        let vectors = document["vectors"].as_array().unwrap();
        assert!(vectors.len() >= 60);
        for vector in vectors {
            let text = |field: &str| vector[field].as_str().unwrap();
            let file_number = vector["file_number"].as_u64().unwrap();
            let id = UniqueId::new(text("db_id").as_bytes(), text("db_session_id"), file_number).unwrap();
            assert_eq!(id.words, words(&vector["internal"]), "{vector}");
            assert_eq!(id.to_public().words, words(&vector["external"]), "{vector}");
            assert_eq!(id.manifest_bytes()[8..], id.words[1].to_le_bytes());
        }
    }

    #[test]
    fn the_human_form_shows_the_bytes_in_their_order() {
        let id = PublicUniqueId { words: [0x0102_0304_0506_0708, 0xff, 0] };
        assert_eq!(id.to_human_string(), "0807060504030201-FF00000000000000");
    }

    #[test]
    fn incomplete_identities_have_no_id() {
        let session = "IPBWC5GYEURUN3L71WP4";
        assert!(UniqueId::new(b"", session, 1).is_err());
        assert!(UniqueId::new(b"db", session, 0).is_err());
        for bad in ["", "SHORT", "IPBWC5GYEURUN3L71WPa", &"0".repeat(25)] {
            assert!(UniqueId::new(b"db", bad, 1).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn session_ids_round_trip(upper in 0u64..1 << 39, lower in any::<u64>()) {
            // Twelve digits of base 36 hold a little more than 62 bits, eight a little more than 41.
            let text = encode_session_id(upper, lower);
            prop_assert_eq!(text.len(), 20);
            prop_assert_eq!(decode_session_id(&text).unwrap(), (upper, lower));
        }

        #[test]
        fn any_session_id_is_survived(text in "\\PC{0,30}") {
            let _ = decode_session_id(&text);
        }
    }
}
