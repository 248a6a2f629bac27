//! Stores for tests, and what is in them.

use crate::world::World;
use ferrock::backup::object_store::local::LocalFileSystem;
use ferrock::backup::object_store::memory::InMemory;
use ferrock::backup::object_store::path::Path as Key;
use ferrock::backup::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use ferrock::backup::{BackupEngine, BackupEngineOptions, ObjectStoreFileSystem, ObjectStoreOptions};
use smol::stream::{Boxed, StreamExt};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

/// Where backups are in a store.
pub const PREFIX: &str = "backups/db";
pub const LOCK: &str = "backups/db/BACKUP_LOCK.held";

pub fn in_memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

pub fn in_directory(directory: &tempfile::TempDir) -> Arc<dyn ObjectStore> {
    Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap())
}

/// Parts and reads are small, so that most files take several.
pub fn small() -> ObjectStoreOptions {
    ObjectStoreOptions { part_bytes: 600, read_bytes: 500, ..ObjectStoreOptions::default() }
}

pub fn files_in(store: &Arc<dyn ObjectStore>) -> ObjectStoreFileSystem {
    ObjectStoreFileSystem::new(Arc::clone(store), small()).unwrap()
}

pub fn options_for(world: &World, files: ObjectStoreFileSystem) -> BackupEngineOptions {
    let mut options = BackupEngineOptions::new(PREFIX);
    options.backup_file_system = Arc::new(files);
    options.db_file_system = Arc::new(world.files.clone());
    options
}

/// An engine of its own, as another process would have it.
pub fn engine_in(world: &World, store: &Arc<dyn ObjectStore>) -> BackupEngine {
    BackupEngine::open(options_for(world, files_in(store))).unwrap()
}

/// The objects of backups, by their names below the prefix, without the lock.
pub fn objects(store: &Arc<dyn ObjectStore>) -> BTreeMap<String, Vec<u8>> {
    smol::block_on(async {
        let prefix = Key::from(PREFIX);
        let mut listed = store.list(Some(&prefix));
        let mut found = BTreeMap::new();
        while let Some(object) = listed.next().await {
            let key = object.unwrap().location;
            let bytes = store.get(&key).await.unwrap().bytes().await.unwrap();
            let name = key.as_ref().strip_prefix("backups/db/").unwrap().to_owned();
            found.insert(name, bytes.to_vec());
        }
        found.remove("BACKUP_LOCK.held");
        found
    })
}

/// Names of objects that are no descriptions.
pub fn files_of_backups(store: &Arc<dyn ObjectStore>) -> Vec<String> {
    objects(store).into_keys().filter(|name| !name.starts_with("meta/")).collect()
}

pub fn change_object(store: &Arc<dyn ObjectStore>, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let key = Key::from(format!("{PREFIX}/{name}"));
    let mut bytes = objects(store).remove(name).unwrap();
    change(&mut bytes);
    smol::block_on(store.put(&key, bytes.into())).unwrap();
}

pub fn remove_object(store: &Arc<dyn ObjectStore>, name: &str) {
    smol::block_on(store.delete(&Key::from(format!("{PREFIX}/{name}")))).unwrap();
}

pub fn is_locked(store: &Arc<dyn ObjectStore>) -> bool {
    smol::block_on(store.head(&Key::from(LOCK))).is_ok()
}

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The store does not perform it, and says so.
    Refused,
    /// The store performs it, and the answer is lost.
    AnswerLost,
    /// The same, and the next two requests are refused.
    AnswerLostAndMore,
    /// It is not performed, nor is any later one: as if the program had been killed before it.
    Killed,
    /// It is performed, and no later one is: as if the program had been killed behind it.
    KilledBehind,
}

#[derive(Debug, Default)]
struct Requests {
    made: Vec<String>,
    /// The number of the request that fails.
    failing: Option<(usize, Failure)>,
}

/// A store whose requests are counted, and of which one fails.
#[derive(Clone, Debug)]
pub struct Watched {
    inner: Arc<dyn ObjectStore>,
    requests: Arc<Mutex<Requests>>,
    needs_tokio: bool,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

enum Fate {
    Performed,
    Refused,
    Lost,
}

fn refused() -> Error {
    Error::Generic { store: "Watched", source: "the request was to fail".into() }
}

impl Watched {
    pub fn new(inner: &Arc<dyn ObjectStore>) -> Self {
        Self { inner: Arc::clone(inner), requests: Arc::default(), needs_tokio: false }
    }

    /// Every request hands a task to the runtime of tokio, as stores of a network do.
    pub fn needing_tokio(inner: &Arc<dyn ObjectStore>) -> Self {
        Self { needs_tokio: true, ..Self::new(inner) }
    }

    /// Request `number`, from 1 on, fails.
    pub fn failing(inner: &Arc<dyn ObjectStore>, number: usize, failure: Failure) -> Self {
        let store = Self::new(inner);
        store.requests.lock().unwrap().failing = Some((number, failure));
        store
    }

