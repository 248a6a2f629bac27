//! Environments: where files are, and how many threads there may be.
//!
//! The default one is the machine; all its handles share its pools of threads. One of its own in memory has files that
//! go with its last user, and pools of its own. Databases share the pools of the environment that their options name,
//! and have threads of their own where these name none.

use crate::handle::{borrow, give};
use crate::memory;
use crate::memory::null_handle;
use crate::options::rocksdb_options_t;
use ferrock::Result;
use ferrock_base::thread::{PoolPriority, PriorityPools};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::ffi::{c_char, c_int};
use std::sync::{Arc, OnceLock};

/// Where files are.
pub struct rocksdb_env_t {
    /// `None` is the machine.
    file_system: Option<Arc<dyn FileSystem>>,
    pools: Arc<PriorityPools>,
}

/// The pools of the machine.
static MACHINE: OnceLock<Arc<PriorityPools>> = OnceLock::new();

impl rocksdb_env_t {
    fn new(file_system: Option<Arc<dyn FileSystem>>) -> Self {
        let pools = match file_system {
            None => Arc::clone(MACHINE.get_or_init(Arc::default)),
            Some(_) => Arc::default(),
        };
        Self { file_system, pools }
    }

    /// The file system, when it is not the machine's.
    pub(crate) fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.file_system.clone()
    }

    /// The threads of its pools.
    pub(crate) fn pools(&self) -> &Arc<PriorityPools> {
        &self.pools
    }
}

/// A setter and a getter of the threads of a pool.
macro_rules! pools {
    ($($pool:ident: $set:ident / $get:ident;)*) => {
        c_functions! {$(
            #[doc = "How many threads a pool may have. Opening a database gives it as many as its options ask for."]
            fn $set(env: *mut rocksdb_env_t, threads: c_int) {
                // SAFETY: the contract.
                if let Some(env) = unsafe { env.as_ref() } {
                    env.pools.set_threads(PoolPriority::$pool, usize::try_from(threads).unwrap_or(0));
                }
            }

            #[doc = "How many threads a pool may have."]
            fn $get(env: *mut rocksdb_env_t) -> c_int {
                // SAFETY: the contract.
                let env = unsafe { env.as_ref() };
                let threads = env.map_or(0, |env| env.pools.threads(PoolPriority::$pool));
                c_int::try_from(threads).unwrap_or(c_int::MAX)
            }
        )*}
    };
}

pools! {
    Low: rocksdb_env_set_background_threads / rocksdb_env_get_background_threads;
    High: rocksdb_env_set_high_priority_background_threads / rocksdb_env_get_high_priority_background_threads;
    Low: rocksdb_env_set_low_priority_background_threads / rocksdb_env_get_low_priority_background_threads;
    Bottom: rocksdb_env_set_bottom_priority_background_threads / rocksdb_env_get_bottom_priority_background_threads;
}

c_functions! {
    /// The machine.
    fn rocksdb_create_default_env() -> *mut rocksdb_env_t {
        give(rocksdb_env_t::new(None))
    }

    /// Files in memory, which go with the last user of the environment.
    fn rocksdb_create_mem_env() -> *mut rocksdb_env_t {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::without_crashes());
        give(rocksdb_env_t::new(Some(files)))
    }

    /// Waits for nothing: a database waits for its jobs when it closes.
    fn rocksdb_env_join_all_threads(_env: *mut rocksdb_env_t) {}

    /// Changes nothing: threads have the priority that their process has.
    fn rocksdb_env_lower_thread_pool_io_priority(_env: *mut rocksdb_env_t) {}

    /// Changes nothing: threads have the priority that their process has.
    fn rocksdb_env_lower_high_priority_thread_pool_io_priority(_env: *mut rocksdb_env_t) {}

    /// Changes nothing: threads have the priority that their process has.
    fn rocksdb_env_lower_thread_pool_cpu_priority(_env: *mut rocksdb_env_t) {}

    /// Changes nothing: threads have the priority that their process has.
    fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(_env: *mut rocksdb_env_t) {}

    /// Where the files of databases are that are opened with the options, and whose threads they share; null: the
    /// machine, and threads of their own.
    fn rocksdb_options_set_env(options: *mut rocksdb_options_t, env: *mut rocksdb_env_t) {
        // SAFETY: the contract.
        let (options, env) = unsafe { (options.as_mut(), env.as_ref()) };
        if let Some(options) = options {
            options.db.components.file_system = env.and_then(rocksdb_env_t::file_system);
            options.db.components.thread_pools = env.map(|env| Arc::clone(&env.pools));
        }
    }
}

c_fallible! {
    /// Creates a directory that is not there.
    fn rocksdb_create_dir_if_missing(env: *mut rocksdb_env_t, path: *const c_char) {
        // SAFETY: the contract.
        let (env, path) = unsafe { (borrow(env, "environment")?, memory::path(path)?) };
        if path.as_os_str().is_empty() {
            return Err(null_handle("path"));
        }
        let files: Arc<dyn FileSystem> = env.file_system().unwrap_or_else(ferrock_vfs::default_file_system);
        let created: Result<()> = files.create_dir_all(path);
        created
    }
}

c_destructors! {
    /// Ends an environment; databases that were opened with it go on.
    fn rocksdb_env_destroy(rocksdb_env_t);
}
