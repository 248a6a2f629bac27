//! Reading single keys: combines the versions of a key found in memtables and tables.

pub mod get;
pub mod merge;
pub mod multi_get;
pub mod pinned;
pub mod sampling;
pub mod view;

pub use get::{GetContext, SuspendedGet};
pub use multi_get::MultiGetBatch;
pub use pinned::PinnedValue;
pub use view::ReadView;
