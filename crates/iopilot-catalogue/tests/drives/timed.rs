//! A drive of the catalogue, one request at a time.

use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_catalogue::Catalogue;
use iopilot_device::{Synchronous, TimedDevice};

#[test]
fn a_restart_forgets_what_was_read() {
    let mut disk = Synchronous::new(Catalogue::get("hd-250-32").unwrap().build().unwrap());
    let read = |disk: &mut Synchronous<_>| disk.serve(Op::Read, Lba(1_000_000), Sectors(8)).unwrap();
    let (first, again) = (read(&mut disk), read(&mut disk));
    assert!(again < first && again < Nanos::from_millis(1), "{first:?} {again:?}");
    disk.restart().unwrap();
    assert_eq!(read(&mut disk), first);
}
