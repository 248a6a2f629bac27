//! Bytes as hexadecimal text, as `digest` reads and prints them.

/// Lower-case hexadecimal digits.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The bytes that the digits name; `None` for an odd number of digits or anything else than a digit.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(encode(&[0x0f, 0xa0]), "0fa0");
        assert_eq!(decode("0FA0"), Some(vec![0x0f, 0xa0]));
        assert_eq!(decode(""), Some(Vec::new()));
        for wrong in ["0", "0g", "+1", "é0"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
