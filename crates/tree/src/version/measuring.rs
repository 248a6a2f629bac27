//! Access to parts of the file index, for the measuring tools in `examples/`.

use super::Version;
use super::file_index::FileIndex;

/// Builds the index of `version` anew, from that of `base` where one is given, and returns its bytes.
#[must_use]
pub fn build_file_index(version: &Version, base: Option<&Version>) -> usize {
    let base = base.map(|base| (base.index(), base.levels()));
    let index = FileIndex::build(version.comparator().user(), version.levels(), base);
    std::hint::black_box(&index).size_bytes()
}

/// The rank in the next level of the chain that a rank determines; `None` if the bridge alone does not determine it.
#[inline]
#[must_use]
pub fn follow_bridge(version: &Version, step: usize, rank: u32) -> Option<u32> {
    version.index().follow_bridge(step, rank)
}
