//! Partitioners of tables: between which keys compaction ends one table and begins the next.
//!
//! ```text
//! keys      aa1  aa2  aa3 | ab1  ab2 | b1        prefixes of two bytes
//! tables   [-------------] [--------] [--]
//! ```
//!
//! A table then leaves its level together with those that share its partition, and with no others. Flushes, and
//! compactions into level 0, are not partitioned. A range tombstone is cut where the entries beside it are, and is
//! stored in each table that it reaches into.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// The compaction for which a partitioner is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionerContext<'a> {
    /// The compaction takes in every table of the family.
    pub is_full: bool,
    /// The compaction was started by `compact_range`.
    pub is_manual: bool,
    /// The level that the output joins.
    pub output_level: usize,
    /// The smallest user key of the inputs.
    pub smallest_user_key: &'a [u8],
    /// The largest user key of the inputs.
    pub largest_user_key: &'a [u8],
}

/// Two keys that follow each other in the output of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionerRequest<'a> {
    /// The last user key of the table that is being written.
    pub prev_user_key: &'a [u8],
    /// The user key to come, which may be the same one in an older version.
    pub current_user_key: &'a [u8],
    /// Bytes of that table so far, about; 0 for a partitioner that does not use them.
    pub current_output_file_size: u64,
}

/// Says where tables end. Used by one thread.
pub trait SstPartitioner: Send {
    /// Whether a new table begins with `current_user_key`.
    fn should_partition(&mut self, request: &PartitionerRequest<'_>) -> bool;
    /// Whether a table with these smallest and largest user keys may be moved to another level as it is. As in RocksDB,
    /// moves to the last level do not ask, nor do those of `allow_trivial_move` in universal compaction.
    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool;
    /// Whether it looks at [`current_output_file_size`](PartitionerRequest::current_output_file_size), which is 0 else.
    /// To know the size at each key, the thread of the job writes each block alone.
    fn uses_file_size(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn SstPartitioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SstPartitioner")
    }
}

/// Makes a partitioner for each compaction, or part of one.
///
/// ```
/// use ferrock_base::sst_partitioner::{FixedPrefixPartitioner, PartitionerContext, PartitionerRequest};
/// use ferrock_base::sst_partitioner::{SstPartitioner, SstPartitionerFactory};
///
/// /// A table for each tenant, from level 2 on.
/// struct ByTenant;
///
/// impl SstPartitionerFactory for ByTenant {
///     fn name(&self) -> &str {
///         "example.ByTenant"
///     }
///     fn create(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
///         (context.output_level >= 2).then(|| Box::new(FixedPrefixPartitioner { length: 4 }) as _)
///     }
/// }
/// ```
pub trait SstPartitionerFactory: Send + Sync {
    /// The name in the LOG.
    fn name(&self) -> &str;
    /// The form in an OPTIONS file, with the properties of the factory.
    fn options_id(&self) -> String {
        self.name().to_owned()
    }
    /// A partitioner for one compaction, or part of one; `None`: tables end as without one.
    fn create(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>>;
}

impl fmt::Debug for dyn SstPartitionerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.options_id())
    }
}

/// `SstPartitionerFixedPrefix`: a partition for each value of the first bytes. A key with fewer is its own prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPrefixPartitioner {
    /// Bytes of the prefix.
    pub length: usize,
}

impl FixedPrefixPartitioner {
    fn is_same(self, a: &[u8], b: &[u8]) -> bool {
        a[..a.len().min(self.length)] == b[..b.len().min(self.length)]
    }
}

impl SstPartitioner for FixedPrefixPartitioner {
    fn should_partition(&mut self, request: &PartitionerRequest<'_>) -> bool {
        !self.is_same(request.prev_user_key, request.current_user_key)
    }
    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool {
        self.is_same(smallest_user_key, largest_user_key)
    }
    fn uses_file_size(&self) -> bool {
        false
    }
}

/// The name of [`FixedPrefixFactory`].
const FIXED_PREFIX: &str = "SstPartitionerFixedPrefixFactory";

