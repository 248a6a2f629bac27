//! A chat history: rooms, and in each the newest message first.
//!
//!     cargo run --release -p ferrock --example chat_history
//!
//! A room is a partition. Its messages are clustered by time, descending, and by a number that tells apart those of one
//! microsecond. To show a room is to read the front of its partition; to scroll is to go on by a page token.

use ferrock::wide::{ColumnType, RowView, Schema, Table, Timestamp};
use ferrock::{Db, DbOptions};

/// Columns have numbers that stay; their names may change.
const AUTHOR: u32 = 1;
const BODY: u32 = 2;
const EDITED: u32 = 3;

fn schema() -> Schema {
    Schema::new()
        .partition_by("room", ColumnType::Text)
        .clustered_by_descending("at", ColumnType::Timestamp)
        .clustered_by("number", ColumnType::U32)
        .column(AUTHOR, "author", ColumnType::Text)
        .column(BODY, "body", ColumnType::Text)
        .column(EDITED, "edited", ColumnType::Bool)
}

fn show(row: RowView<'_>) -> ferrock::Result<()> {
    let text = |column| Ok::<_, ferrock::Error>(row.get(column)?.and_then(|value| value.as_text()).unwrap_or("?"));
    let mark = if row.get(EDITED)?.is_some() { " (edited)" } else { "" };
    println!("    {}: {}{mark}", text(AUTHOR)?, text(BODY)?);
    Ok(())
}

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-chat-history");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(&directory, options)?;
    let messages = Table::open_or_create(&db, "messages", schema())?;

    // Two thousand messages in each of two rooms.
    let start = 1_700_000_000_000_000;
    let at = |minute: i64| Timestamp(start + minute * 60_000_000);
    for minute in 0..2000 {
        for (room, author) in [("lobby", "ada"), ("lab", "grace")] {
            let body = format!("message {minute} in the {room}");
            messages.insert(room, (at(minute), 0), &[(AUTHOR, author.into()), (BODY, (&body).into())])?;
        }
    }
    db.flush()?;

    println!("the newest three messages of the lobby:");
    let mut rows = messages.partition("lobby").limit(3).iter()?;
    while let Some(row) = rows.next_row()? {
        show(row)?;
    }

    println!("the three before them, by the token that a client gave back:");
    let token = rows.page_token();
    let older = messages.partition("lobby").limit(3);
    let mut rows = match &token {
        Some(token) => older.page(token).iter()?,
        None => older.iter()?,
    };
    while let Some(row) = rows.next_row()? {
        show(row)?;
    }

    // In the order of the table: from the later to the earlier. All of a minute has the same beginning of the key.
    println!("what was said in the lab between minutes 10 and 12, oldest first:");
    let mut rows = messages.partition("lab").rows(at(12)..=at(10)).reverse().iter()?;
    while let Some(row) = rows.next_row()? {
        show(row)?;
    }

    // A write replaces the row; what stays must be said again.
    messages.insert(
        "lab",
        (at(11), 0),
        &[(AUTHOR, "grace".into()), (BODY, "what I meant to say".into()), (EDITED, true.into())],
    )?;
    messages.delete_row("lab", (at(10), 0))?;
    // Everything older than minute 1000: one range tombstone, whatever there is.
    messages.delete_rows("lobby", at(999)..)?;
    println!("the lab again:");
    let mut rows = messages.partition("lab").rows(at(12)..=at(10)).reverse().iter()?;
    while let Some(row) = rows.next_row()? {
        show(row)?;
    }
    println!("the lobby has {} messages left", messages.partition("lobby").iter()?.count());

    messages.delete_partition("lobby")?;
    println!("and now {}", messages.partition("lobby").iter()?.count());
    drop((rows, messages));
    db.close()
}