    /// The requests that were made.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().made.clone()
    }

    pub fn shared(&self) -> Arc<dyn ObjectStore> {
        Arc::new(self.clone())
    }

    fn fate(&self, request: String) -> Fate {
        let mut requests = self.requests.lock().unwrap();
        requests.made.push(request);
        let number = requests.made.len();
        match requests.failing {
            Some((failing, Failure::Refused)) if number == failing => Fate::Refused,
            Some((failing, Failure::AnswerLost | Failure::AnswerLostAndMore | Failure::KilledBehind))
                if number == failing =>
            {
                Fate::Lost
            }
            Some((failing, Failure::AnswerLostAndMore)) if (failing..=failing + 2).contains(&number) => Fate::Refused,
            Some((failing, Failure::Killed)) if number >= failing => Fate::Refused,
            Some((failing, Failure::KilledBehind)) if number > failing => Fate::Refused,
            _ => Fate::Performed,
        }
    }

    /// Has the thread that asks wait once.
    async fn wait(&self) {
        if self.needs_tokio {
            tokio::spawn(async {}).await.unwrap();
        } else {
            smol::future::yield_now().await;
        }
    }

    async fn perform<T>(&self, request: String, performed: impl Future<Output = Result<T>> + Send) -> Result<T> {
        self.wait().await;
        match self.fate(request) {
            Fate::Performed => performed.await,
            Fate::Refused => Err(refused()),
            Fate::Lost => performed.await.and(Err(refused())),
        }
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({})", self.inner)
    }
}

impl ObjectStore for Watched {
    fn put_opts<'s, 'k, 'a>(
        &'s self,
        location: &'k Key,
        payload: PutPayload,
        options: PutOptions,
    ) -> Answer<'a, PutResult>
    where
        's: 'a,
        'k: 'a,
        Self: 'a,
    {
        Box::pin(self.perform(format!("put {location}"), self.inner.put_opts(location, payload, options)))
    }

    fn put_multipart_opts<'s, 'k, 'a>(
        &'s self,
        location: &'k Key,
        options: PutMultipartOptions,
    ) -> Answer<'a, Box<dyn MultipartUpload>>
    where
        's: 'a,
        'k: 'a,
        Self: 'a,
    {
        let begun = self.perform(format!("begin {location}"), self.inner.put_multipart_opts(location, options));
        Box::pin(async move {
            let upload = WatchedUpload { inner: begun.await?, store: self.clone() };
            Ok(Box::new(upload) as Box<dyn MultipartUpload>)
        })
    }

    fn get_opts<'s, 'k, 'a>(&'s self, location: &'k Key, options: GetOptions) -> Answer<'a, GetResult>
    where
        's: 'a,
        'k: 'a,
        Self: 'a,
    {
        let what = if options.head { "head" } else { "get" };
        Box::pin(self.perform(format!("{what} {location}"), self.inner.get_opts(location, options)))
    }

    fn delete_stream(&self, locations: Boxed<Result<Key>>) -> Boxed<Result<Key>> {
        match self.fate("delete".to_owned()) {
            Fate::Performed => self.inner.delete_stream(locations),
            Fate::Refused => smol::stream::once(Err(refused())).boxed(),
            Fate::Lost => self.inner.delete_stream(locations).map(|removed| removed.and(Err(refused()))).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Key>) -> Boxed<Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_delimiter<'s, 'k, 'a>(&'s self, prefix: Option<&'k Key>) -> Answer<'a, ListResult>
    where
        's: 'a,
        'k: 'a,
        Self: 'a,
    {
        Box::pin(self.perform("list".to_owned(), self.inner.list_with_delimiter(prefix)))
    }

    fn copy_opts<'s, 'f, 't, 'a>(&'s self, from: &'f Key, to: &'t Key, options: CopyOptions) -> Answer<'a, ()>
    where
        's: 'a,
        'f: 'a,
        't: 'a,
        Self: 'a,
    {
        Box::pin(self.perform(format!("copy {from}"), self.inner.copy_opts(from, to, options)))
    }
}

#[derive(Debug)]
struct WatchedUpload {
    inner: Box<dyn MultipartUpload>,
    store: Watched,
}

impl MultipartUpload for WatchedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let store = self.store.clone();
        match store.fate("part".to_owned()) {
            Fate::Refused => Box::pin(async { Err(refused()) }),
            Fate::Lost => {
                let performed = self.inner.put_part(data);
                Box::pin(async { performed.await.and(Err(refused())) })
            }
            Fate::Performed => {
                let performed = self.inner.put_part(data);
                Box::pin(async move {
                    store.wait().await;
                    performed.await
                })
            }
        }
    }

    fn complete<'s, 'a>(&'s mut self) -> Answer<'a, PutResult>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.store.perform("complete".to_owned(), self.inner.complete()))
    }

    fn abort<'s, 'a>(&'s mut self) -> Answer<'a, ()>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.store.perform("abort".to_owned(), self.inner.abort()))
    }
}
