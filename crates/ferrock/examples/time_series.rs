//! A time series with a descending clock: the newest value of a sensor is the first row of its partition.
//!
//!     cargo run --release -p ferrock --example time_series
//!
//! A partition is a sensor and a day, so that none grows without end, and old days go with a tombstone each.

use ferrock::wide::{Batch, ColumnType, Schema, Table, Timestamp};
use ferrock::{Db, DbOptions};

const VALUE: u32 = 1;
const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 3600 * SECOND;

fn schema() -> Schema {
    Schema::new()
        .partition_by("sensor", ColumnType::U64)
        .partition_by("day", ColumnType::U32)
        .clustered_by_descending("at", ColumnType::Timestamp)
        .column(VALUE, "value", ColumnType::F64)
}

fn day_of(at: Timestamp) -> u32 {
    u32::try_from(at.0 / DAY).unwrap_or(0)
}

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-time-series");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(&directory, options)?;
    let series = Table::open_or_create(&db, "series", schema())?;

    // Three days of twenty sensors, a value every ten seconds, a batch for each moment.
    let first_day = 20_000 * DAY;
    let moments = (0..3 * DAY).step_by(10 * SECOND as usize);
    for at in moments.map(|since| Timestamp(first_day + since)) {
        let mut batch = Batch::new();
        for sensor in 0..20u64 {
            let value = (at.0 / SECOND % 3600) as f64 / 36.0 + sensor as f64;
            batch.insert(&series, (sensor, day_of(at)), at, &[(VALUE, value.into())])?;
        }
        series.write(batch)?;
    }
    db.flush()?;

    // A read of one block each, however long the day is.
    let today = day_of(Timestamp(first_day + 2 * DAY));
    for sensor in [3u64, 17] {
        if let Some(row) = series.partition((sensor, today)).limit(1).iter()?.next() {
            let row = row?;
            println!("sensor {sensor}: {:?} at {:?}", row.get(VALUE)?, row.component("at")?);
        }
    }

    // From the later to the earlier: the clock is descending.
    let noon = Timestamp(first_day + 2 * DAY + DAY / 2);
    let hour_before = Timestamp(noon.0 - 3600 * SECOND);
    let (mut sum, mut count) = (0.0, 0);
    let mut rows = series.partition((3u64, today)).rows(noon..hour_before).iter()?;
    while let Some(row) = rows.next_row()? {
        sum += row.get(VALUE)?.and_then(|value| value.as_f64()).unwrap_or(0.0);
        count += 1;
    }
    println!("sensor 3, the hour before noon: {count} values, mean {:.2}", sum / f64::from(count));

    // Ten seconds of every full hour, read together: one batch of requests.
    let mut query = series.partition((3u64, today));
    for hour in (0..24).rev() {
        let from = Timestamp(first_day + 2 * DAY + hour * 3600 * SECOND);
        query = query.rows(from..=from);
    }
    println!("sensor 3, on the hour: {} values", query.iter()?.count());

    // Retention: the first day goes.
    for sensor in 0..20u64 {
        series.delete_partition((sensor, day_of(Timestamp(first_day))))?;
    }
    println!("{} values are left", series.scan().iter()?.count());
    println!("of sensors 5 to 6: {}", series.scan().rows(5u64..=6u64).iter()?.count());
    drop((rows, series));
    db.close()
}
