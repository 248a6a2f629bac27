//! Checksums of whole files.

use crate::db::rocksdb_t;
use crate::handle::{borrow, give};
use crate::operation_options::rocksdb_readoptions_t;
use crate::options::{rocksdb_options_t, set};
use ferrock::ReadOptions;
use ferrock::options::{Crc32cFactory, FileChecksumGenFactory};
use std::sync::Arc;

/// What makes checksums of files.
pub struct rocksdb_file_checksum_gen_factory_t(pub(crate) Arc<dyn FileChecksumGenFactory>);

c_functions! {
    /// A factory of CRC32C checksums.
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t {
        give(rocksdb_file_checksum_gen_factory_t(Arc::new(Crc32cFactory)))
    }

    /// Which checksum each table and blob file gets. The handle stays the caller's; null changes nothing.
    fn rocksdb_options_set_file_checksum_gen_factory(
        options: *mut rocksdb_options_t,
        file_checksum_gen_factory: *mut rocksdb_file_checksum_gen_factory_t,
    ) {
        // SAFETY: the contract.
        let Some(factory) = (unsafe { file_checksum_gen_factory.as_ref() }) else { return };
        // SAFETY: the contract.
        unsafe {
            set(options, "file_checksum_gen_factory", |options| {
                options.db.components.file_checksum_gen_factory = Some(Arc::clone(&factory.0));
                Ok(())
            });
        }
    }
}

c_fallible! {
    /// Compares every table and blob file with its checksum in the MANIFEST. Of the read options the deadline and the
    /// priority at the rate limiter count; null: neither.
    fn rocksdb_verify_file_checksums_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, options.as_ref()) };
        let options = options.map_or_else(|| Ok(ReadOptions::default()), |options| options.to_read().cloned())?;
        db.db.verify_file_checksums(&options)
    }

    /// Compares every table and blob file with its checksum in the MANIFEST.
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.verify_file_checksums(&ReadOptions::default())
    }
}

c_destructors! {
    /// Ends the handle of a factory. Options that it was given to keep the factory.
    fn rocksdb_file_checksum_gen_factory_destroy(rocksdb_file_checksum_gen_factory_t);
}
