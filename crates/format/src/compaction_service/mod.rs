//! What a database hands to a compaction in another process, and what it gets back.
//!
//! Both are RocksDB's texts, behind a version:
//!
//! ```text
//! | version: fixed32 = 1 | name=value;name=value; ... |
//!
//! text and bytes    upper-case hexadecimal                cf_name=64656661756C74;
//! number, boolean   decimal; true or false                output_level=6;has_begin=false;
//! list              items with ':' between                snapshots=7:12;
//! struct            in braces, as a whole                 status={code=0;subcode=0;severity=0;message=;};
//! list of structs   in braces                             output_files={{file_name=..;}:{file_name=..;}};
//! ```
//!
//! Names that a reader does not know are passed over, and names that are missing keep their defaults, so both sides may
//! be of different releases, and one of them RocksDB. What only Ferrock says has names that begin with `ferrock_`.

mod blobs;
mod input;
mod result;
mod text;

pub use blobs::{BlobJob, BlobReferences, BlobResult};
pub use input::{CompactionServiceInput, JobDetails};
pub use result::{CompactionServiceOutputFile, CompactionServiceResult, CompactionServiceStats};
