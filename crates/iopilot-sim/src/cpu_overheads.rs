//! [`CpuOverheads`]: the `[host]` table of a machine.

use iopilot_block::{InputError, Nanos};
use iopilot_host::{CostSettings, CpuScheduler, FairSettings, HostSettings, IdleLoop, InterruptCpu, Preset};
use serde::Deserialize;

/// The time that the machine's CPUs add to each request.
///
/// The defaults of four costs depend on the device. For a device with one queue they were measured on a virtual disk under
/// Linux 6.18. A drive with several queues (NVMe) has a driver without locks, and interrupts on the submitting CPU. Axboe
/// measured 608,000 random reads a second and core there, with libaio ("Efficient IO with io_uring", 2019). Others measured
/// 279,000 (fio with libaio) to 433,000 (io_uring) on slower cores (PhotonLibOS, "File IO Performance").
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CpuOverheads {
    /// The number of CPUs that submit requests.
    pub cpus: u16,
    /// The time from the scheduler's choice to the device, in microseconds; the CPU is busy meanwhile. Default: 10, or 0.9 for
    /// a drive with several queues.
    pub issue_us: Option<f64>,
    /// How long a completion keeps its CPU from submitting, in microseconds. Default: 0, because `issue_us` contains it, or
    /// 0.745 for a drive with several queues.
    pub complete_us: Option<f64>,
    /// The time from a completion to the device for a request that waited for a slot in it, in microseconds: a worker of the
    /// kernel sends it. Linux 6 with a scheduler only; otherwise it is `issue_us`. Default: 20, or 5 for a drive with several
    /// queues.
    pub restart_us: Option<f64>,
    /// The time from the driver to the device, in microseconds. A controller, a hypervisor or the server of a virtual disk takes
    /// it for each request, one at a time. The request has left the scheduler and counts as in the device.
    pub transport_us: f64,
    /// The time from a completion to its task's next instruction, in microseconds. For synthetic workloads only, because the
    /// think times of a trace contain it. Default: 50, or 5 for a drive with several queues.
    pub resume_us: Option<f64>,
    /// How long a task pins the pages of a buffer for direct I/O before its request reaches the block layer, in microseconds
    /// for each KiB after the first page. So a large request arrives after a small one that was submitted at the same time.
    /// For fio's jobs only. Default: 0.05 (measured with libaio under Linux 6.18: 19 us for 4 KiB, 76 us for 1 MiB).
    pub pin_us_per_kib: Option<f64>,
    /// The time from the freeing of a tag until the woken sleeper looks for it, in microseconds.
    pub wake_us: f64,
    /// The probability that the completing task's own next request takes the freed tag before a sleeper does, under
    /// `none` on a shallow device (measured: 0.34 to 0.77 of the completions for whose tag a task slept).
    pub tag_steal_probability: f64,
    /// How long the queue is frozen while its scheduler is changed, once everything in it is served, in microseconds
    /// (measured: 22 ms).
    pub switch_us: f64,
    /// The costs of the kernel's work, for processes that share the CPUs. Without a preset each process has its own CPU.
    pub preset: Option<Preset>,
    /// The costs that differ from the preset.
    pub costs: CostSettings,
    /// The speed of the CPUs: the computations of processes, and the costs of the preset, are divided by it.
    pub speed: f64,
    /// How processes share the CPUs. Default: as in the preset's system.
    pub scheduler: Option<CpuScheduler>,
    /// How long a process computes while others are runnable, under [`CpuScheduler::RoundRobin`], in milliseconds. Default: 100.
    pub quantum_ms: Option<f64>,
    /// Tunables of [`CpuScheduler::Fair`] in nanoseconds ([`FairSettings`]).
    pub sched_latency_ns: Option<u64>,
    /// See [`CpuOverheads::sched_latency_ns`].
    pub sched_min_granularity_ns: Option<u64>,
    /// See [`CpuOverheads::sched_latency_ns`].
    pub sched_wakeup_granularity_ns: Option<u64>,
    /// Whether a process can be pre-empted while it runs code of the kernel. Default: as in the preset's system.
    pub kernel_preemption: Option<bool>,
    /// What an idle CPU does. Default: it stays in the context of the last process.
    pub idle_loop: Option<IdleLoop>,
    /// The CPU that handles the interrupt of a request. Default: as on the preset's machine.
    pub irq_cpu: Option<InterruptCpu>,
    /// Whether a process whose request completes pre-empts a process that computes.
    pub io_preempts: bool,
    /// The factor on the driver's costs: on interrupts, and on requests into it (Ganger A.1.2.1).
    pub driver_scale: f64,
}

