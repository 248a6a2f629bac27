//! What an examination found, in the form that a repair goes by.
//!
//! Invariant: what is intact here is what a salvage finds intact, as both decide by [`is_broken`] and
//! [`Facts::counts`].

use crate::blobs::BlobFacts;
use crate::manifest::{Family, Tree};
use crate::report::{KeyRange, Report};
use crate::subject::{Present, Subject};
use crate::tables::Span;
use ferrock_base::{FileNumber, InternalComparator, SequenceNumber, ValueType};
use ferrock_format::properties::TableProperties;
use ferrock_format::version_edit::NewFile;
use ferrock_tree::blob::for_each_reference;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Property of a table that a repair wrote: the names of the files whose entries it has, with commas between them.
pub(crate) const SALVAGED_FROM: &[u8] = b"ferrock.salvaged-from";

/// What is known of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableFacts {
    pub(crate) number: FileNumber,
    pub(crate) present: Present,
    pub(crate) recorded: Option<NewFile>,
    pub(crate) properties: Arc<TableProperties>,
    pub(crate) span: Span,
    /// Intact entries that refer to each blob file, and the bytes of their records.
    pub(crate) references: BTreeMap<FileNumber, (u64, u64)>,
    /// It must be written anew.
    pub(crate) is_damaged: bool,
}

/// A family and its tables.
#[derive(Clone, Debug)]
pub(crate) struct FamilyFacts {
    pub(crate) family: Family,
    pub(crate) order: InternalComparator,
    pub(crate) tables: Vec<TableFacts>,
    /// The levels in the MANIFEST count.
    pub(crate) trusts_levels: bool,
}

/// Everything that was found.
pub(crate) struct Facts {
    pub(crate) subject: Subject,
    pub(crate) report: Report,
    pub(crate) tree: Tree,
    pub(crate) is_trusted: bool,
    pub(crate) families: BTreeMap<u32, FamilyFacts>,
    pub(crate) blobs: BTreeMap<FileNumber, BlobFacts>,
    /// Logs whose entries count, in order.
    pub(crate) logs: Vec<FileNumber>,
    /// By family: the first and the last internal key of what counts of them.
    pub(crate) log_keys: BTreeMap<u32, (Vec<u8>, Vec<u8>)>,
    pub(crate) last_sequence: SequenceNumber,
    /// IDENTITY is there and is that of the database.
    pub(crate) has_identity: bool,
    /// The MANIFEST that was read.
    pub(crate) manifest: Option<FileNumber>,
    /// The MANIFEST that counts though no CURRENT names it.
    pub(crate) unnamed_manifest: Option<FileNumber>,
}

impl Facts {
    /// True for an entry of a log that is not in a table already, as far as the MANIFEST tells.
    pub(crate) fn counts(&self, log: FileNumber, family: u32) -> bool {
        self.families.get(&family).is_some_and(|facts| !self.is_trusted || log >= facts.family.log_number)
    }

    /// Where entries of a log may be that cannot be read: in all families that have not got all of it in tables.
    pub(crate) fn reach_of_log(&self, log: FileNumber) -> Vec<KeyRange> {
        if !self.is_trusted {
            return vec![KeyRange { family: None, from: None, to: None }];
        }
        let families = self.families.values().filter(|facts| log >= facts.family.log_number);
        families.map(|facts| KeyRange { family: Some(facts.family.name.clone()), from: None, to: None }).collect()
    }
}

/// True when an entry, or a column of it, refers to a blob that is not intact.
pub(crate) fn is_broken(
    blobs: &BTreeMap<FileNumber, BlobFacts>,
    value_type: ValueType,
    key: &[u8],
    value: &[u8],
) -> bool {
    let mut is_broken = false;
    let visited = for_each_reference(value_type, value, |reference| {
        is_broken |= blobs.get(&reference.file_number).and_then(|facts| facts.record_of(key, reference)).is_none();
        Ok(())
    });
    is_broken || visited.is_err()
}
