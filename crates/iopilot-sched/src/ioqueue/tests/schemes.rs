//! Timeouts, priorities, sequential streams, overlapping requests.

use super::*;

fn served(rig: &mut Rig) -> Vec<u64> {
    let mut firsts = Vec::new();
    while let Some(pick) = rig.pick() {
        firsts.push(pick.lba.0);
        rig.queue.completed(pick.id, rig.now, &mut Vec::new());
    }
    firsts
}

#[test]
fn a_request_that_has_waited_too_long_moves_to_the_timeout_queue() {
    let config = IoQueueConfig {
        timeout_scheme: TimeoutScheme::Full,
        timeout: Nanos::from_millis(100),
        timeout_policy: IoQueuePolicy::ElevatorLbn,
        ..IoQueueConfig::with_policy(IoQueuePolicy::SstfLbn)
    };
    let mut rig = Rig::new(config);
    rig.reads(&[900, 800]);
    rig.wait_ms(100);
    rig.read(10);
    assert_eq!(served(&mut rig.clone_queue()), [10, 800, 900], "not yet");
    rig.now += Nanos(1);
    assert_eq!(served(&mut rig), [800, 900, 10]);
}

#[test]
fn half_and_full_timeouts_use_three_sub_queues() {
    let config = IoQueueConfig {
        timeout_scheme: TimeoutScheme::HalfAndFull,
        timeout: Nanos::from_millis(100),
        timeout_policy: IoQueuePolicy::Fcfs,
        priority_policy: IoQueuePolicy::CycleLbn,
        ..IoQueueConfig::with_policy(IoQueuePolicy::CycleLbn)
    };
    let mut rig = Rig::new(config);
    rig.reads(&[900, 910]);
    rig.wait_ms(45);
    rig.reads(&[800, 700]);
    rig.wait_ms(10);
    rig.read(1);
    assert_eq!(rig.clone_queue().pick().map(|p| p.lba.0), Some(900), "in the timeout queue");
    rig.wait_ms(46);
    // The ages are 101 ms, 56 ms and 46 ms.
    rig.read(2);
    assert_eq!(served(&mut rig), [900, 910, 800, 700, 1, 2]);
}

#[test]
fn critical_requests_go_first_and_requests_can_be_raised() {
    let config = IoQueueConfig {
        priorities: true,
        priority_policy: IoQueuePolicy::Fcfs,
        ..IoQueueConfig::with_policy(IoQueuePolicy::CycleLbn)
    };
    let mut rig = Rig::new(config);
    let mut background = Vec::new();
    for lba in [10, 20, 30] {
        let request = rig.request(Op::Write, lba, 1);
        rig.queue.insert(IoRequest { criticality: Criticality::TimeNonCritical, ..request }, rig.now);
        background.push(request.id);
    }
    rig.wait_ms(1);
    let request = rig.request(Op::Read, 900, 1);
    rig.queue.insert(IoRequest { criticality: Criticality::TimeLimited, ..request }, rig.now);
    rig.read(500);
    assert_eq!(served(&mut rig.clone_queue()), [900, 500, 10, 20, 30]);
    rig.queue.raise(background[2]);
    assert_eq!(served(&mut rig), [30, 900, 500, 10, 20], "it is older than the other two");
}

#[test]
fn neighbours_merge() {
    let config = IoQueueConfig {
        streams: StreamScheme::from_bits(3).expect("two bits"),
        max_concat: Sectors(30),
        ..IoQueueConfig::with_policy(IoQueuePolicy::CycleLbn)
    };
    let mut rig = Rig::new(config.clone());
    let ids: Vec<_> = [(100, 8), (90, 10), (108, 8), (116, 8)].map(|(lba, n)| rig.put(Op::Read, lba, n)).into();
    rig.put(Op::Write, 124, 8);
    let pick = rig.pick().expect("five wait");
    // The pick is 90 to 116. 8 more would be 34 sectors.
    assert_eq!((pick.id, pick.lba, pick.sectors), (ids[1], Lba(90), Sectors(26)));
    assert_eq!((rig.queue.len(), rig.queue.outstanding()), (2, 3));
    assert_eq!(rig.queue.next_part(pick.id), Some(ids[0]));
    let mut also = Vec::new();
    rig.queue.completed(pick.id, rig.now, &mut also);
    assert_eq!(also, [ids[0], ids[2]]);
    assert_eq!((rig.queue.len(), rig.queue.outstanding()), (2, 0));
    assert_eq!(served(&mut rig), [116, 124], "a write does not merge with a read");

    // Writes merge only if they touch exactly. Reads may skip blocks.
    let mut rig = Rig::new(IoQueueConfig { stream_gap: 2, ..config });
    for op in [Op::Read, Op::Write] {
        let base = if op == Op::Read { 0 } else { 1000 };
        rig.put(op, base, 8);
        rig.put(op, base + 10, 8);
    }
    assert_eq!(rig.pick().map(|p| p.sectors), Some(Sectors(18)));
    assert_eq!(rig.pick().map(|p| p.sectors), Some(Sectors(8)));
}

