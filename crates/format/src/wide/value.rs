//! Typed values.

use std::fmt;

/// Microseconds since 1970, in UTC, forwards and backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Sixteen bytes, ordered as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

macro_rules! column_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// The type of a key component or column. The set is closed: data outlives programs.
        ///
        /// The upper half of a code says how many bytes follow in a row: 1 one, 2 four, 3 eight, 4 sixteen, 5 a length
        /// and so many. So a reader steps over types that it does not know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ColumnType {
            $($(#[$doc])* $name = $code,)*
        }

        impl ColumnType {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The type of a code.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name in messages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

column_types! {
    /// False before true.
    Bool = 0x10, "bool";
    /// 32 bits with sign.
    I32 = 0x20, "i32";
    /// 32 bits.
    U32 = 0x21, "u32";
    /// IEEE 754, single. In a key `-0.0` is `0.0`, and there is one NaN, behind infinity.
    F32 = 0x22, "f32";
    /// 64 bits with sign.
    I64 = 0x30, "i64";
    /// 64 bits.
    U64 = 0x31, "u64";
    /// IEEE 754, double. In a key as [`F32`](Self::F32).
    F64 = 0x32, "f64";
    /// Microseconds since 1970.
    Timestamp = 0x33, "timestamp";
    /// Sixteen bytes.
    Uuid = 0x40, "uuid";
    /// Any bytes.
    Bytes = 0x50, "bytes";
    /// UTF-8, ordered by its bytes, which is the order of its code points.
    Text = 0x51, "text";
}

impl ColumnType {
    /// The code in rows and schemas.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Bytes of a value that has always as many, in a key as in a row.
    #[must_use]
    pub fn fixed_length(self) -> Option<usize> {
        match self.code() >> 4 {
            1 => Some(1),
            2 => Some(4),
            3 => Some(8),
            4 => Some(16),
            _ => None,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of its own.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "as ColumnType has them")]
pub enum Value {
    Bool(bool),
    I32(i32),
    U32(u32),
    F32(f32),
    I64(i64),
    U64(u64),
    F64(f64),
    Timestamp(Timestamp),
    Uuid(Uuid),
    Bytes(Vec<u8>),
    Text(String),
}

/// A value that borrows its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "as ColumnType has them")]
pub enum ValueRef<'a> {
    Bool(bool),
    I32(i32),
    U32(u32),
    F32(f32),
    I64(i64),
    U64(u64),
    F64(f64),
    Timestamp(Timestamp),
    Uuid(Uuid),
    Bytes(&'a [u8]),
    Text(&'a str),
}

impl Value {
    /// The same, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Bool(value) => ValueRef::Bool(*value),
            Self::I32(value) => ValueRef::I32(*value),
            Self::U32(value) => ValueRef::U32(*value),
            Self::F32(value) => ValueRef::F32(*value),
            Self::I64(value) => ValueRef::I64(*value),
            Self::U64(value) => ValueRef::U64(*value),
            Self::F64(value) => ValueRef::F64(*value),
            Self::Timestamp(value) => ValueRef::Timestamp(*value),
            Self::Uuid(value) => ValueRef::Uuid(*value),
            Self::Bytes(value) => ValueRef::Bytes(value),
            Self::Text(value) => ValueRef::Text(value),
        }
    }

    /// Its type.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        self.as_ref().column_type()
    }
}

impl<'a> ValueRef<'a> {
    /// Its type.
    #[inline]
    #[must_use]
    pub fn column_type(self) -> ColumnType {
        match self {
            Self::Bool(_) => ColumnType::Bool,
            Self::I32(_) => ColumnType::I32,
            Self::U32(_) => ColumnType::U32,
            Self::F32(_) => ColumnType::F32,
            Self::I64(_) => ColumnType::I64,
            Self::U64(_) => ColumnType::U64,
            Self::F64(_) => ColumnType::F64,
            Self::Timestamp(_) => ColumnType::Timestamp,
            Self::Uuid(_) => ColumnType::Uuid,
            Self::Bytes(_) => ColumnType::Bytes,
            Self::Text(_) => ColumnType::Text,
        }
    }

    /// The same with bytes of its own.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(value),
            Self::I32(value) => Value::I32(value),
            Self::U32(value) => Value::U32(value),
            Self::F32(value) => Value::F32(value),
            Self::I64(value) => Value::I64(value),
            Self::U64(value) => Value::U64(value),
            Self::F64(value) => Value::F64(value),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Uuid(value) => Value::Uuid(value),
            Self::Bytes(value) => Value::Bytes(value.to_vec()),
            Self::Text(value) => Value::Text(value.to_owned()),
        }
    }

    /// The same number as another type, so that `7` is a value of every type of numbers. `None` when it is not one of
    /// that type.
    #[must_use]
    pub fn coerced(self, to: ColumnType) -> Option<ValueRef<'a>> {
        if self.column_type() == to {
            return Some(self);
        }
        let integer = match self {
            Self::I32(value) => i128::from(value),
            Self::U32(value) => i128::from(value),
            Self::I64(value) => i128::from(value),
            Self::U64(value) => i128::from(value),
            Self::F32(value) if to == ColumnType::F64 => return Some(Self::F64(f64::from(value))),
            _ => return None,
        };
        match to {
            ColumnType::I32 => i32::try_from(integer).ok().map(Self::I32),
            ColumnType::U32 => u32::try_from(integer).ok().map(Self::U32),
            ColumnType::I64 => i64::try_from(integer).ok().map(Self::I64),
            ColumnType::U64 => u64::try_from(integer).ok().map(Self::U64),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(self) -> Option<&'a str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes of text or bytes.
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// The number, if it is an integer that `i64` holds.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.coerced(ColumnType::I64) {
            Some(Self::I64(value)) => Some(value),
            _ => None,
        }
    }

    /// The number, if it is a floating-point one.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self.coerced(ColumnType::F64) {
            Some(Self::F64(value)) => Some(value),
            _ => None,
        }
    }

    /// The time, if it is one.
    #[must_use]
    pub fn as_timestamp(self) -> Option<Timestamp> {
        if let Self::Timestamp(time) = self { Some(time) } else { None }
    }
}

macro_rules! from {
    ($($source:ty => $name:ident;)*) => {
        $(impl<'a> From<$source> for ValueRef<'a> {
            #[inline]
            fn from(value: $source) -> Self {
                Self::$name(value)
            }
        }

        impl<'a> From<$source> for Value {
            fn from(value: $source) -> Self {
                ValueRef::from(value).to_value()
            }
        })*
    };
}

from! {
    bool => Bool;
    i32 => I32;
    u32 => U32;
    f32 => F32;
    i64 => I64;
    u64 => U64;
    f64 => F64;
    Timestamp => Timestamp;
    Uuid => Uuid;
    &'a [u8] => Bytes;
    &'a Vec<u8> => Bytes;
    &'a str => Text;
    &'a String => Text;
}

impl<'a, const N: usize> From<&'a [u8; N]> for ValueRef<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Bytes(value)
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(value: &[u8; N]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_ref()
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}
