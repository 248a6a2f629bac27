//! Components of a key: values so encoded that bytes are in the order of the values.
//!
//! ```text
//! bool         00 or 01
//! u32, u64     big endian
//! i32, i64,    big endian, the sign bit turned over
//! timestamp
//! f32, f64     big endian; of negative ones every bit turned over, of others the sign bit
//! uuid         its 16 bytes
//! bytes, text  00 as 00 ff, then 00 01
//! descending   all of the above, every bit turned over
//! ```

use super::value::{ColumnType, Timestamp, Uuid, Value, ValueRef};
use ferrock_base::components::{ComponentShape, END, ESCAPE, ESCAPED_ZERO};
use ferrock_base::{Error, Result};
use std::fmt;

/// Which way a component is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Small values first.
    #[default]
    Ascending,
    /// Large values first.
    Descending,
}

/// Type and direction of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Component {
    /// What it holds.
    pub column_type: ColumnType,
    /// How it is ordered.
    pub direction: Direction,
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            Direction::Ascending => write!(f, "{}", self.column_type),
            Direction::Descending => write!(f, "{} descending", self.column_type),
        }
    }
}

const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

/// A float as a number that is ordered as the floats are: one zero, one NaN behind infinity.
macro_rules! ordered_float {
    ($to:ident, $from:ident, $float:ty, $bits:ty, $sign:ident) => {
        fn $to(value: $float) -> $bits {
            let value =
                if value.is_nan() { <$float>::from_bits(<$float>::NAN.to_bits() & !$sign) } else { value + 0.0 };
            let bits = value.to_bits();
            if bits & $sign == 0 { bits ^ $sign } else { !bits }
        }

        /// `None` for a number that no float has.
        fn $from(ordered: $bits) -> Option<$float> {
            let bits = if ordered & $sign == 0 { !ordered } else { ordered ^ $sign };
            let value = <$float>::from_bits(bits);
            ($to(value) == ordered).then_some(value)
        }
    };
}

ordered_float!(order_f32, unorder_f32, f32, u32, SIGN_32);
ordered_float!(order_f64, unorder_f64, f64, u64, SIGN_64);

impl Component {
    /// Of small values first.
    #[must_use]
    pub fn ascending(column_type: ColumnType) -> Self {
        Self { column_type, direction: Direction::Ascending }
    }

    /// Of large values first.
    #[must_use]
    pub fn descending(column_type: ColumnType) -> Self {
        Self { column_type, direction: Direction::Descending }
    }

    /// Where it ends in a key.
    #[must_use]
    pub fn shape(self) -> ComponentShape {
        match self.column_type.fixed_length() {
            Some(length) => ComponentShape::Fixed(length),
            None => ComponentShape::Escaped { is_descending: self.direction == Direction::Descending },
        }
    }

    #[inline]
    fn mask(self) -> u8 {
        if self.direction == Direction::Descending { 0xff } else { 0 }
    }

    /// Appends a value, of this type or a number that this type has, too.
    ///
    /// # Errors
    /// `Invalid argument` for a value of another type; `out` is as it was.
    #[inline]
    pub fn encode(self, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        let value = if value.column_type() == self.column_type { value } else { self.coerce(value)? };
        let mask = self.mask();
        // Of numbers the mask goes over a whole word.
        let word = if mask == 0 { 0 } else { u64::MAX };
        match value {
            ValueRef::Bool(value) => out.push(u8::from(value) ^ mask),
            ValueRef::I32(value) => put_32(out, value as u32 ^ SIGN_32, word),
            ValueRef::U32(value) => put_32(out, value, word),
            ValueRef::F32(value) => put_32(out, order_f32(value), word),
            ValueRef::I64(value) | ValueRef::Timestamp(Timestamp(value)) => put_64(out, value as u64 ^ SIGN_64, word),
            ValueRef::U64(value) => put_64(out, value, word),
            ValueRef::F64(value) => put_64(out, order_f64(value), word),
            ValueRef::Uuid(Uuid(bytes)) => out.extend(bytes.map(|byte| byte ^ mask)),
            ValueRef::Bytes(bytes) => put_escaped(out, bytes, mask),
            ValueRef::Text(text) => put_escaped(out, text.as_bytes(), mask),
        }
        Ok(())
    }