#[test]
fn a_stream_is_served_in_sequence() {
    let order = |bits| {
        let streams = StreamScheme::from_bits(bits).expect("five bits");
        let mut rig = Rig::new(IoQueueConfig { streams, ..IoQueueConfig::with_policy(IoQueuePolicy::SstfLbn) });
        rig.read(500);
        rig.pick();
        rig.put(Op::Read, 300, 100);
        rig.put(Op::Read, 400, 100);
        rig.put(Op::Write, 600, 100);
        rig.put(Op::Write, 700, 100);
        rig.put(Op::Read, 800, 1);
        served(&mut rig)
    };
    assert_eq!(order(0), [600, 700, 800, 400, 300], "from the end of each");
    let mut rig = Rig::new(IoQueueConfig {
        streams: StreamScheme::from_bits(4).expect("a bit"),
        ..IoQueueConfig::with_policy(IoQueuePolicy::SstfLbn)
    });
    rig.read(500);
    rig.pick();
    rig.put(Op::Read, 300, 100);
    rig.put(Op::Read, 400, 100);
    assert_eq!(served(&mut rig), [300, 400], "the second read is nearer, and waits");
    let mut rig = Rig::new(IoQueueConfig {
        streams: StreamScheme::from_bits(8).expect("a bit"),
        ..IoQueueConfig::with_policy(IoQueuePolicy::SstfLbn)
    });
    rig.read(500);
    rig.pick();
    rig.put(Op::Read, 300, 100);
    rig.put(Op::Write, 400, 100);
    assert_eq!(served(&mut rig.clone_queue()), [400, 300], "another direction");
    let any = StreamScheme::from_bits(16).expect("a bit");
    rig.queue.reconfigure(IoQueueConfig { streams: any, ..rig.queue.config().clone() });
    assert_eq!(served(&mut rig), [300, 400]);
}

#[test]
fn waiting_requests_for_the_same_blocks_complete_too() {
    let also = |overlap| {
        let mut rig = Rig::new(IoQueueConfig { overlap, ..IoQueueConfig::default() });
        let first = rig.put(Op::Read, 100, 8);
        let same = rig.put(Op::Read, 100, 8);
        rig.put(Op::Read, 100, 4);
        rig.put(Op::Write, 100, 8);
        rig.wait_ms(1);
        assert_eq!(rig.pick().map(|p| p.id), Some(first));
        rig.wait_ms(1);
        let late = rig.put(Op::Read, 100, 8);
        let mut also = Vec::new();
        rig.queue.completed(first, rig.now, &mut also);
        assert_eq!(rig.queue.len(), 4 - also.len());
        also.iter().map(|&id| (id == same, id == late)).collect::<Vec<_>>()
    };
    assert_eq!(also(OverlapScheme::Off), []);
    assert_eq!(also(OverlapScheme::AtCompletion), [(true, false), (false, true)]);
    assert_eq!(also(OverlapScheme::AtStart), [(true, false)]);
}

#[test]
fn only_requests_that_may_start_are_picked() {
    for policy in IoQueuePolicy::all() {
        let mut rig = Rig::policy(policy);
        rig.reads(&[10, 20_000]);
        rig.put(Op::Write, 5, 1);
        let writes = |request: &IoRequest| request.op == Op::Write;
        let picked = rig.queue.pick_where(rig.now, Some(&rig.disk), &writes);
        assert_eq!(picked.map(|p| p.lba), Some(Lba(5)), "{policy}");
        assert_eq!(rig.queue.pick_where(rig.now, Some(&rig.disk), &writes), None, "{policy}");
        assert_eq!(rig.queue.len(), 2);
    }
}

#[test]
fn waiting_requests_can_be_removed() {
    for policy in IoQueuePolicy::all() {
        let mut rig = Rig::policy(policy);
        let (a, b, c) = (rig.read(10), rig.read(20_000), rig.read(30_000));
        assert!(rig.queue.remove(b) && !rig.queue.remove(b));
        let pick = rig.pick().expect("two wait");
        assert!(!rig.queue.remove(pick.id));
        let other = if pick.id == a { c } else { a };
        assert!(rig.queue.remove(other));
        assert_eq!((rig.pick(), rig.queue.len(), rig.queue.outstanding()), (None, 0, 1), "{policy}");
    }
}

impl Rig {
    fn clone_queue(&self) -> Self {
        Self { queue: self.queue.clone(), disk: self.disk.clone(), now: self.now, names: self.names }
    }
}
