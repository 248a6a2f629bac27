//! LZ4 high compression.
pub(super) use super::lz4::Encoder;