/// The keys that are refused beside a preset, and the keys of `[host.costs]` that replace them.
const MODELLED: [(&str, &str); 4] = [
    ("issue_us", "submit_us and irq_us"),
    ("complete_us", "irq_us"),
    ("resume_us", "wake_us and switch_us"),
    ("pin_us_per_kib", "submit_us"),
];

/// The default of `pin_us_per_kib`.
const PIN_US_PER_KIB: f64 = 0.05;

/// The defaults of `issue_us`, `complete_us`, `restart_us` and `resume_us` for a device with one queue.
const ONE_QUEUE: [f64; 4] = [10.0, 0.0, 20.0, 50.0];
/// The same for a drive with several queues. The first two limit each core to 608,000 requests a second. An interrupt and a
/// change of task take some 5 microseconds (Yang, Minturn and Hady, FAST 2012, figure 3).
const QUEUES_OF_ITS_OWN: [f64; 4] = [0.9, 0.745, 5.0, 5.0];

/// The costs for one device, with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuCosts {
    pub(crate) issue: Nanos,
    /// The time to issue a request in the handler of a completion.
    pub(crate) issue_next: Nanos,
    pub(crate) complete: Nanos,
    pub(crate) restart: Nanos,
    pub(crate) resume: Nanos,
    /// The time to pin the pages of a KiB.
    pub(crate) pin_kib: Nanos,
    pub(crate) transport: Nanos,
    pub(crate) wake: Nanos,
    pub(crate) lost_wake: Nanos,
}

fn nanos(us: f64) -> Nanos {
    Nanos::from_millis_f64(us / 1e3)
}

impl Default for CpuOverheads {
    fn default() -> Self {
        Self {
            cpus: 2,
            issue_us: None,
            complete_us: None,
            restart_us: None,
            resume_us: None,
            pin_us_per_kib: None,
            transport_us: 0.0,
            wake_us: 5.0,
            tag_steal_probability: 0.5,
            switch_us: 22_000.0,
            preset: None,
            costs: CostSettings::default(),
            speed: 1.0,
            scheduler: None,
            quantum_ms: None,
            sched_latency_ns: None,
            sched_min_granularity_ns: None,
            sched_wakeup_granularity_ns: None,
            kernel_preemption: None,
            idle_loop: None,
            irq_cpu: None,
            io_preempts: false,
            driver_scale: 1.0,
        }
    }
}

impl CpuOverheads {
    /// Checks that all values are within their ranges.
    ///
    /// # Errors
    /// Names the one that is not.
    pub fn check(&self) -> Result<(), InputError> {
        if self.cpus == 0 {
            return Err(InputError::new("host.cpus", "0", "at least 1"));
        }
        let times = [
            ("issue_us", self.issue_us),
            ("complete_us", self.complete_us),
            ("restart_us", self.restart_us),
            ("resume_us", self.resume_us),
            ("pin_us_per_kib", self.pin_us_per_kib),
            ("transport_us", Some(self.transport_us)),
            ("wake_us", Some(self.wake_us)),
            ("switch_us", Some(self.switch_us)),
        ];
        for (key, us) in times.into_iter().filter_map(|(key, us)| Some((key, us?))) {
            if !(0.0..=1e6).contains(&us) {
                return Err(InputError::new(format!("host.{key}"), us.to_string(), "0 to 1000000 microseconds"));
            }
        }
        self.on_cpus()?;
        let steal = self.tag_steal_probability;
        if !(0.0..=1.0).contains(&steal) {
            let expected = "a probability from 0 to 1";
            return Err(InputError::new("host.tag_steal_probability", steal.to_string(), expected));
        }
        Ok(())
    }

