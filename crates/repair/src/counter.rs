//! What of a table is intact, and where something of it is lost.

use crate::blobs::BlobFacts;
use crate::facts::is_broken;
use crate::report::{Finding, KeyRange};
use crate::tables::{self, Reach, Span, Visitor};
use ferrock_base::{FileNumber, InternalComparator, ParsedInternalKey, Result};
use ferrock_table::Table;
use ferrock_tree::blob::for_each_reference;
use ferrock_vfs::IoActivity;
use std::collections::{BTreeMap, BTreeSet};

/// Counts what is intact in a table.
pub(crate) struct Counter<'a> {
    order: &'a InternalComparator,
    blobs: &'a BTreeMap<FileNumber, BlobFacts>,
    pub(crate) span: Span,
    /// Entries that are no range tombstones, intact or with broken references.
    pub(crate) points: u64,
    /// Entries that refer to broken blobs.
    pub(crate) broken: Span,
    pub(crate) broken_blobs: BTreeSet<FileNumber>,
    pub(crate) references: BTreeMap<FileNumber, (u64, u64)>,
    /// Damage of data blocks and of the index.
    pub(crate) findings: Vec<Finding>,
    ranges: Vec<Reach>,
    /// Intact entries that refer to blob files which cannot be opened.
    unopened: Span,
    /// Damage of what tells where data is, which costs nothing that is told by a whole scan.
    pub(crate) beside: Option<Finding>,
}

impl<'a> Counter<'a> {
    /// Reads all of a table.
    pub(crate) fn read(
        table: &Table,
        order: &'a InternalComparator,
        blobs: &'a BTreeMap<FileNumber, BlobFacts>,
    ) -> Result<Self> {
        let mut counter = Self {
            order,
            blobs,
            span: Span::default(),
            points: 0,
            broken: Span::default(),
            broken_blobs: BTreeSet::new(),
            references: BTreeMap::new(),
            findings: Vec::new(),
            ranges: Vec::new(),
            unopened: Span::default(),
            beside: None,
        };
        tables::visit(table, &mut counter)?;
        counter.points = counter.span.entries + counter.broken.entries;
        counter.span.add_tombstones(order, &tables::tombstones(table));
        if let Err(error) = table.verify_checksums(0, IoActivity::Unknown) {
            let is_told = counter.findings.iter().any(|finding| finding.offset == error.offset());
            counter.beside = (!is_told).then(|| Finding::of(&error));
        }
        Ok(counter)
    }

    /// Where reads fail until blob files are mended.
    pub(crate) fn without_blobs(&self, family: &str) -> Option<KeyRange> {
        self.unopened.keys.as_ref().map(|_| self.unopened.range(family))
    }

    /// Where something is lost.
    pub(crate) fn lost(&self, family: &str) -> Vec<KeyRange> {
        let broken = self.broken.keys.as_ref().map(|_| self.broken.range(family));
        let ranges = self.ranges.iter().cloned();
        let in_blocks = ranges.map(|(from, to)| KeyRange { family: Some(family.to_owned()), from, to });
        broken.into_iter().chain(in_blocks).collect()
    }
}

impl Visitor for Counter<'_> {
    fn entry(&mut self, key: ParsedInternalKey<'_>, value: &[u8]) -> Result<()> {
        if is_broken(self.blobs, key.value_type, key.user_key, value) {
            let broken = &mut self.broken_blobs;
            // What cannot be decoded names no file.
            let _ = for_each_reference(key.value_type, value, |reference| {
                broken.insert(reference.file_number);
                Ok(())
            });
            self.broken.add(self.order, key);
            return Ok(());
        }
        let (blobs, references, mut opens) = (self.blobs, &mut self.references, true);
        for_each_reference(key.value_type, value, |reference| {
            let facts = blobs.get(&reference.file_number);
            opens &= facts.is_none_or(BlobFacts::opens);
            let size = facts.and_then(|facts| facts.record_of(key.user_key, reference));
            let (count, bytes) = references.entry(reference.file_number).or_default();
            (*count, *bytes) = (*count + 1, *bytes + size.unwrap_or_default());
            Ok(())
        })?;
        self.span.add(self.order, key);
        if !opens {
            self.unopened.add(self.order, key);
        }
        Ok(())
    }

    fn damage(&mut self, finding: Finding, range: Reach) {
        self.findings.push(finding);
        self.ranges.push(range);
    }
}
