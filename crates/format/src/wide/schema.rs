//! The schema record: the components of a table's keys, and the columns of its rows.
//!
//! ```text
//! "fwide" 01                                              form
//! varint32 n | (u8 type | u8 direction | lps name)*       partition components, from 1 to 16
//! varint32 n | (u8 type | u8 direction | lps name)*       clustering components, at most 16
//! varint32 n | (varint32 id | u8 type | lps name)*        columns, ids ascending from 1 on
//! ```
//!
//! A direction is 0 for ascending, 1 for descending. Its key is the empty one, which no row has.

use super::component::{Component, Direction};
use super::value::ColumnType;
use ferrock_base::coding::{Cursor, put_length_prefixed, put_varint32, varint_len};
use ferrock_base::{Error, Result};

/// The key of the record.
pub const SCHEMA_KEY: &[u8] = b"";

const MAGIC: &[u8] = b"fwide";
const VERSION: u8 = 1;
const MAX_COMPONENTS: u32 = 16;
const MAX_COLUMNS: u32 = 4096;

/// A component with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// Its type and direction.
    pub component: Component,
}

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The id that rows store. Never reused for another column.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub column_type: ColumnType,
}

/// The components and columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaRecord {
    /// The components that name a partition.
    pub partition: Vec<KeyColumn>,
    /// The components that name a row in it.
    pub clustering: Vec<KeyColumn>,
    /// The columns, by their ids.
    pub columns: Vec<Column>,
}

impl SchemaRecord {
    /// Refuses schemas that the record cannot hold.
    ///
    /// # Errors
    /// `Invalid argument` naming what is wrong.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::invalid_argument(format!("schema: {what}")));
        if self.partition.is_empty() {
            return wrong("there is no partition component; there must be one at least".to_owned());
        }
        for (components, what) in [(&self.partition, "partition"), (&self.clustering, "clustering")] {
            if components.len() > MAX_COMPONENTS as usize {
                return wrong(format!("{} {what} components, the limit is {MAX_COMPONENTS}", components.len()));
            }
        }
        if self.columns.len() > MAX_COLUMNS as usize {
            return wrong(format!("{} columns, the limit is {MAX_COLUMNS}", self.columns.len()));
        }
        if let Some(pair) = self.columns.windows(2).find(|pair| pair[0].id >= pair[1].id) {
            return wrong(format!(
                "columns {:?} and {:?} have the same id, or are not sorted",
                pair[0].name, pair[1].name
            ));
        }
        if let Some(zero) = self.columns.first().filter(|column| column.id == 0) {
            return wrong(format!("column {:?} has the id 0; ids begin with 1", zero.name));
        }
        let components = self.partition.iter().chain(&self.clustering).map(|component| &component.name);
        let mut names: Vec<&String> = components.chain(self.columns.iter().map(|column| &column.name)).collect();
        names.sort_unstable();
        if names.first().is_some_and(|name| name.is_empty()) {
            return wrong("a name is empty".to_owned());
        }
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => wrong(format!("two are called {:?}", pair[0])),
            None => Ok(()),
        }
    }

    /// The bytes of the components alone: equal where keys mean the same.
    pub fn encode_key_part(&self, out: &mut Vec<u8>) {
        for components in [&self.partition, &self.clustering] {
            put_varint32(out, components.len() as u32);
            for KeyColumn { name, component } in components {
                out.extend_from_slice(&[component.column_type.code(), component.direction as u8]);
                put_length_prefixed(out, name.as_bytes());
            }
        }
    }

    /// The bytes of the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = [MAGIC, &[VERSION]].concat();
        self.encode_key_part(&mut out);
        put_varint32(&mut out, self.columns.len() as u32);
        for Column { id, name, column_type } in &self.columns {
            put_varint32(&mut out, *id);
            out.push(column_type.code());
            put_length_prefixed(&mut out, name.as_bytes());
        }
        out
    }

    /// A record from its bytes.
    ///
    /// # Errors
    /// `Corruption` for bytes that are no schema record, `Not implemented` for a form or a type that is not known here.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let no_record = || Error::corruption("schema record: it does not begin with \"fwide\"").at_offset(0);
        let (&version, body) = bytes.strip_prefix(MAGIC).and_then(<[u8]>::split_first).ok_or_else(no_record)?;
        if version != VERSION {
            return Err(Error::not_supported(format!("schema record of form {version}; known is {VERSION}")));
        }
        let base = (MAGIC.len() + 1) as u64;
        let mut input = Cursor::new(body);
        let read = |input: &mut Cursor<'_>| -> Result<Self> {
            let (partition, clustering) = (components(input)?, components(input)?);
            let columns = columns(input)?;
            if !input.is_empty() {
                let more = format!("schema record: {} bytes behind it", input.rest().len());
                return Err(Error::corruption(more).at_offset(input.position() as u64));
            }
            Ok(Self { partition, clustering, columns })
        };
        let record = read(&mut input).map_err(|error| error.offset_by(base))?;
        record.check().map_err(|error| Error::corruption(error.message().to_owned()))?;
        Ok(record)
    }
}

/// A number in its shortest form, at most `limit`.
fn number(input: &mut Cursor<'_>, limit: u32, field: &str) -> Result<u32> {
    let before = input.position();
    let value = input.varint32(field)?;
    if value > limit || input.position() - before != varint_len(u64::from(value)) {
        let what = format!("{field}: {value}, the limit is {limit}, in the shortest form");
        return Err(Error::corruption(what).at_offset(before as u64));
    }
    Ok(value)
}

fn name(input: &mut Cursor<'_>) -> Result<String> {
    let at = input.position();
    let length = number(input, u32::MAX, "length of a name")?;
    let bytes = input.bytes(usize::try_from(length).unwrap_or(usize::MAX), "name")?;
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Error::corruption("schema record: a name is not UTF-8").at_offset(at as u64))?;
    Ok(text.to_owned())
}

fn column_type(input: &mut Cursor<'_>) -> Result<ColumnType> {
    let at = input.position() as u64;
    let code = input.u8("type")?;
    ColumnType::from_code(code)
        .ok_or_else(|| Error::not_supported(format!("schema record: type {code:#04x}")).at_offset(at))
}

fn components(input: &mut Cursor<'_>) -> Result<Vec<KeyColumn>> {
    let count = number(input, MAX_COMPONENTS, "number of components")?;
    let component = |_| {
        let column_type = column_type(input)?;
        let at = input.position() as u64;
        let direction = match input.u8("direction")? {
            0 => Direction::Ascending,
            1 => Direction::Descending,
            other => {
                return Err(Error::not_supported(format!("schema record: direction {other}")).at_offset(at));
            }
        };
        Ok(KeyColumn { name: name(input)?, component: Component { column_type, direction } })
    };
    (0..count).map(component).collect()
}

fn columns(input: &mut Cursor<'_>) -> Result<Vec<Column>> {
    let count = number(input, MAX_COLUMNS, "number of columns")?;
    let column = |_| {
        let id = number(input, u32::MAX, "column id")?;
        let column_type = column_type(input)?;
        Ok(Column { id, name: name(input)?, column_type })
    };
    (0..count).map(column).collect()
}
