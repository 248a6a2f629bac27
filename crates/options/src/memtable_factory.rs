//! Which structure memtables have: RocksDB's factories, by its names and with its fields.
//!
//! ```text
//! SkipListFactory            skip_list          skip_list:LOOKAHEAD
//! VectorRepFactory           vector             vector:COUNT
//! HashSkipListRepFactory     prefix_hash        prefix_hash:BUCKET_COUNT
//! HashLinkListRepFactory     hash_linkedlist    hash_linkedlist:BUCKET_COUNT
//! ```
//!
//! or `{id=NAME;field=value;...}`. An OPTIONS file has the form that RocksDB writes.

use ferrock_base::option_table::OptionValue;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_format::options_file::value::{NULL_OBJECT, parse_struct};
use ferrock_memtable::MemTableKind;

/// The structure of memtables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemTableFactory {
    /// Always sorted: for everything.
    SkipList {
        /// Kept and not used. In RocksDB a seek first tries so many entries behind the last one.
        lookahead: usize,
    },
    /// In the order of arrival, sorted when read: for loads that are not read before their flush.
    Vector {
        /// Kept and not used. In RocksDB the entries that memory is reserved for.
        count: usize,
    },
    /// A skip list for each hash of a prefix: for lookups, and scans within a prefix. One writer at a time.
    HashSkipList {
        /// Lists of the table.
        bucket_count: usize,
        /// Levels of a list.
        skiplist_height: i32,
        /// How many times as many entries a level has as the one above.
        branching_factor: i32,
    },
    /// A linked list for each hash of a prefix: the same with less memory for prefixes of few entries.
    HashLinkList {
        /// Lists of the table.
        bucket_count: usize,
        /// Entries after which a list becomes a skip list.
        threshold: u32,
        /// Kept and not used: `memtable_huge_page_size` has the effect.
        huge_page_size: usize,
        /// Kept and not used. In RocksDB lists of more entries are in the LOG.
        logging_threshold: i32,
        /// Kept and not used. In RocksDB a flush writes into the LOG how entries are distributed.
        log_when_flash: bool,
    },
}

impl Default for MemTableFactory {
    fn default() -> Self {
        Self::SkipList { lookahead: 0 }
    }
}

/// Lists that a table has at most.
const MAX_BUCKETS: usize = 1 << 26;

impl MemTableFactory {
    /// Skip lists in a hash table, with RocksDB's defaults but for the number of lists.
    #[must_use]
    pub fn hash_skip_list(bucket_count: usize) -> Self {
        Self::HashSkipList { bucket_count, skiplist_height: 4, branching_factor: 4 }
    }

    /// Linked lists in a hash table, with RocksDB's defaults but for the number of lists.
    #[must_use]
    pub fn hash_link_list(bucket_count: usize) -> Self {
        Self::HashLinkList {
            bucket_count,
            threshold: 256,
            huge_page_size: 0,
            logging_threshold: 4096,
            log_when_flash: true,
        }
    }

    /// The factory of a name, with RocksDB's defaults, and the field that a number behind the name sets.
    fn named(name: &str) -> Option<(Self, &'static str)> {
        Some(match name {
            "SkipListFactory" | "skip_list" => (Self::default(), "lookahead"),
            "VectorRepFactory" | "vector" => (Self::Vector { count: 0 }, "count"),
            "HashSkipListRepFactory" | "prefix_hash" => (Self::hash_skip_list(1_000_000), "bucket_count"),
            "HashLinkListRepFactory" | "hash_linkedlist" => (Self::hash_link_list(50_000), "bucket_count"),
            _ => return None,
        })
    }

    /// True for a text with a field that its factory does not have.
    pub(crate) fn has_unknown_field(text: &str) -> bool {
        let fields = parse_struct(text).unwrap_or_default();
        let id = fields.iter().find(|(name, _)| *name == "id").map(|(_, id)| id.split(':').next().unwrap_or_default());
        let Some((factory, _)) = id.and_then(Self::named) else { return false };
        // Every field takes a 0.
        fields.iter().any(|(name, _)| *name != "id" && factory.clone().set(name, "0").is_none())
    }

