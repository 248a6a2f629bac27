//! The grammar of the property `rocksdb.compression`.
//!
//! ```text
//! format_version <= 6    NoCompression | Snappy | Zlib | BZip2 | LZ4 | LZ4HC | Xpress | ZSTD
//! format_version 7       manager ';' type* ';' later-fields  type = two upper-case hex digits, ascending, never 00, FF
//!
//! BuiltinV2;0407;        the built-in manager; LZ4 and ZSTD blocks occur
//! BuiltinV2;;            configured, but no block is compressed
//! ;;                     compression is off
//! ```

use crate::compression::CompressionType;
use ferrock_base::{Error, Result};

const BUILTIN_MANAGER: &str = "BuiltinV2";

/// The compression of a table's blocks, from its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompressionName {
    /// Not recorded: every built-in type may occur.
    Absent,
    /// format_version up to 6: one type that was configured or used.
    Single(CompressionType),
    /// format_version 7: compression was off.
    Disabled,
    /// format_version 7: the built-in manager and the types that occur, ascending.
    Builtin(Vec<CompressionType>),
}

impl CompressionName {
    /// Parses the property of a table of this format_version; an empty one counts as absent.
    ///
    /// A manager or a type that is not built in is [`NotSupported`](ferrock_base::ErrorKind::NotSupported).
    ///
    /// # Errors
    /// `Corruption` for a malformed property; `NotSupported` for a compression manager or type that is not built in.
    pub fn parse(property: &str, format_version: u32) -> Result<Self> {
        if property.is_empty() {
            return Ok(Self::Absent);
        }
        if format_version < 7 {
            let kind = CompressionType::from_property_name(property);
            return kind.map(Self::Single).ok_or_else(|| malformed(property, "unknown name"));
        }
        let mut fields = property.splitn(3, ';');
        let (Some(manager), Some(types), Some(_later)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(malformed(property, "a separator is missing"));
        };
        let types = parse_types(property, types)?;
        match manager {
            BUILTIN_MANAGER => {
                let known = types.iter().map(|&byte| {
                    let kind = CompressionType::ALL.into_iter().find(|kind| kind.as_u8() == byte);
                    kind.ok_or_else(|| {
                        Error::not_supported(format!("compression type {byte:#04x} in property {property:?}"))
                    })
                });
                Ok(Self::Builtin(known.collect::<Result<_>>()?))
            }
            "" if types.is_empty() => Ok(Self::Disabled),
            "" => Err(malformed(property, "types without a manager")),
            other => Err(Error::not_supported(format!("compression manager {other:?} in property {property:?}"))),
        }
    }

    /// The property as stored.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Single(kind) => kind.property_name().to_owned(),
            Self::Disabled => ";;".to_owned(),
            Self::Builtin(types) => {
                let mut bytes: Vec<u8> = types.iter().map(|kind| kind.as_u8()).filter(|&byte| byte != 0).collect();
                bytes.sort_unstable();
                bytes.dedup();
                let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("{BUILTIN_MANAGER};{digits};")
            }
        }
    }

    /// The value that a writer of `format_version` stores, which was configured with `configured` and whose blocks use
    /// `used`.
    ///
    /// Up to version 6 one name has to stand for all: `ZSTD` if it occurs (readers prepare for it by this name), else
    /// a type that occurs, else the configured one.
    #[must_use]
    pub fn for_table(format_version: u32, configured: CompressionType, used: &[CompressionType]) -> Self {
        let compressed = || used.iter().copied().filter(|&kind| kind != CompressionType::NoCompression);
        if format_version < 7 {
            let named = if compressed().any(|kind| kind == CompressionType::Zstd) {
                CompressionType::Zstd
            } else if compressed().any(|kind| kind == configured) {
                configured
            } else {
                compressed().next().unwrap_or(configured)
            };
            return Self::Single(named);
        }
        if configured == CompressionType::NoCompression && compressed().next().is_none() {
            return Self::Disabled;
        }
        let mut types: Vec<_> = compressed().collect();
        types.sort_unstable();
        types.dedup();
        Self::Builtin(types)
    }
}

fn parse_types(property: &str, digits: &str) -> Result<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(malformed(property, "an odd number of digits"));
    }
    let mut types = Vec::new();
    for pair in pairs {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        };
        match digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| high << 4 | low) {
            None => return Err(malformed(property, "not a hex digit")),
            Some(0x00 | 0xFF) => return Err(malformed(property, "a type that no block can have")),
            Some(byte) => types.push(byte),
        }
    }
    Ok(types)
}

#[cold]
fn malformed(property: &str, why: &str) -> Error {
    Error::corruption(format!("property rocksdb.compression {property:?}: {why}"))
}
