//! Bytes as RocksDB's tools print them, and the words of a command line.

use ferrock::Result;
use ferrock::options::CompressionType;
use ferrock_format::blob_index::BlobIndex;

/// The arguments of this process as text, without the program's name.
///
/// # Errors
/// A message for the user: an argument is not UTF-8.
pub fn arguments() -> std::result::Result<Vec<String>, String> {
    let given = std::env::args_os().skip(1).enumerate();
    let texts = given.map(|(index, argument)| {
        argument.into_string().map_err(|argument| {
            format!("argument {}, {argument:?}, is not UTF-8; give bytes of keys and values in hexadecimal", index + 1)
        })
    });
    texts.collect()
}

/// `0x` and two digits a byte.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    format!("0x{}", digits(bytes))
}

/// Two capital digits a byte.
#[must_use]
pub fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The bytes that hexadecimal text (`0x` and two digits a byte) means; `None` of other text.
#[must_use]
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .strip_prefix("0x")?
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
        .collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// The target of a blob index, as text.
///
/// # Errors
/// `Corruption` when the index cannot be decoded.
pub fn blob_reference(index: &[u8]) -> Result<String> {
    Ok(match BlobIndex::decode(index)? {
        BlobIndex::Inlined { expiration_secs, value } => {
            format!("[inlined blob] value:{} exp:{expiration_secs}", digits(value))
        }
        BlobIndex::Reference { reference, expiration_secs } => format!(
            "[blob ref] file:{} offset:{} size:{}{} compression: {}",
            reference.file_number.0,
            reference.offset,
            reference.size_bytes,
            expiration_secs.map(|time| format!(" exp:{time}")).unwrap_or_default(),
            compression_name(reference.compression)
        ),
    })
}

/// The name without the `k` and `Compression` of OPTIONS files, but for none at all.
fn compression_name(byte: u8) -> String {
    match CompressionType::try_from(byte).map(CompressionType::option_name) {
        Ok("kNoCompression") => "NoCompression".to_owned(),
        Ok(name) => name.trim_start_matches('k').trim_end_matches("Compression").to_owned(),
        Err(_) => format!("Unknown({byte})"),
    }
}