/// `SstPartitionerFixedPrefixFactory`: makes a [`FixedPrefixPartitioner`] for every compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPrefixFactory {
    /// Bytes of the prefix.
    pub length: usize,
}

impl SstPartitionerFactory for FixedPrefixFactory {
    fn name(&self) -> &str {
        FIXED_PREFIX
    }
    fn options_id(&self) -> String {
        format!("{{id={FIXED_PREFIX};length={};}}", self.length)
    }
    fn create(&self, _context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
        Some(Box::new(FixedPrefixPartitioner { length: self.length }))
    }
}

/// The built-in factory that `text` names: `SstPartitionerFixedPrefixFactory`, or
/// `{id=SstPartitionerFixedPrefixFactory;length=N;}`; `nullptr` is none. Without a length it is 0, one partition.
///
/// # Errors
/// `NotSupported` for another name, `InvalidArgument` for a field that is not known or no number.
pub fn built_in(text: &str) -> Result<Option<Arc<dyn SstPartitionerFactory>>> {
    let text = text.trim();
    let body = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let mut fields = body.split(';').map(str::trim).filter(|field| !field.is_empty());
    let id = fields.next().map_or("", |first| first.strip_prefix("id=").unwrap_or(first));
    if matches!(id, "" | "nullptr") {
        return Ok(None);
    }
    if id != FIXED_PREFIX {
        return Err(Error::not_supported(format!(
            "partitioner factory {id} is not built in: open with one of that name"
        )));
    }
    let mut length = 0;
    for field in fields {
        let number = field.strip_prefix("length=").and_then(|number| number.trim().parse().ok());
        length = number.ok_or_else(|| Error::invalid_argument(format!("{FIXED_PREFIX}: {field:?} is no length=N")))?;
    }
    Ok(Some(Arc::new(FixedPrefixFactory { length })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn texts_are_those_of_rocksdb() {
        let of = |text: &str| built_in(text).map(|factory| factory.map(|factory| factory.options_id()));
        let written = "{id=SstPartitionerFixedPrefixFactory;length=5;}";
        for text in
            [written, "id=SstPartitionerFixedPrefixFactory;length=5", "{id=SstPartitionerFixedPrefixFactory; length=5}"]
        {
            assert_eq!(of(text).unwrap().as_deref(), Some(written), "{text}");
        }
        let bare = of("SstPartitionerFixedPrefixFactory").unwrap().unwrap();
        assert_eq!(bare, "{id=SstPartitionerFixedPrefixFactory;length=0;}");
        assert_eq!((of("nullptr").unwrap(), of("").unwrap(), of("{}").unwrap()), (None, None, None));
        assert_eq!(of("mine").unwrap_err().kind(), ErrorKind::NotSupported);
        for wrong in ["length=x", "width=3", "length=-1"] {
            let error = of(&format!("{{id=SstPartitionerFixedPrefixFactory;{wrong};}}")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}: {error}");
        }
    }

    #[test]
    fn a_short_key_is_its_own_prefix() {
        let mut by_two = FixedPrefixPartitioner { length: 2 };
        let mut cuts = |prev_user_key: &[u8], current_user_key: &[u8]| {
            let request = PartitionerRequest { prev_user_key, current_user_key, current_output_file_size: 1 };
            let cuts = by_two.should_partition(&request);
            assert_eq!(by_two.can_do_trivial_move(prev_user_key, current_user_key), !cuts);
            cuts
        };
        assert!(!cuts(b"ab1", b"ab2") && !cuts(b"", b"") && !cuts(b"ab", b"abc"));
        assert!(cuts(b"a", b"ab") && cuts(b"", b"a") && cuts(b"ab", b"ac"));
        assert!(!FixedPrefixPartitioner { length: 0 }.should_partition(&PartitionerRequest {
            prev_user_key: b"a",
            current_user_key: b"b",
            current_output_file_size: 1,
        }));
    }
}
