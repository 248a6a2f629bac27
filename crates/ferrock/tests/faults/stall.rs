//! A writer that is slowed down goes on when the reason ends.

use crate::rig::Rig;
use ferrock::WriteBatch;
use ferrock_base::clock::{Clock, ManualClock};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_delayed_writer_goes_on_when_the_stall_ends() {
    let mut rig = Rig::new();
    let clock = Arc::new(ManualClock::new(1_000_000_000));
    rig.options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    rig.options.delayed_write_rate = 1024;
    let db = rig.open();
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("max_write_buffer_number", "4")]).unwrap();
    db.pause_background_work().unwrap();
    // Three memtables that wait for their flush slow writers down.
    for number in 0..3_u8 {
        db.put(b"key", &[number]).unwrap();
        db.flush_cf(&family, &ferrock::FlushOptions { wait: false }).unwrap();
    }
    let (writer, (sender, written)) = (db.clone(), std::sync::mpsc::channel());
    let thread = std::thread::spawn(move || {
        let mut batch = WriteBatch::new();
        batch.put(b"large", &[7; 16 << 10]).unwrap();
        sender.send(writer.write(batch, &ferrock::WriteOptions::default())).unwrap();
    });
    while clock.sleepers() == 0 {
        std::thread::yield_now();
    }
    clock.advance(Duration::from_millis(1));
    assert!(written.try_recv().is_err(), "writers are not delayed");
    db.continue_background_work().unwrap();
    // The clock stands still: the rest of the delay never ends.
    written.recv_timeout(Duration::from_secs(60)).expect("the writer sleeps on").unwrap();
    thread.join().unwrap();
    assert_eq!(clock.sleepers(), 0);
    assert!(db.get(b"large").unwrap().is_some());
}
