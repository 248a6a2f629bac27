//! Tables of wide partitions: the bytes of their keys, rows, schema record and page tokens.
//!
//! ```text
//! row           key    [partition components][clustering components]      each says itself where it ends
//!               value  01 | (column id, type, value)*                      ids ascending
//! schema        key    empty
//!               value  "fwide" 01 | components | columns
//! ```
//!
//! Invariants:
//! - Keys are in the order of the tuples that they stand for when they are compared byte by byte.
//! - No key of a schema, and no sequence of its first components, is a prefix of another of as many components.
//! - What a decoder accepts encodes to the same bytes again.
//!
//! The normative page is docs/format/wide-keys.md.

mod component;
mod page_token;
mod row;
mod schema;
#[cfg(test)]
mod tests;
mod value;

pub use component::{Component, Direction, KeyDecoder};
pub use page_token::PageToken;
pub use row::{ColumnRef, Columns, RowRef, begin_row, put_column};
pub use schema::{Column, KeyColumn, SCHEMA_KEY, SchemaRecord};
pub use value::{ColumnType, Timestamp, Uuid, Value, ValueRef};

/// Longest key of a row. So a key of this many bytes `ff` is behind every row.
pub const MAX_KEY_BYTES: usize = 0xffff;

/// The first key behind all that begin with `prefix`; empty when there is none: all bytes are `ff`, or there is no
/// byte.
pub fn successor_into(prefix: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if let Some(last) = prefix.iter().rposition(|&byte| byte != 0xff) {
        out.extend_from_slice(&prefix[..=last]);
        out[last] += 1;
    }
}
