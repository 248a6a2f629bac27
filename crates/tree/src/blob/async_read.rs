//! A value in a blob file, read as a future.

use super::file_reader::{BlobExtent, BlobFileReader};
use crate::file_counts::BlobReadCounts;
use ferrock_base::{Comparator, Result};
use ferrock_format::blob_index::BlobReference;
use ferrock_vfs::{FileSystem, PendingRead, ReadContext};
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The future of a value that is being read. Dropping it abandons the read without waiting.
#[derive(Debug)]
#[must_use = "a value that is not polled for is read in vain"]
pub struct BlobRead {
    file: Arc<BlobFileReader>,
    user_key: Vec<u8>,
    reference: BlobReference,
    extent: BlobExtent,
    read: PendingRead,
    verify_checksums: bool,
    order: Comparator,
}

impl BlobRead {
    pub(super) fn start(
        file_system: &dyn FileSystem,
        file: Arc<BlobFileReader>,
        user_key: &[u8],
        reference: &BlobReference,
        verify_checksums: bool,
        context: &ReadContext,
        order: Comparator,
    ) -> Self {
        let context = &ReadContext { is_polled: true, ..*context };
        let (extent, read) = match file.extent(user_key, reference, verify_checksums) {
            Ok(extent) => {
                BlobReadCounts::note_begun(file.counts(), extent.length);
                (extent, file_system.start_read(file.file(), extent.offset, extent.length, context))
            }
            Err(error) => (BlobExtent::default(), PendingRead::ready(Err(error))),
        };
        Self { file, user_key: user_key.to_vec(), reference: *reference, extent, read, verify_checksums, order }
    }
}

impl Future for BlobRead {
    /// The value, checked and decompressed.
    type Output = Result<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let stored = ready!(Pin::new(&mut self.read).poll(context));
        let Self { file, user_key, reference, extent, verify_checksums, order, .. } = &*self;
        let stored = stored.map_err(|error| file.in_file(error));
        let read = stored.and_then(|stored| file.value(user_key, reference, *extent, Cow::Borrowed(stored.bytes())));
        // That the key was written with other bytes is so rare that the search may hold the polling thread up.
        let context = ReadContext::default();
        Poll::Ready(file.retry_by_order(read, user_key, reference, *verify_checksums, &context, order))
    }
}