    fn set(&mut self, field: &str, text: &str) -> Option<()> {
        fn take<T: OptionValue>(field: &mut T, text: &str) -> Option<()> {
            *field = T::parse_option(text)?;
            Some(())
        }
        match (self, field) {
            (Self::SkipList { lookahead }, "lookahead") => take(lookahead, text),
            (Self::Vector { count }, "count") => take(count, text),
            (Self::HashSkipList { bucket_count, .. } | Self::HashLinkList { bucket_count, .. }, "bucket_count") => {
                take(bucket_count, text)
            }
            (Self::HashSkipList { skiplist_height, .. }, "skiplist_height") => take(skiplist_height, text),
            (Self::HashSkipList { branching_factor, .. }, "branching_factor") => take(branching_factor, text),
            (Self::HashLinkList { threshold, .. }, "threshold") => take(threshold, text),
            (Self::HashLinkList { huge_page_size, .. }, "huge_page_size") => take(huge_page_size, text),
            (Self::HashLinkList { logging_threshold, .. }, "logging_threshold") => take(logging_threshold, text),
            (Self::HashLinkList { log_when_flash, .. }, "log_when_flash") => take(log_when_flash, text),
            _ => None,
        }
    }

    /// RocksDB's name of the factory.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SkipList { .. } => "SkipListFactory",
            Self::Vector { .. } => "VectorRepFactory",
            Self::HashSkipList { .. } => "HashSkipListRepFactory",
            Self::HashLinkList { .. } => "HashLinkListRepFactory",
        }
    }

    /// False for a structure that RocksDB writes to from one thread at a time.
    #[must_use]
    pub fn allows_concurrent_writes(&self) -> bool {
        matches!(self, Self::SkipList { .. } | Self::Vector { .. })
    }

    /// True for a structure that is a skip list without a prefix extractor.
    #[must_use]
    pub fn needs_prefix_extractor(&self) -> bool {
        matches!(self, Self::HashSkipList { .. } | Self::HashLinkList { .. })
    }

    /// The structure that memtables get.
    #[doc(hidden)]
    #[must_use]
    pub fn kind(&self) -> MemTableKind {
        let buckets = |count: usize| count.clamp(1, MAX_BUCKETS);
        match *self {
            Self::SkipList { .. } => MemTableKind::SkipList,
            Self::Vector { .. } => MemTableKind::Vector,
            Self::HashSkipList { bucket_count, skiplist_height, branching_factor } => MemTableKind::HashSkipList {
                bucket_count: buckets(bucket_count),
                height: usize::try_from(skiplist_height).unwrap_or(1),
                branching: u32::try_from(branching_factor).unwrap_or(2),
            },
            Self::HashLinkList { bucket_count, threshold, .. } => {
                MemTableKind::HashLinkList { bucket_count: buckets(bucket_count), threshold: threshold as usize }
            }
        }
    }
}

impl OptionValue for MemTableFactory {
    fn parse_option(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.contains('=') {
            let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
            let (mut factory, field) = Self::named(name)?;
            return number.map_or(Some(()), |number| factory.set(field, number)).map(|()| factory);
        }
        let body = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let fields = parse_struct(body).ok()?;
        let id = fields.iter().find(|(name, _)| *name == "id")?.1;
        let mut factory = Self::parse_option(id)?;
        for (name, value) in fields.iter().filter(|(name, _)| *name != "id") {
            factory.set(name, value)?;
        }
        Some(factory)
    }

