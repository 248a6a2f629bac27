//! The value of a row: its columns, each with its id and its type.
//!
//! ```text
//! 01 | (varint32 id | u8 type | value)*        ids ascending, from 1 on; varints in their shortest form
//!
//! value     by the upper half of the type: 1 one byte, 2 four, 3 eight, 4 sixteen, 5 varint32 length and so many bytes
//!           numbers are little endian, a bool is 00 or 01, floats are their bits
//! ```
//!
//! A column that is not there has no value. One of an id that the reader does not know is stepped over, also when its
//! type is not known either.

use super::value::{ColumnType, Timestamp, Uuid, ValueRef};
use ferrock_base::coding::{get_varint32, put_varint32, varint_len};
use ferrock_base::{Error, Result};

/// First byte of a row's value.
const ROW_VERSION: u8 = 1;

/// Starts a row without columns.
#[inline]
pub fn begin_row(out: &mut Vec<u8>) {
    out.push(ROW_VERSION);
}

/// Appends a column; ids ascend.
#[inline]
pub fn put_column(out: &mut Vec<u8>, id: u32, value: ValueRef<'_>) {
    let code = value.column_type().code();
    if id >= 0x80 {
        put_varint32(out, id);
        out.push(code);
    } else if let Some(bytes) = value.as_bytes().filter(|bytes| bytes.len() < 0x80) {
        // Most columns: one byte each of id, type and length.
        out.reserve(bytes.len() + 3);
        out.extend_from_slice(&[id as u8, code, bytes.len() as u8]);
        out.extend_from_slice(bytes);
        return;
    } else {
        out.extend_from_slice(&[id as u8, code]);
    }
    match value {
        ValueRef::Bool(value) => out.push(u8::from(value)),
        ValueRef::I32(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::U32(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::F32(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::I64(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::U64(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::F64(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Timestamp(Timestamp(value)) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Uuid(Uuid(bytes)) => out.extend_from_slice(&bytes),
        ValueRef::Bytes(bytes) => put_sized(out, bytes),
        ValueRef::Text(text) => put_sized(out, text.as_bytes()),
    }
}

#[inline]
fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    // Longer ones fit no value: the batch refuses them.
    put_varint32(out, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(bytes);
}

/// A column of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnRef<'a> {
    /// Its id.
    pub id: u32,
    /// The code of its type.
    pub type_code: u8,
    /// The bytes of the value, without length.
    pub bytes: &'a [u8],
    offset: usize,
}

impl<'a> ColumnRef<'a> {
    /// The value; `None` when its type is not known here.
    ///
    /// # Errors
    /// `Corruption` for a bool that is neither 0 nor 1 and for text that is not UTF-8.
    pub fn value(&self) -> Result<Option<ValueRef<'a>>> {
        let Some(column_type) = ColumnType::from_code(self.type_code) else { return Ok(None) };
        let word = || self.bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let half = || word() as u32;
        Ok(Some(match column_type {
            ColumnType::Bool => match self.bytes {
                [0] => ValueRef::Bool(false),
                [1] => ValueRef::Bool(true),
                _ => return Err(self.wrong("neither 0 nor 1")),
            },
            ColumnType::I32 => ValueRef::I32(half() as i32),
            ColumnType::U32 => ValueRef::U32(half()),
            ColumnType::F32 => ValueRef::F32(f32::from_bits(half())),
            ColumnType::I64 => ValueRef::I64(word() as i64),
            ColumnType::U64 => ValueRef::U64(word()),
            ColumnType::F64 => ValueRef::F64(f64::from_bits(word())),
            ColumnType::Timestamp => ValueRef::Timestamp(Timestamp(word() as i64)),
            ColumnType::Uuid => {
                ValueRef::Uuid(Uuid(self.bytes.try_into().map_err(|_| self.wrong("not sixteen bytes"))?))
            }
            ColumnType::Bytes => ValueRef::Bytes(self.bytes),
            ColumnType::Text => ValueRef::Text(std::str::from_utf8(self.bytes).map_err(|_| self.wrong("not UTF-8"))?),
        }))
    }

    #[cold]
    fn wrong(&self, what: &str) -> Error {
        let name = ColumnType::from_code(self.type_code).map_or("?", ColumnType::name);
        Error::corruption(format!("column {} ({name}) of a row: {what}", self.id)).at_offset(self.offset as u64)
    }
}

/// The value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRef<'a> {
    bytes: &'a [u8],
}

impl<'a> RowRef<'a> {
    /// A row from its bytes. Columns are decoded when they are accessed.
    ///
    /// # Errors
    /// `Corruption` for no bytes, `Not implemented` for a form that is not known here.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        match bytes.first() {
            Some(&ROW_VERSION) => Ok(Self { bytes }),
            Some(version) => {
                Err(Error::not_supported(format!("a row of form {version}; known is {ROW_VERSION}")).at_offset(0))
            }
            None => Err(Error::corruption("a row without bytes").at_offset(0)),
        }
    }

    /// The columns, in the order of their ids.
    #[must_use]
    pub fn columns(self) -> Columns<'a> {
        Columns { bytes: self.bytes, at: 1, last: 0 }
    }

    /// The value of a column; `None` when the row has none, or one of a type that is not known here. Reads the columns
    /// before it, none behind it.
    ///
    /// # Errors
    /// `Corruption` when those are damaged.
    pub fn get(self, id: u32) -> Result<Option<ValueRef<'a>>> {
        for column in self.columns() {
            let column = column?;
            if column.id >= id {
                return if column.id == id { column.value() } else { Ok(None) };
            }
        }
        Ok(None)
    }
}

/// The columns of a row, in the order of their ids. Ends behind the first error.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    bytes: &'a [u8],
    at: usize,
    last: u32,
}

impl<'a> Columns<'a> {
    fn varint(&mut self) -> std::result::Result<u32, &'static str> {
        let (value, length) = get_varint32(&self.bytes[self.at..]).ok_or("the row ends inside a number")?;
        if length != varint_len(u64::from(value)) {
            return Err("a number in a form longer than it needs");
        }
        self.at += length;
        Ok(value)
    }

    fn read(&mut self) -> std::result::Result<ColumnRef<'a>, &'static str> {
        let offset = self.at;
        let id = self.varint()?;
        if id <= self.last {
            return Err("ids that do not ascend");
        }
        self.last = id;
        let &type_code = self.bytes.get(self.at).ok_or("the row ends before a type")?;
        self.at += 1;
        let length = match type_code >> 4 {
            1 => 1,
            2 => 4,
            3 => 8,
            4 => 16,
            5 => usize::try_from(self.varint()?).unwrap_or(usize::MAX),
            _ => return Err("a type of unknown width"),
        };
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len()).ok_or("the row ends inside it")?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(ColumnRef { id, type_code, bytes, offset })
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<ColumnRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let offset = self.at;
        Some(self.read().map_err(|what| {
            self.at = self.bytes.len();
            Error::corruption(format!("a column of a row, behind column {}: {what}", self.last))
                .at_offset(offset as u64)
        }))
    }
}
