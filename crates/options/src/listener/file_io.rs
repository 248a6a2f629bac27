//! From the operations on files to the listeners that want to be told of them.

use super::{EventListener, FileOperationInfo, FileOperationType, IoErrorInfo};
use ferrock_base::clock::Clock;
use ferrock_vfs::{FileObserver, FileOperation, FileOperationKind, FileSystem, ObservedFileSystem};
use std::sync::Arc;
use std::time::Duration;

struct FileListeners(Vec<Arc<dyn EventListener>>);

impl FileObserver for FileListeners {
    fn on_operation(&self, operation: &FileOperation<'_>) {
        let &FileOperation { kind, path, temperature, offset, length, start_unix_us, duration_us, error } = operation;
        let (type_, tell): (_, fn(&dyn EventListener, &FileOperationInfo)) = match kind {
            FileOperationKind::Read => (FileOperationType::Read, |to, info| to.on_file_read_finish(info)),
            FileOperationKind::Append => (FileOperationType::Append, |to, info| to.on_file_write_finish(info)),
            FileOperationKind::Flush => (FileOperationType::Flush, |to, info| to.on_file_flush_finish(info)),
            FileOperationKind::Sync => (FileOperationType::Sync, |to, info| to.on_file_sync_finish(info)),
            FileOperationKind::Close => (FileOperationType::Close, |to, info| to.on_file_close_finish(info)),
            FileOperationKind::Truncate => (FileOperationType::Truncate, |to, info| to.on_file_truncate_finish(info)),
        };
        let info = FileOperationInfo {
            operation: type_,
            path: path.to_path_buf(),
            temperature,
            offset,
            length,
            duration: Duration::from_micros(duration_us),
            start_unix_us,
            status: error.map_or(Ok(()), |error| Err(error.clone())),
        };
        self.0.iter().for_each(|listener| tell(&**listener, &info));
        if let Some(error) = error {
            let file_path = info.path;
            let info = IoErrorInfo { error: error.clone(), operation: type_, file_path, length, offset };
            self.0.iter().for_each(|listener| listener.on_io_error(&info));
        }
    }
}

/// The file system of a database with these listeners: as it is, unless one of them is to be told of operations on
/// files.
#[must_use]
pub fn observe_files(
    files: Arc<dyn FileSystem>,
    listeners: &[Arc<dyn EventListener>],
    clock: impl FnOnce() -> Arc<dyn Clock>,
) -> Arc<dyn FileSystem> {
    let told: Vec<_> = listeners.iter().filter(|listener| listener.should_be_notified_on_file_io()).cloned().collect();
    match told.is_empty() {
        true => files,
        false => Arc::new(ObservedFileSystem::new(files, Arc::new(FileListeners(told)), clock())),
    }
}