    /// The CPUs that processes share, if there is a preset. The settings have been [checked](Self::check).
    pub(crate) fn processes(&self) -> Option<HostSettings> {
        self.on_cpus().ok().flatten()
    }

    /// The tunables of CPU schedulers: whether each is set, and the scheduler that it belongs to.
    fn tunables(&self) -> [(&'static str, bool, CpuScheduler); 4] {
        [
            ("quantum_ms", self.quantum_ms.is_some(), CpuScheduler::RoundRobin),
            ("sched_latency_ns", self.sched_latency_ns.is_some(), CpuScheduler::Fair),
            ("sched_min_granularity_ns", self.sched_min_granularity_ns.is_some(), CpuScheduler::Fair),
            ("sched_wakeup_granularity_ns", self.sched_wakeup_granularity_ns.is_some(), CpuScheduler::Fair),
        ]
    }

    /// The keys that need a preset, and whether they are set.
    fn needing_preset(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let others = [
            ("costs", self.costs != CostSettings::default()),
            ("speed", self.speed != 1.0),
            ("scheduler", self.scheduler.is_some()),
            ("kernel_preemption", self.kernel_preemption.is_some()),
            ("idle_loop", self.idle_loop.is_some()),
            ("irq_cpu", self.irq_cpu.is_some()),
            ("io_preempts", self.io_preempts),
            ("driver_scale", self.driver_scale != 1.0),
        ];
        others.into_iter().chain(self.tunables().map(|(key, is_set, _)| (key, is_set)))
    }

    fn on_cpus(&self) -> Result<Option<HostSettings>, InputError> {
        let Some(preset) = self.preset else {
            return match self.needing_preset().find(|&(_, is_set)| is_set) {
                Some((key, _)) => Err(InputError::new(
                    format!("host.{key}"),
                    "no preset",
                    "a preset, as it is for CPUs that processes share",
                )),
                None => Ok(None),
            };
        };
        let set = [self.issue_us, self.complete_us, self.resume_us, self.pin_us_per_kib];
        for ((key, instead), set) in MODELLED.into_iter().zip(set) {
            if let Some(us) = set {
                let expected = format!("{instead} of [host.costs] instead, as processes share the CPUs");
                return Err(InputError::new(format!("host.{key}"), format!("{us} beside a preset"), expected));
            }
        }
        let settings = HostSettings::of(preset, self.cpus);
        let scheduler = self.scheduler.unwrap_or(settings.scheduler);
        if let Some((key, _, whose)) =
            self.tunables().into_iter().find(|&(_, is_set, whose)| is_set && whose != scheduler)
        {
            let got = format!("scheduler {}", scheduler.name());
            return Err(InputError::new(
                format!("host.{key}"),
                got,
                format!("scheduler {}, whose it is", whose.name()),
            ));
        }
        let fair = settings.fair;
        let settings = HostSettings {
            speed: self.speed,
            costs: settings.costs.with(&self.costs)?.with_driver_scale(self.driver_scale)?,
            scheduler,
            quantum: self.quantum_ms.map_or(settings.quantum, |ms| Nanos::from_millis_f64(ms.max(0.0))),
            fair: FairSettings {
                latency: self.sched_latency_ns.map_or(fair.latency, Nanos),
                min_granularity: self.sched_min_granularity_ns.map_or(fair.min_granularity, Nanos),
                wakeup_granularity: self.sched_wakeup_granularity_ns.map_or(fair.wakeup_granularity, Nanos),
            },
            kernel_preemption: self.kernel_preemption.unwrap_or(settings.kernel_preemption),
            idle_loop: self.idle_loop.unwrap_or(settings.idle_loop),
            interrupt_cpu: self.irq_cpu.unwrap_or(settings.interrupt_cpu),
            io_preempts: self.io_preempts,
            ..settings
        };
        settings.check()?;
        Ok(Some(settings))
    }

    /// The costs for a device with one hardware queue, or with several if `own_queues` is set.
    ///
    /// Costs that are charged to processes that share the CPUs are not added again. A request is sent at the end of its
    /// submission, and the next one after the interrupt of the previous one.
    pub(crate) fn costs(&self, own_queues: bool) -> CpuCosts {
        let default = if own_queues { QUEUES_OF_ITS_OWN } else { ONE_QUEUE };
        let of = |us: Option<f64>, default: f64| nanos(us.unwrap_or(default));
        let (issue, restart) = (of(self.issue_us, default[0]), of(self.restart_us, default[2]));
        let modelled = self.processes();
        let handler = modelled.as_ref().map(HostSettings::interrupt);
        CpuCosts {
            issue: if modelled.is_some() { Nanos::ZERO } else { issue },
            issue_next: handler.unwrap_or(issue),
            complete: if modelled.is_some() { Nanos::ZERO } else { of(self.complete_us, default[1]) },
            restart: restart + handler.unwrap_or_default(),
            resume: of(self.resume_us, default[3]),
            pin_kib: if modelled.is_some() { Nanos::ZERO } else { of(self.pin_us_per_kib, PIN_US_PER_KIB) },
            transport: nanos(self.transport_us),
            wake: nanos(self.wake_us),
            lost_wake: nanos(self.wake_us + 5.0 * self.resume_us.unwrap_or(default[3]).max(10.0)),
        }
    }

    /// The time of a change of scheduler after the queue is drained.
    pub fn switch(&self) -> Nanos {
        Nanos::from_millis_f64(self.switch_us / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of CPUs of such a `[host]`.
    fn processes(host: &str) -> Result<HostSettings, String> {
        let host: CpuOverheads = iopilot_block::parse_toml(host, "m.toml").map_err(|e| e.to_string())?;
        host.check().map_err(|e| e.to_string())?;
        host.processes().ok_or_else(|| "no preset".to_owned())
    }

    #[test]
    fn each_preset_shares_its_cpus_as_its_system_does() {
        let of = |preset: &str| processes(&format!("preset = \"{preset}\"\ncpus = 4")).unwrap();
        assert_eq!((of("1995").scheduler, of("1995").interrupt_cpu), (CpuScheduler::RoundRobin, InterruptCpu::First));
        for preset in ["2005", "today"] {
            let settings = of(preset);
            assert_eq!((settings.scheduler, settings.interrupt_cpu), (CpuScheduler::Fair, InterruptCpu::Issuer));
            assert_eq!(settings.fair.latency, Nanos::from_millis(18), "6 ms, times 1 + log2 of 4 CPUs");
        }
        assert!(["1995", "2005", "today"].iter().all(|preset| !of(preset).kernel_preemption));
        let own = "preset = \"1995\"\nscheduler = \"rr\"\nquantum_ms = 50\nkernel_preemption = true\nidle_loop = \"process\"\n\
                   irq_cpu = \"round-robin\"";
        let own = processes(own).unwrap();
        assert_eq!((own.scheduler, own.quantum), (CpuScheduler::RoundRobin, Nanos::from_millis(50)));
        assert_eq!((own.kernel_preemption, own.idle_loop), (true, IdleLoop::Process));
        assert_eq!(own.interrupt_cpu, InterruptCpu::RoundRobin);
        for scheduler in CpuScheduler::ALL {
            let of = processes(&format!("preset = \"1995\"\nscheduler = \"{}\"", scheduler.name())).unwrap();
            assert_eq!(of.scheduler, scheduler, "it is read as it is named");
        }
        let fair = processes("preset = \"today\"\nsched_latency_ns = 20000000").unwrap().fair;
        assert_eq!((fair.latency, fair.wakeup_granularity), (Nanos::from_millis(20), Nanos::from_millis(2)));
    }

    #[test]
    fn a_tunable_of_another_scheduler_is_refused() {
        for (host, told) in [
            (
                "preset = \"today\"\nquantum_ms = 50",
                "host.quantum_ms: got scheduler fair, expected scheduler rr, whose it is",
            ),
            (
                "preset = \"1995\"\nsched_latency_ns = 6000000",
                "host.sched_latency_ns: got scheduler rr, expected scheduler fair, whose it is",
            ),
            (
                "preset = \"today\"\nsched_min_granularity_ns = 1",
                "host.sched_min_granularity_ns: got 1, expected 100000 to 1000000000 ns",
            ),
            ("scheduler = \"rr\"", "host.scheduler: got no preset, expected a preset"),
            ("irq_cpu = \"first\"", "host.irq_cpu: got no preset, expected a preset"),
            (
                "preset = \"1995\"\nscheduler = \"svr5\"",
                "m.toml:2: scheduler: got svr5, expected a known name; did you mean `svr4`?",
            ),
        ] {
            let error = processes(host).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn costs_of_the_host_model_are_not_added_again() {
        let host = CpuOverheads { preset: Some(Preset::Y1995), speed: 2.0, ..CpuOverheads::default() };
        let costs = host.costs(false);
        assert_eq!((costs.issue, costs.complete), (Nanos::ZERO, Nanos::ZERO));
        // 275 us, on a CPU that is twice as fast; a worker of the kernel comes behind the handler.
        assert_eq!((costs.issue_next, costs.restart), (Nanos(137_500), Nanos(157_500)));
        let free = CpuOverheads { driver_scale: 0.0, ..host };
        assert_eq!(free.costs(false).issue_next, Nanos::ZERO);
        let fixed = CpuOverheads::default().costs(false);
        assert_eq!((fixed.issue, fixed.issue_next, fixed.restart), (nanos(10.0), nanos(10.0), nanos(20.0)));
    }

    #[test]
    fn costs_of_the_host_model_are_refused_beside_a_preset() {
        let host = CpuOverheads { preset: Some(Preset::Today), ..CpuOverheads::default() };
        let wrong = |host: CpuOverheads| host.check().unwrap_err().to_string();
        assert_eq!(
            wrong(CpuOverheads { issue_us: Some(10.0), ..host.clone() }),
            "host.issue_us: got 10 beside a preset, expected submit_us and irq_us of [host.costs] instead, as processes \
             share the CPUs"
        );
        assert!(
            wrong(CpuOverheads { complete_us: Some(0.0), ..host.clone() }).contains("expected irq_us of [host.costs]")
        );
        assert!(
            wrong(CpuOverheads { resume_us: Some(0.0), ..host.clone() }).contains("expected wake_us and switch_us")
        );
        assert!(
            wrong(CpuOverheads { pin_us_per_kib: Some(0.1), ..host.clone() })
                .contains("expected submit_us of [host.costs]")
        );
        let alone = wrong(CpuOverheads { driver_scale: 0.5, ..CpuOverheads::default() });
        assert!(alone.starts_with("host.driver_scale: got no preset"), "{alone}");
        assert!(CpuOverheads { restart_us: Some(5.0), transport_us: 3.0, ..host }.check().is_ok());
    }

    #[test]
    fn a_probability_is_from_0_to_1_and_a_time_not_negative() {
        let steal = |p| CpuOverheads { tag_steal_probability: p, ..CpuOverheads::default() }.check();
        assert!(steal(0.0).is_ok() && steal(1.0).is_ok());
        for wrong in [-0.1, 1.1, f64::NAN] {
            let wrong = steal(wrong).unwrap_err().to_string();
            assert!(wrong.contains("host.tag_steal_probability"), "{wrong}");
        }
        let wrong = CpuOverheads { wake_us: -1.0, ..CpuOverheads::default() }.check().unwrap_err();
        assert!(wrong.to_string().contains("host.wake_us"), "{wrong}");
    }
}
