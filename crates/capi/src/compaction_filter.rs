//! Compaction filters and their factories, made of callbacks.

use crate::callback::{Destructor, Name, State, missing};
use crate::handle::{give, take};
use crate::memory::bytes;
use ferrock::options::{CompactionFilter, CompactionFilterFactory, FilterFactoryContext};
use ferrock::{Error, Result};
use ferrock_base::ValueType;
use ferrock_base::compaction_filter::{FilterContext, FilterDecision};
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

/// state, level, key, value, new value, its length, whether there is one -> whether the entry goes
type Filter = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut c_uchar,
) -> c_uchar;

/// A compaction filter of the caller's.
pub struct rocksdb_compactionfilter_t {
    filter: Result<Arc<CallbackFilter>>,
    /// Whether the filter is to spare what a snapshot sees, which RocksDB no longer offers.
    spares_snapshots: bool,
}

impl rocksdb_compactionfilter_t {
    /// # Errors
    /// What was wrong with the callbacks.
    pub(crate) fn filter(&self) -> Result<Arc<dyn CompactionFilter>> {
        if self.spares_snapshots {
            return Err(Error::not_supported("a compaction filter with ignore_snapshots = false"));
        }
        self.filter.clone().map(|filter| filter as Arc<dyn CompactionFilter>)
    }
}

struct CallbackFilter {
    state: State,
    name: String,
    filter: Filter,
}

impl CompactionFilter for CallbackFilter {
    fn name(&self) -> &str {
        &self.name
    }

    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        // RocksDB asks such a filter in compactions, about values.
        if value_type != ValueType::Value {
            return FilterDecision::Keep;
        }
        let (mut new_value, mut new_length, mut is_changed) = (std::ptr::null_mut(), 0, 0);
        let level = c_int::try_from(context.input_level).unwrap_or(c_int::MAX);
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        let goes = unsafe {
            (self.filter)(
                self.state.pointer(),
                level,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &raw mut new_value,
                &raw mut new_length,
                &raw mut is_changed,
            )
        };
        if goes != 0 {
            FilterDecision::Remove
        } else if is_changed != 0 {
            // The new value stays the callback's, as in RocksDB.
            // SAFETY: the contract: the callback said where the new value is.
            FilterDecision::ChangeValue(unsafe { bytes(new_value, new_length) }.to_vec())
        } else {
            FilterDecision::Keep
        }
    }
}

c_functions! {
    /// A compaction filter made of callbacks. The name is asked for once, now.
    fn rocksdb_compactionfilter_create(
        state: *mut c_void,
        destructor: Destructor,
        filter: Option<Filter>,
        name: Name,
    ) -> *mut rocksdb_compactionfilter_t {
        let state = State::new(state, destructor);
        let filter = state.name(name, "compaction filter").and_then(|name| {
            let filter = filter.ok_or_else(|| missing("compaction filter", "filter"))?;
            Ok(Arc::new(CallbackFilter { state, name, filter }))
        });
        give(rocksdb_compactionfilter_t { filter, spares_snapshots: false })
    }
}

c_functions! {
    /// Whether the filter also sees what a snapshot sees, as it always does: an open with a filter that must not is
    /// refused.
    fn rocksdb_compactionfilter_set_ignore_snapshots(filter: *mut rocksdb_compactionfilter_t, ignore: c_uchar) {
        // SAFETY: the contract.
        if let Some(filter) = unsafe { filter.as_mut() } {
            filter.spares_snapshots = ignore == 0;
        }
    }
}

c_destructors! {
    /// Ends a compaction filter. Its state goes with the last options and databases that use it.
    fn rocksdb_compactionfilter_destroy(rocksdb_compactionfilter_t);
}

/// state, context -> a filter that is handed over, or null for none
type CreateFilter =
    unsafe extern "C" fn(*mut c_void, *mut rocksdb_compactionfiltercontext_t) -> *mut rocksdb_compactionfilter_t;

/// What a factory is told of the job; lives while its callback runs.
pub struct rocksdb_compactionfiltercontext_t(FilterFactoryContext);

/// A factory of compaction filters of the caller's.
pub struct rocksdb_compactionfilterfactory_t {
    factory: Result<CallbackFactory>,
}

impl rocksdb_compactionfilterfactory_t {
    /// # Errors
    /// What was wrong with the callbacks.
    pub(crate) fn into_factory(self) -> Result<Arc<dyn CompactionFilterFactory>> {
        self.factory.map(|factory| Arc::new(factory) as Arc<dyn CompactionFilterFactory>)
    }
}

struct CallbackFactory {
    state: State,
    name: String,
    create: CreateFilter,
}

impl CompactionFilterFactory for CallbackFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>> {
        let mut context = rocksdb_compactionfiltercontext_t(*context);
        // SAFETY: the contract about callbacks; the context lives through the call.
        let filter = unsafe { (self.create)(self.state.pointer(), &raw mut context) };
        // SAFETY: the contract: the callback hands over a filter that it made, or gives null.
        unsafe { take(filter) }.map(|filter| filter.filter()).transpose()
    }
}

c_functions! {
    /// A factory of compaction filters, which is asked in compactions. The name is asked for once, now.
    fn rocksdb_compactionfilterfactory_create(
        state: *mut c_void,
        destructor: Destructor,
        create_compaction_filter: Option<CreateFilter>,
        name: Name,
    ) -> *mut rocksdb_compactionfilterfactory_t {
        const WHAT: &str = "compaction filter factory";
        let state = State::new(state, destructor);
        let factory = state.name(name, WHAT).and_then(|name| {
            let create = create_compaction_filter.ok_or_else(|| missing(WHAT, "create_compaction_filter"))?;
            Ok(CallbackFactory { state, name, create })
        });
        give(rocksdb_compactionfilterfactory_t { factory })
    }

    /// Whether the compaction takes in all tables of its family.
    fn rocksdb_compactionfiltercontext_is_full_compaction(
        context: *mut rocksdb_compactionfiltercontext_t,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe { context.as_ref() }.map_or(0, |context| context.0.is_full.into())
    }

    /// Whether the compaction was asked for.
    fn rocksdb_compactionfiltercontext_is_manual_compaction(
        context: *mut rocksdb_compactionfiltercontext_t,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe { context.as_ref() }.map_or(0, |context| context.0.is_manual.into())
    }
}

c_destructors! {
    /// Ends a factory that no options were given.
    fn rocksdb_compactionfilterfactory_destroy(rocksdb_compactionfilterfactory_t);
}
