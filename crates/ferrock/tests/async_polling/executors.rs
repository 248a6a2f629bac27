//! The same on executors that people use, on files that are opened again and again.

use super::*;

const KEYS: u64 = 500;

fn fill(place: &Place) -> Db {
    let db = place.open(-1, family_options());
    for round in 0..4u64 {
        for number in (round..KEYS).step_by(2) {
            db.merge(&key(number), format!("{round}-{number}").repeat(20).as_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    db.close().unwrap();
    place.open(1, family_options())
}

async fn service(db: Db, first: u64) -> Vec<Found> {
    let options = ReadOptions::default();
    let keys: Vec<_> = (first..first + 10).map(|number| key(number % (KEYS + 5))).collect();
    let mut found = Vec::new();
    for key in &keys {
        found.push(owned(Watching(polling(|| db.get_async(&options, key))).await));
    }
    let many = polling(|| db.multi_get_async(&options, &slices(&keys)));
    let together: Vec<Found> = Watching(many).await.into_iter().map(owned).collect();
    assert_eq!(found, together);
    found
}

fn wanted(db: &Db, first: u64) -> Vec<Found> {
    (first..first + 10).map(|number| owned(db.get(&key(number % (KEYS + 5))))).collect()
}

#[test]
fn tokio_is_not_blocked() {
    everywhere(|place| {
        let db = fill(place);
        for runtime in [
            tokio::runtime::Builder::new_current_thread().build().unwrap(),
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap(),
        ] {
            let tasks: Vec<_> = (0..60).map(|task| (task, runtime.spawn(service(db.clone(), task * 9)))).collect();
            for (task, join) in tasks {
                assert_eq!(runtime.block_on(join).unwrap(), wanted(&db, task * 9));
            }
        }
    });
}

#[test]
fn smol_is_not_blocked() {
    everywhere(|place| {
        let db = fill(place);
        let tasks: Vec<_> = (0..60).map(|task| (task, smol::spawn(service(db.clone(), task * 9)))).collect();
        for (task, join) in tasks {
            assert_eq!(smol::block_on(join), wanted(&db, task * 9));
        }
    });
}

#[test]
fn neither_is_an_executor_of_ones_own() {
    everywhere(|place| {
        let db = fill(place);
        let tasks = (0..60).map(|task| Box::pin(service(db.clone(), task * 9))).collect();
        for (task, found) in run_all(tasks).into_iter().enumerate() {
            assert_eq!(found, wanted(&db, task as u64 * 9));
        }
    });
}