    fn format_option(&self) -> String {
        match self {
            Self::SkipList { lookahead: 0 } => "SkipListFactory".to_owned(),
            Self::SkipList { lookahead } => format!("SkipListFactory:{lookahead}"),
            Self::Vector { count } => format!("{{id=VectorRepFactory;count={count};}}"),
            Self::HashSkipList { bucket_count, skiplist_height, branching_factor } => format!(
                "{{id=HashSkipListRepFactory;branching_factor={branching_factor};skiplist_height={skiplist_height};\
                 bucket_count={bucket_count};}}"
            ),
            Self::HashLinkList { bucket_count, threshold, huge_page_size, logging_threshold, log_when_flash } => {
                format!(
                    "{{id=HashLinkListRepFactory;log_when_flash={log_when_flash};\
                     logging_threshold={logging_threshold};huge_page_size={huge_page_size};threshold={threshold};\
                     bucket_count={bucket_count};}}"
                )
            }
        }
    }
}

/// The extractor of `memtable_insert_with_hint_prefix_extractor`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InsertHintPrefixes(pub Option<PrefixExtractor>);

impl OptionValue for InsertHintPrefixes {
    fn parse_option(text: &str) -> Option<Self> {
        PrefixExtractor::built_in(text).ok().map(Self)
    }
    fn format_option(&self) -> String {
        self.0.as_ref().map_or_else(|| NULL_OBJECT.to_owned(), PrefixExtractor::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What RocksDB 11.8.1 and 7.8.3 write into an OPTIONS file when they were given the text.
    #[test]
    fn texts_are_read_and_written_as_by_rocksdb() {
        let hash = |branching, height, buckets| {
            format!(
                "{{id=HashSkipListRepFactory;branching_factor={branching};skiplist_height={height};bucket_count={buckets};}}"
            )
        };
        let linked = |log, logging, pages, threshold, buckets| {
            format!(
                "{{id=HashLinkListRepFactory;log_when_flash={log};logging_threshold={logging};huge_page_size={pages};\
                 threshold={threshold};bucket_count={buckets};}}"
            )
        };
        for (text, written) in [
            ("skip_list", "SkipListFactory".to_owned()),
            ("SkipListFactory:16", "SkipListFactory:16".to_owned()),
            ("{id=SkipListFactory;}", "SkipListFactory".to_owned()),
            ("{id=skip_list;lookahead=5}", "SkipListFactory:5".to_owned()),
            ("vector", "{id=VectorRepFactory;count=0;}".to_owned()),
            ("vector:10", "{id=VectorRepFactory;count=10;}".to_owned()),
            ("{id=vector;count=7}", "{id=VectorRepFactory;count=7;}".to_owned()),
            ("prefix_hash", hash(4, 4, 1_000_000)),
            ("prefix_hash:77", hash(4, 4, 77)),
            ("{id=prefix_hash;bucket_count=5;skiplist_height=3;branching_factor=2}", hash(2, 3, 5)),
            ("hash_linkedlist", linked(true, 4096, 0, 256, 50_000)),
            ("hash_linkedlist:9", linked(true, 4096, 0, 256, 9)),
            (
                "{id=hash_linkedlist;bucket_count=5;threshold=3;huge_page_size=7;logging_threshold=3;log_when_flash=false}",
                linked(false, 3, 7, 3, 5),
            ),
        ] {
            let factory = MemTableFactory::parse_option(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(factory.format_option(), written, "{text}");
            assert_eq!(MemTableFactory::parse_option(&written), Some(factory), "{text}");
        }
        for text in ["", "cuckoo", "mine", "vector:", "vector:x", "prefix_hash:1:2", "{id=vector;foo=1}", "{count=1}"] {
            assert_eq!(MemTableFactory::parse_option(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_without_meaning_make_small_tables() {
        let text = "{id=prefix_hash;bucket_count=0;skiplist_height=-3;branching_factor=-1}";
        let kind = MemTableFactory::parse_option(text).map(|factory| factory.kind());
        assert_eq!(kind, Some(MemTableKind::HashSkipList { bucket_count: 1, height: 1, branching: 2 }));
        let kind = MemTableFactory::hash_link_list(usize::MAX).kind();
        assert_eq!(kind, MemTableKind::HashLinkList { bucket_count: MAX_BUCKETS, threshold: 256 });
    }
}
