//! temporary
#![allow(missing_docs)]
use ferrock_base::Result;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheKey([u8; 16]);
impl CacheKey {
    pub fn new(base: (u64, u64), offset: u64) -> Self {
        let mut k = [0; 16];
        k[..8].copy_from_slice(&base.0.to_le_bytes());
        k[8..].copy_from_slice(&(base.1 ^ offset).to_le_bytes());
        Self(k)
    }
}
#[derive(Clone, Copy, Debug)]
pub enum Priority {
    High,
    Low,
    Bottom,
}
#[derive(Clone, Copy, Debug)]
pub enum EntryRole {
    DataBlock,
    IndexBlock,
    FilterBlock,
    FilterMetaBlock,
    DictionaryBlock,
    Other,
}
#[derive(Debug)]
pub struct Handle<V>(Arc<V>);
impl<V> Clone for Handle<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
impl<V> std::ops::Deref for Handle<V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.0
    }
}
#[derive(Debug)]
pub struct BlockCache<V> {
    map: Mutex<HashMap<CacheKey, Arc<V>>>,
}
impl<V> BlockCache<V> {
    pub fn lookup(&self, key: &CacheKey) -> Option<Handle<V>> {
        self.map.lock().get(key).cloned().map(Handle)
    }
    pub fn lookup_or_load(
        &self,
        key: &CacheKey,
        _r: EntryRole,
        _p: Priority,
        load: impl FnOnce() -> Result<(V, usize)>,
    ) -> Result<Handle<V>> {
        if let Some(h) = self.lookup(key) {
            return Ok(h);
        }
        let (v, _) = load()?;
        let v = Arc::new(v);
        self.map.lock().insert(*key, v.clone());
        Ok(Handle(v))
    }
    pub fn insert(
        &self,
        key: &CacheKey,
        v: V,
        _c: usize,
        _r: EntryRole,
        _p: Priority,
    ) -> std::result::Result<Handle<V>, V> {
        let v = Arc::new(v);
        self.map.lock().insert(*key, v.clone());
        Ok(Handle(v))
    }
}

impl<V> Default for BlockCache<V> {
    fn default() -> Self {
        Self { map: Default::default() }
    }
}
