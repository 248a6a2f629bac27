//! Values in blob files: writing and fetching them, and knowing which files still have live ones.
//!
//! ```text
//! entry  key -> reference ---- FetchBlob ----> BlobView: which files the version has
//!                                                 |
//!                                              BlobCache: values in memory, of families that have one
//!                                                 |
//!                                              BlobSource: the open files, a bounded number of them
//!                                                 |
//!                                              BlobFileReader: one file; every read is verified
//!                                                 |
//!                                              BlobRead: the same as a future
//! ```
//!
//! Flushes and compactions write them (`BlobFileWriter`, used by `job::blob_output`): a value that is large enough goes
//! into the blob file of the job, and the table has the reference. References that are only copied stay as they are,
//! unless their file is collected ([`BlobCollection`]).
//!
//! Accounting: [`BlobFlow`] counts the references that enter a compaction and those that leave it. The difference is
//! recorded as garbage, and a file whose records are all garbage leaves the version (see `version::blob_file`).
//!
//! A reference may name a file that the MANIFEST does not: a database that appends values to blob files while it writes
//! leaves such files behind when it crashes. Without a footer they are read like others and never deleted; with one,
//! recovery adds them to the MANIFEST (see `db::log_blobs`).

mod async_read;
mod cache;
mod collection;
mod cut_off;
mod direct;
mod direct_place;
mod file_reader;
mod file_writer;
mod flow;
mod readahead;
mod source;

pub use async_read::BlobRead;
pub use cache::{BlobCache, BlobCacheSession};
pub use collection::BlobCollection;
pub use cut_off::complete_file;
pub use direct::{DirectBlobs, DirectOptions};
pub use direct_place::{DirectPlace, KeepFiles};
pub use file_reader::BlobFileReader;
pub(crate) use file_reader::FooterRule;
pub(crate) use file_writer::{BlobEncoder, BlobFileParams, BlobFileWriter};
pub use flow::{BlobFlow, for_each_reference};
pub(crate) use readahead::BlobReadahead;
pub use source::{BlobPlace, BlobSource, BlobView, OwnedBlobView, closed_file};

use crate::read::PinnedValue;
use ferrock_base::Result;
use ferrock_table::ValuePin;
use std::fmt::Debug;

/// A value that was in a blob file: read, or in place in the cache.
pub type BlobValue = PinnedValue<ValuePin>;

/// Resolves the references of one version.
pub trait FetchBlob: Debug + Send + Sync {
    /// The value behind `index`, the bytes stored under `user_key` (or in one of its columns) instead of a value.
    ///
    /// # Errors
    /// `Corruption` naming file and offset when reference, file and key do not agree or a checksum does not match;
    /// `Incomplete` when the read may not touch files.
    fn fetch(&self, user_key: &[u8], index: &[u8]) -> Result<BlobValue>;

    /// The same where that takes no read, as far as is known.
    ///
    /// # Errors
    /// `Corruption` when the reference is damaged.
    fn fetch_in_memory(&self, _user_key: &[u8], _index: &[u8]) -> Result<Option<BlobValue>> {
        Ok(None)
    }
}

/// A source of values for the tests of iterators and lookups.
#[cfg(test)]
pub(crate) mod fake {
    use super::{BlobValue, FetchBlob, Result};

    /// Returns made-up values: `blob of <key> at <index>`. The index `bad` cannot be fetched.
    #[derive(Debug)]
    pub(crate) struct FakeBlobs;

    impl FetchBlob for FakeBlobs {
        fn fetch(&self, user_key: &[u8], index: &[u8]) -> Result<BlobValue> {
            if index == b"bad" {
                return Err(ferrock_base::Error::corruption("bad blob"));
            }
            Ok([b"blob of ", user_key, b" at ", index].concat().into())
        }
    }
}

#[cfg(test)]
mod tests;
