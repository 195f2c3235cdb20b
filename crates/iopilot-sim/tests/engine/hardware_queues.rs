//! Several hardware queues, on a device that takes no time.

use super::*;
use iopilot_block::Criticality::{TimeCritical, TimeLimited, TimeNonCritical};
use iopilot_device::ConstantDevice;

/// A device with several queues, which serves all its requests in parallel, each in `service`.
#[derive(Clone)]
struct Many {
    inner: ConstantDevice,
    queues: u16,
}

impl Many {
    fn new(queues: u16, depth: u32, service: Nanos) -> Self {
        let model = iopilot_device::ConstantModel {
            capacity: 1 << 30,
            queue_depth: depth,
            parallelism: 4096,
            read_latency: service,
            write_latency: service,
            read_ns_per_byte: 0.0,
            write_ns_per_byte: 0.0,
        };
        Self { inner: ConstantDevice::new(model), queues }
    }
}

impl Device for Many {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.inner.submit(request, now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.inner.advance(now, out);
    }

    fn capacity(&self) -> u64 {
        self.inner.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.inner.queue_depth()
    }

    fn hardware_queues(&self) -> u16 {
        self.queues
    }
}

/// `each` reads at random of each of `tasks` tasks, one task for each CPU, with every class of criticality.
fn reads(tasks: u32, each: u32) -> Vec<ReplayRecord> {
    let all = (0..each).flat_map(|n| (0..tasks).map(move |task| (n, task)));
    let reads = all.map(|(n, task)| {
        let place = u64::from(n * 7919 + task * 104_729) % 1_000_000;
        let criticality = [TimeCritical, TimeNonCritical, TimeLimited][((n + task) % 3) as usize];
        ReplayRecord { cpu: task as u16, criticality, ..record(0, task, Op::Read, place * 8, 8) }
    });
    reads.collect()
}

/// The requests a second of `tasks` tasks with 64 reads each on as many CPUs.
fn rate(tasks: u32, scheduler: &str, block: BlockConfig) -> f64 {
    let config = RunConfig {
        block,
        host: CpuOverheads { cpus: tasks as u16, ..CpuOverheads::default() },
        ..RunConfig::default()
    };
    let device = Many::new(64, 1023, Nanos::from_micros(20));
    let source = Closed::new(reads(tasks, 4000), 64 * tasks);
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let report = run(source, device, &spec, &config, &Progress::default()).unwrap();
    assert_eq!(report.requests, u64::from(4000 * tasks), "{scheduler}");
    report.requests as f64 / report.elapsed_s
}

#[test]
fn throughput_scales_with_the_number_of_cpus() {
    for scheduler in ["none", "kyber", "mq-deadline", "bfq"] {
        let [one, four] = [1, 4].map(|cpus| rate(cpus, scheduler, BlockConfig::default()));
        if scheduler == "none" {
            assert!((570e3..=612e3).contains(&one), "{one}");
            assert!(four > 3.5 * one, "{one}, {four}");
        }
    }
}

#[test]
fn one_hardware_queue_sends_one_request_at_a_time() {
    let one_queue = BlockConfig { nr_hw_queues: Some(1), ..BlockConfig::default() };
    // Each takes 0.9 us at least on any CPU, and waits until its CPU is free.
    let rate = rate(4, "none", one_queue);
    assert!((600e3..=1.12e6).contains(&rate), "{rate}");
}

#[test]
fn nothing_is_lost_with_more_cpus_than_queues_and_few_tags() {
    let run = |scheduler, queues, depth, tags| {
        let block = BlockConfig { nr_hw_queues: Some(queues), queue_depth: Some(depth), ..BlockConfig::default() };
        rate(5, scheduler, BlockConfig { host_tags: Some(tags), nr_requests: Some(4), ..block });
    };
    let alone = ["none", "kyber", "mq-deadline", "bfq"];
    for scheduler in alone {
        for (queues, depth) in [(2, 1), (3, 2), (5, 4)] {
            run(scheduler, queues, depth, depth);
        }
    }
    // With this many tags, requests wait for a slot in the device.
    for scheduler in ["none", "prio(none)", "prio(kyber):aging_ms=1", "prio(mq-deadline)", "prio(bfq)"] {
        run(scheduler, 3, 2, 64);
    }
}

#[test]
fn hardware_queues_of_an_adapter_share_the_depth_of_its_disk() {
    let config = RunConfig {
        block: BlockConfig { nr_hw_queues: Some(4), ..BlockConfig::default() },
        host: CpuOverheads { cpus: 4, ..CpuOverheads::default() },
        ..RunConfig::default()
    };
    for scheduler in ["none", "kyber", "mq-deadline", "prio(none)", "prio(kyber)", "prio(mq-deadline)"] {
        // It refuses a request beyond its depth.
        let device = Fixed::new(Nanos::from_micros(100), 6);
        let spec = SchedulerSpec::parse(scheduler).unwrap();
        let report = run(Closed::new(reads(4, 500), 32), device, &spec, &config, &Progress::default()).unwrap();
        assert_eq!(report.requests, 2000, "{scheduler}");
        assert!(report.utilization > 0.99, "{scheduler}: {}", report.utilization);
    }
}
