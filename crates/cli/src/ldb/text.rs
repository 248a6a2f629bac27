//! Bytes as text: as they are, or as RocksDB's hexadecimal (`0x` and capital digits).

use crate::{Failure, Result};

pub(crate) use ferrock_console::text::{digits, hexadecimal};

/// The bytes that hexadecimal text means.
pub(crate) fn from_hexadecimal(text: &str) -> Result<Vec<u8>> {
    let wrong = || Failure::Usage(format!("{text:?} is not hexadecimal: it is 0x and two digits a byte"));
    ferrock_console::text::from_hexadecimal(text).ok_or_else(wrong)
}

/// How keys and values are written on the command line and in output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) is_key_hex: bool,
    pub(crate) is_value_hex: bool,
}

fn read(text: &str, is_hex: bool) -> Result<Vec<u8>> {
    if is_hex { from_hexadecimal(text) } else { Ok(text.as_bytes().to_vec()) }
}

fn print(bytes: &[u8], is_hex: bool) -> Vec<u8> {
    if is_hex { hexadecimal(bytes).into_bytes() } else { bytes.to_vec() }
}

impl Texts {
    /// A key from the command line.
    pub(crate) fn key_from(self, text: &str) -> Result<Vec<u8>> {
        read(text, self.is_key_hex)
    }

    /// A value from the command line.
    pub(crate) fn value_from(self, text: &str) -> Result<Vec<u8>> {
        read(text, self.is_value_hex)
    }

    /// A key for output.
    pub(crate) fn key(self, key: &[u8]) -> Vec<u8> {
        print(key, self.is_key_hex)
    }

    /// A value for output.
    pub(crate) fn value(self, value: &[u8]) -> Vec<u8> {
        print(value, self.is_value_hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hexadecimal(&hexadecimal(&all)).unwrap(), all);
        assert_eq!(hexadecimal(&[0, 0xAB]), "0x00AB");
        assert_eq!(from_hexadecimal("0xabCD").unwrap(), [0xAB, 0xCD]);
        assert_eq!(from_hexadecimal("0x").unwrap(), [0; 0]);
        for wrong in ["", "6B", "0x0", "0x0g", "0X00", "0x+1", "0xé"] {
            assert!(from_hexadecimal(wrong).is_err(), "{wrong}");
        }
        let texts = Texts { is_key_hex: true, is_value_hex: false };
        assert_eq!((texts.key(b"k"), texts.value(b"v")), (b"0x6B".to_vec(), b"v".to_vec()));
        assert_eq!((texts.key_from("0x6B").unwrap(), texts.value_from("0x").unwrap()), (b"k".to_vec(), b"0x".to_vec()));
    }
}
