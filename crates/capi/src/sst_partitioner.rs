//! Partitioners of tables.

use crate::handle::give;
use crate::options::{rocksdb_options_t, set};
use ferrock::options::{FixedPrefixFactory, SstPartitionerFactory};
use std::sync::Arc;

/// A factory of partitioners.
pub struct rocksdb_sst_partitioner_factory_t(pub(crate) Arc<dyn SstPartitionerFactory>);

c_functions! {
    /// A factory whose partitions are the keys with the same first `prefix_len` bytes.
    fn rocksdb_sst_partitioner_fixed_prefix_factory_create(
        prefix_len: usize,
    ) -> *mut rocksdb_sst_partitioner_factory_t {
        give(rocksdb_sst_partitioner_factory_t(Arc::new(FixedPrefixFactory { length: prefix_len })))
    }

    /// Between which keys compaction ends a table. The handle stays the caller's; null changes nothing.
    fn rocksdb_options_set_sst_partitioner_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    ) {
        // SAFETY: the contract.
        let Some(factory) = (unsafe { factory.as_ref() }) else { return };
        // SAFETY: the contract.
        unsafe {
            set(options, "sst_partitioner_factory", |options| {
                options.family.sst_partitioner_factory = Some(Arc::clone(&factory.0));
                Ok(())
            });
        }
    }
}

c_destructors! {
    /// Ends the handle of a factory. Options that it was given to keep the factory.
    fn rocksdb_sst_partitioner_factory_destroy(rocksdb_sst_partitioner_factory_t);
}
