//! Ferrock, as the driver sees it.

use super::dataset::Key;
use super::engine::{Bounds, CacheCounters, ClassCounters, Counters, Cursor, Database, Engine, Opening, Visit};
use super::populate::read_options_of;
use ferrock::options::{CacheOptions, TableBlockCache};
use ferrock::{Db, DbOptions, Iter, ReadOptions, ScanRange};
use ferrock_cache::{EntryRole, RoleStats};
use ferrock_console::failure::Result;
use ferrock_vfs::{ClassSnapshot, FileSystem, ReadClass, default_file_system};
use std::path::Path;
use std::sync::Arc;

/// Ranges that are planned together.
pub(super) const RANGES_AT_ONCE: usize = 4096;

/// The engine of this workspace.
#[derive(Debug, Default)]
pub struct Ferrock;

pub(super) struct FerrockDatabase {
    pub(super) db: Db,
    cache: Arc<TableBlockCache>,
    file_system: Arc<dyn FileSystem>,
    caches_data: bool,
}

impl Engine for Ferrock {
    fn name(&self) -> String {
        format!("Ferrock {}", env!("CARGO_PKG_VERSION"))
    }

    fn open(&self, directory: &Path, how: &Opening) -> Result<Box<dyn Database>> {
        Ok(Box::new(FerrockDatabase::open(directory, how)?))
    }
}

impl FerrockDatabase {
    pub(super) fn open(directory: &Path, how: &Opening) -> Result<Self> {
        let cache = TableBlockCache::new(CacheOptions { capacity_bytes: how.cache_bytes, ..CacheOptions::default() });
        let file_system = default_file_system();
        let mut options = DbOptions::default();
        options.use_direct_reads = how.direct;
        options.components.block_cache = Some(Arc::clone(&cache));
        options.components.file_system = Some(Arc::clone(&file_system));
        let families = vec![("default".to_owned(), read_options_of(how.prefix_bytes))];
        let (db, _) = Db::open_read_only(directory, options, Some(families))?;
        Ok(Self { db, cache, file_system, caches_data: how.caches_data })
    }

    fn read_options(&self, bounds: &Bounds) -> ReadOptions {
        ReadOptions {
            lower_bound: bounds.lower.map(|key| key.to_vec()),
            upper_bound: bounds.upper.map(|key| key.to_vec()),
            cache_data_blocks: self.caches_data,
            ..ReadOptions::default()
        }
    }
}

impl Database for FerrockDatabase {
    fn get(&self, key: &[u8], visit: Visit<'_>) -> Result<()> {
        match self.db.get_with(&self.read_options(&Bounds::default()), key)? {
            Some(value) => visit(key, &value),
            None => Ok(()),
        }
    }

    fn cursor(&self, bounds: &Bounds, limit: Option<u64>) -> Result<Box<dyn Cursor + '_>> {
        let options = ReadOptions { limit_hint: limit.unwrap_or(0), ..self.read_options(bounds) };
        Ok(Box::new(FerrockCursor { iter: self.db.iter(&options) }))
    }

    fn ranges(&self, ranges: &mut dyn Iterator<Item = Bounds>, visit: Visit<'_>) -> Result<()> {
        let options = self.read_options(&Bounds::default());
        loop {
            let key = |key: Option<Key>| key.unwrap_or_default();
            let next = std::iter::from_fn(|| ranges.next()).take(RANGES_AT_ONCE);
            let planned: Vec<ScanRange> =
                next.map(|bounds| ScanRange::new(&key(bounds.lower), &key(bounds.upper))).collect();
            let mut scan = self.db.multi_scan(&options, &planned);
            while let Some(row) = scan.next_row() {
                let row = row?;
                visit(row.key, row.value)?;
            }
            if planned.len() < RANGES_AT_ONCE {
                return Ok(());
            }
        }
    }

    fn counters(&self) -> Result<Counters> {
        let io = self.file_system.counters().snapshot();
        let stats = self.cache.stats();
        let of = |roles: &[EntryRole]| {
            let sum = |of: fn(&RoleStats) -> u64| roles.iter().map(|role| of(stats.role(*role))).sum();
            let inserts = Some(sum(|role| role.inserts));
            CacheCounters { hits: sum(|role| role.hits), misses: sum(|role| role.misses), inserts }
        };
        let class = |class: ClassSnapshot| ClassCounters { requests: class.requests, bytes: class.device_bytes };
        Ok(Counters {
            total: class(io.all_classes()),
            data: Some(class(io.class(ReadClass::Data))),
            index: Some(class(io.class(ReadClass::Index))),
            filter: Some(class(io.class(ReadClass::Filter))),
            blocked: Some(io.windows_waited),
            dropped: Some(io.windows_discarded),
            index_cache: of(&[EntryRole::IndexBlock, EntryRole::IndexMetaBlock]),
            filter_cache: of(&[EntryRole::FilterBlock, EntryRole::FilterMetaBlock]),
            data_cache: of(&[EntryRole::DataBlock]),
        })
    }

    fn clear_cache(&self) -> Result<()> {
        self.cache.erase_unreferenced();
        Ok(())
    }

    fn after_run(&self, _keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        Ok(())
    }

    fn request_interface(&self) -> Option<String> {
        Some(self.file_system.io_backend().to_owned())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

struct FerrockCursor {
    iter: Iter,
}

impl Cursor for FerrockCursor {
    fn to_first(&mut self) -> Result<()> {
        self.iter.seek_to_first();
        Ok(self.iter.status()?)
    }

    fn to_last(&mut self) -> Result<()> {
        self.iter.seek_to_last();
        Ok(self.iter.status()?)
    }

    fn fast_forward(&mut self, bounds: &Bounds) -> Result<()> {
        self.iter.fast_forward(bounds.lower.as_deref(), bounds.upper.as_deref());
        Ok(self.iter.status()?)
    }

    fn read(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        let mut rows = 0;
        while rows < limit && self.iter.valid() {
            visit(self.iter.key(), self.iter.value())?;
            rows += 1;
            if rows < limit {
                self.iter.next();
            }
        }
        Ok(self.iter.status()?)
    }

    fn read_back(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        let mut rows = 0;
        while rows < limit && self.iter.valid() {
            visit(self.iter.key(), self.iter.value())?;
            rows += 1;
            if rows < limit {
                self.iter.prev();
            }
        }
        Ok(self.iter.status()?)
    }
}