    #[cold]
    fn coerce(self, value: ValueRef<'_>) -> Result<ValueRef<'_>> {
        value
            .coerced(self.column_type)
            .ok_or_else(|| Error::invalid_argument(format!("{value:?} is no value of the type {}", self.column_type)))
    }

    /// The value at the start of `key`, and the bytes that it takes.
    fn decode(self, key: &[u8]) -> std::result::Result<(Value, usize), &'static str> {
        let length = self.shape().length_in(key).ok_or(match self.column_type.fixed_length() {
            Some(_) => "the key ends inside it",
            None => "it has no end mark, or an escape that there is not",
        })?;
        let mask = self.mask();
        let bytes = &key[..length];
        let word = || bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte ^ mask));
        let half = || word() as u32;
        let value = match self.column_type {
            ColumnType::Bool => match bytes[0] ^ mask {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return Err("neither 0 nor 1"),
            },
            ColumnType::I32 => Value::I32((half() ^ SIGN_32) as i32),
            ColumnType::U32 => Value::U32(half()),
            ColumnType::F32 => Value::F32(unorder_f32(half()).ok_or(NO_FLOAT)?),
            ColumnType::I64 => Value::I64((word() ^ SIGN_64) as i64),
            ColumnType::U64 => Value::U64(word()),
            ColumnType::F64 => Value::F64(unorder_f64(word()).ok_or(NO_FLOAT)?),
            ColumnType::Timestamp => Value::Timestamp(Timestamp((word() ^ SIGN_64) as i64)),
            ColumnType::Uuid => {
                let mut uuid = Uuid::default();
                uuid.0.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from ^ mask);
                Value::Uuid(uuid)
            }
            ColumnType::Bytes => Value::Bytes(unescape(bytes, mask)),
            ColumnType::Text => Value::Text(String::from_utf8(unescape(bytes, mask)).map_err(|_| "not UTF-8")?),
        };
        Ok((value, length))
    }
}

const NO_FLOAT: &str = "a form of zero or NaN that is never written";

#[inline]
fn put_32(out: &mut Vec<u8>, value: u32, mask: u64) {
    out.extend_from_slice(&(value ^ mask as u32).to_be_bytes());
}

#[inline]
fn put_64(out: &mut Vec<u8>, value: u64, mask: u64) {
    out.extend_from_slice(&(value ^ mask).to_be_bytes());
}

/// Eight bytes at a time: one of them is zero where the subtraction borrows from its highest bit.
fn has_zero(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    let word_has = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
    };
    words.iter().any(word_has) || rest.contains(&0)
}

fn put_escaped(out: &mut Vec<u8>, bytes: &[u8], mask: u8) {
    out.reserve(bytes.len() + 2);
    let start = out.len();
    let mut rest = bytes;
    while has_zero(rest)
        && let Some(zero) = rest.iter().position(|&byte| byte == ESCAPE)
    {
        out.extend_from_slice(&rest[..=zero]);
        out.push(ESCAPED_ZERO);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[ESCAPE, END]);
    if mask != 0 {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// `component` is whole: escapes are right and the end mark is there.
fn unescape(component: &[u8], mask: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(component.len() - 2);
    let mut at = 0;
    while at + 2 < component.len() {
        let byte = component[at] ^ mask;
        bytes.push(byte);
        at += if byte == ESCAPE { 2 } else { 1 };
    }
    bytes
}

/// Decodes a key, component by component.
#[derive(Clone, Debug)]
pub struct KeyDecoder<'a> {
    key: &'a [u8],
    at: usize,
    ordinal: usize,
}

impl<'a> KeyDecoder<'a> {
    /// From the start of a key on.
    #[must_use]
    pub fn new(key: &'a [u8]) -> Self {
        Self { key, at: 0, ordinal: 0 }
    }

    /// Bytes decoded so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next component.
    ///
    /// # Errors
    /// `Corruption` naming the component and its offset.
    pub fn next(&mut self, component: Component) -> Result<Value> {
        let (value, length) = component.decode(&self.key[self.at..]).map_err(|what| {
            let ordinal = self.ordinal + 1;
            Error::corruption(format!("component {ordinal} ({component}) of a key: {what}")).at_offset(self.at as u64)
        })?;
        self.at += length;
        self.ordinal += 1;
        Ok(value)
    }

    /// Steps over the next component.
    ///
    /// # Errors
    /// As [`next`](Self::next), where its end is not found.
    pub fn skip(&mut self, component: Component) -> Result<()> {
        match component.shape().length_in(&self.key[self.at..]) {
            Some(length) => {
                self.at += length;
                self.ordinal += 1;
                Ok(())
            }
            None => self.next(component).map(drop),
        }
    }

    /// Checks that the key has no more bytes.
    ///
    /// # Errors
    /// `Corruption` when it has.
    pub fn finish(self) -> Result<()> {
        match self.key.len() - self.at {
            0 => Ok(()),
            more => Err(Error::corruption(format!("{more} bytes behind component {} of a key", self.ordinal))
                .at_offset(self.at as u64)),
        }
    }
}
