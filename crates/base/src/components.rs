//! Keys made of components, and where each component ends, which its bytes alone determine.
//!
//! ```text
//! fixed       N bytes
//! ascending   the bytes, 00 as 00 ff, then 00 01
//! descending  the same with every bit inverted: ff as ff 00, then ff fe
//! ```
//!
//! A component determines its own end, so no sequence of components is a prefix of another one of the same shapes, and
//! all keys between two that begin with one sequence begin with it, too.
//!
//! `ferrock_format::wide_key` encodes the values inside; docs/format/wide-keys.md describes the format.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Starts an escape, or the end of a component. Inverted in a descending component, as are the bytes below.
pub const ESCAPE: u8 = 0x00;
/// Behind [`ESCAPE`]: a byte 00 of the value.
pub const ESCAPED_ZERO: u8 = 0xff;
/// Behind [`ESCAPE`]: the end of the component.
pub const END: u8 = 0x01;

/// Where a component ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComponentShape {
    /// After so many bytes.
    Fixed(usize),
    /// After its end mark.
    Escaped {
        /// Every bit is inverted.
        is_descending: bool,
    },
}

impl ComponentShape {
    /// The length of the component at the start of `key`; `None` if it does not end within `key`, or is malformed.
    #[inline]
    #[must_use]
    pub fn length_in(self, key: &[u8]) -> Option<usize> {
        match self {
            Self::Fixed(length) => (key.len() >= length).then_some(length),
            Self::Escaped { is_descending } => escaped_length(key, if is_descending { 0xff } else { 0 }),
        }
    }
}

/// Bytes of an escaped component, its end mark included. `mask` is applied to every byte.
fn escaped_length(key: &[u8], mask: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += key.get(at..)?.iter().position(|&byte| byte ^ mask == ESCAPE)?;
        match key.get(at + 1)? ^ mask {
            END => return Some(at + 2),
            ESCAPED_ZERO => at += 2,
            _ => return None,
        }
    }
}

/// The first components of a key, taken as its prefix.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LeadingComponents {
    /// No two adjacent shapes are fixed.
    shapes: Arc<[ComponentShape]>,
}

/// Longest fixed component that a name may have.
const MAX_FIXED_BYTES: usize = 1 << 16;

impl LeadingComponents {
    /// Components of these shapes; adjacent fixed ones are joined.
    #[must_use]
    pub fn new(shapes: impl IntoIterator<Item = ComponentShape>) -> Self {
        let mut joined: Vec<ComponentShape> = Vec::new();
        for shape in shapes {
            match (joined.last_mut(), shape) {
                (Some(ComponentShape::Fixed(sum)), ComponentShape::Fixed(length)) => *sum = sum.saturating_add(length),
                _ => joined.push(shape),
            }
        }
        Self { shapes: joined.into() }
    }

    /// Parses the text that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    /// `Invalid argument` for a part that is neither a length nor `a` nor `d`.
    pub fn parse(text: &str) -> Result<Self> {
        let shapes = text.split('.').map(|part| match part {
            "a" => Ok(ComponentShape::Escaped { is_descending: false }),
            "d" => Ok(ComponentShape::Escaped { is_descending: true }),
            length => match length.parse() {
                Ok(length) if (1..=MAX_FIXED_BYTES).contains(&length) => Ok(ComponentShape::Fixed(length)),
                _ => Err(Error::invalid_argument(format!(
                    "components {text:?}: {part:?} is neither a length of 1 to {MAX_FIXED_BYTES} bytes nor a nor d"
                ))),
            },
        });
        Ok(Self::new(shapes.collect::<Result<Vec<_>>>()?))
    }

    /// The length of the components, if it is the same for all keys.
    #[must_use]
    pub fn fixed_length(&self) -> Option<usize> {
        match self.shapes[..] {
            [ComponentShape::Fixed(length)] => Some(length),
            _ => None,
        }
    }

    /// The length of the components in `key`; `None` if `key` does not have all of them.
    #[inline]
    #[must_use]
    pub fn length_in(&self, key: &[u8]) -> Option<usize> {
        let mut at = 0;
        for shape in &*self.shapes {
            at += shape.length_in(&key[at..])?;
        }
        Some(at)
    }
}

/// `8`, `a`, `d` for each shape, with points between.
impl fmt::Display for LeadingComponents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shape) in self.shapes.iter().enumerate() {
            let point = if index == 0 { "" } else { "." };
            match shape {
                ComponentShape::Fixed(length) => write!(f, "{point}{length}")?,
                ComponentShape::Escaped { is_descending: false } => write!(f, "{point}a")?,
                ComponentShape::Escaped { is_descending: true } => write!(f, "{point}d")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LeadingComponents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_say_where_they_end() {
        let leading = LeadingComponents::parse("2.a.d").unwrap();
        let key = b"xxa\0\xffb\0\x01\x9e\xff\0\xff\xfetail";
        assert_eq!(leading.length_in(key), Some(13));
        for length in 0..13 {
            assert_eq!(leading.length_in(&key[..length]), None, "{length}");
        }
        assert_eq!(leading.length_in(b"xxa\0\x02"), None, "no escape");
        assert_eq!(leading.fixed_length(), None);
    }

    #[test]
    fn the_text_comes_back_with_fixed_ones_joined() {
        let of = |text: &str| LeadingComponents::parse(text).map(|leading| leading.to_string());
        assert_eq!(of("4.8.a.d.16").unwrap(), "12.a.d.16");
        assert_eq!(LeadingComponents::parse("4.8").unwrap().fixed_length(), Some(12));
        for wrong in ["", "0", "a.", "b", "-1", "99999999"] {
            assert!(of(wrong).unwrap_err().to_string().contains("components"), "{wrong}");
        }
    }
}
