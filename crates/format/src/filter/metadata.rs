//! The bytes behind a filter.

/// Bytes behind the filter that select its implementation.
pub const METADATA_SIZE: usize = 5;
