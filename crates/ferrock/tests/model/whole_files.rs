//! Operations on whole files. Files of a range are dropped, and what is left of the range is deleted, so that the model
//! knows what is there. No snapshot is held: it would lose what the files had.

use super::database::{Check, Database, explain};
use super::operations::{Change, Mutation};
use ferrock::options::TableFactory;

impl Database<'_> {
    /// Drops the files of a range from a key on, which `length` and the key space end.
    pub fn drop_files(&mut self, family: u8, key: u16, length: u16) -> Check {
        let index = self.family_index(family);
        let own = &self.families[index];
        if !self.snapshots.is_empty() || own.handle.options().table_factory != TableFactory::BlockBased {
            return Ok(());
        }
        let order = own.model.order;
        let key_index = usize::from(key % self.key_space);
        let to = (key_index + usize::from(length)) % usize::from(self.key_space);
        let (mut begin, mut end) = (order.key(key_index).to_vec(), order.key(to).to_vec());
        if order.compare(&begin, &end).is_gt() {
            std::mem::swap(&mut begin, &mut end);
        }
        let range = (Some(&begin[..]), Some(&end[..]));
        explain(self.db().delete_files_in_ranges_cf(&own.handle, &[range], false), "delete_files_in_ranges")?;
        self.write_one(&Mutation { family, key, change: Change::DeleteRange(length) }, false, false)
    }

    /// Suggests to compact a range.
    pub fn suggest(&mut self, family: u8, from: u16, to: u16) -> Check {
        let own = &self.families[self.family_index(family)];
        let order = own.model.order;
        let key = |number: u16| order.key(usize::from(number % self.key_space));
        let (mut from, mut to) = (key(from), key(to));
        if order.compare(from, to).is_gt() {
            std::mem::swap(&mut from, &mut to);
        }
        explain(self.db().suggest_compact_range_cf(&own.handle, Some(from), Some(to)), "suggest_compact_range")
    }
}
