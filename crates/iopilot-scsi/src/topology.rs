//! [`Subsystem`]: buses, controllers and devices as a tree (Ganger A.1.2; DiskSim 4.0's storage subsystem).
//!
//! A request enters at the top controller on the path to its device and goes down bus by bus. From then on the device
//! sends messages. Each message goes up the path to the issuer of the request (the host or a smart controller), and
//! the answer comes back down. Controllers add delays, buses add arbitration. A chain of pass-through controllers
//! without delays answers at once.
//!
//! All events happen in one order: by time, then by insertion.

mod build;
mod messages;

pub use build::{BusIndex, ControllerIndex, SubsystemBuilder, SubsystemFault};

use crate::bus::{Bus, BusReport};
use crate::controller::{Chip, Smart};
use crate::controller_cache::{CacheAction, ControllerCacheReport};
use crate::{Message, MessageKind, Signal, Target};
use iopilot_block::{EventQueue, Nanos, Positions, RequestId, Scheduled, Slab};
use iopilot_device::{Completion, DeviceRequest, ServiceBreakdown};
use std::collections::VecDeque;

/// Buses, controllers and devices as one pure state machine.
#[derive(Clone, Debug)]
pub struct Subsystem<T> {
    buses: Vec<Bus<Claim>>,
    controllers: Vec<Controller>,
    devices: Vec<Station<T>>,
    flights: Slab<Flight>,
    agenda: EventQueue<Event>,
    /// The events due at this moment, in order.
    work: VecDeque<Event>,
    signals: Vec<Signal>,
    actions: Vec<CacheAction>,
    done: Vec<Completion>,
    now: Nanos,
}

#[derive(Clone, Debug)]
struct Controller {
    kind: ControllerKind,
    /// The bus above it, and its slot there; `None` at the top.
    above: Option<(usize, usize)>,
    /// The delay before each message it passes on.
    delay: Nanos,
}

#[derive(Clone, Debug)]
enum ControllerKind {
    PassThrough,
    Chip(Chip),
    Smart(Box<Smart>),
}

/// A device and its place in the tree.
#[derive(Clone, Debug)]
struct Station<T> {
    target: T,
    bus: usize,
    slot: usize,
    /// The controllers from the top to the one that masters its bus.
    path: Vec<usize>,
    /// Whether its messages are answered at once.
    immediate: bool,
    /// The time of its entry in the agenda.
    scheduled: Option<Nanos>,
}

/// A request in flight, from the host or from a smart controller.
#[derive(Clone, Copy, Debug)]
struct Flight {
    request: DeviceRequest,
    device: usize,
    origin: Origin,
    service: ServiceBreakdown,
    /// How many parties still refer to it: its issuer and its server.
    open: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The host's id of the request.
    Host(RequestId),
    /// The controller, and its cache's number for the request.
    Cache(usize, u32),
}

/// What a unit wants a bus for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// The device has a message or data to send.
    Device(usize),
    /// The controller at this level of the request's path sends the command down.
    Command(usize, u32),
    /// The controller at this level of the device's path sends a message up.
    Message(usize, usize, Message),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A device acts on its own.
    Device(usize),
    Granted(Claim),
    /// A command has left the controller at this level.
    Command(usize, u32),
    /// A message has left the controller at this level upwards.
    Up(usize, usize, Message),
    /// An acknowledgement has left the controller at this level downwards.
    Down(usize, usize, Message),
    /// A smart controller has moved data to or from the host; the number is that of the appointment.
    Transferred(usize, u64),
    /// The next check for dirty data in a cache is due.
    Flush(usize),
    /// A device has been idle since its idle period of this number began.
    Idle(usize, usize, u64),
}

/// How many requests the host may have outstanding at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The controller that sets the limit for all devices below it together; `None` if the device itself does.
    pub controller: Option<usize>,
    /// Requests outstanding at that controller or device.
    pub depth: u32,
    /// The host sends larger requests in pieces, one after the other; `None` for no limit.
    pub max_request: Option<u32>,
}

impl<T: Target> Subsystem<T> {
    /// Takes a request of the host for `device` at `now`; the host calls it `request.id`.
    pub fn submit(&mut self, device: usize, request: DeviceRequest, now: Nanos) {
        self.now = self.now.max(now);
        let origin = Origin::Host(request.id);
        let flight = self.begin(device, request, origin);
        self.command(0, flight, now);
        self.drain(now);
    }

    /// The latest moment at which the next event happens; `None` if the subsystem only waits for requests.
    pub fn next_event(&self) -> Option<Nanos> {
        let done = self.done.first().map(|c| c.at);
        let next = self.agenda.next_time();
        match (done, next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Runs it to `now` and appends what completed, in order, to `out`.
    pub fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        while let Some(Scheduled { at, event, .. }) = self.agenda.pop_due(now) {
            self.now = at;
            self.event(event, at);
            self.drain(at);
        }
        self.now = self.now.max(now);
        out.append(&mut self.done);
    }

    /// Runs until a request completes or `limit` is reached. Appends what completed to `out` and returns the time.
    pub(crate) fn advance_to_completion(&mut self, limit: Nanos, out: &mut Vec<Completion>) -> Nanos {
        while self.done.is_empty() {
            let Some(Scheduled { at, event, .. }) = self.agenda.pop_due(limit) else { break };
            self.now = at;
            self.event(event, at);
            self.drain(at);
        }
        out.append(&mut self.done);
        self.now
    }

    /// The number of devices.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// The device with this number.
    pub fn device(&self, device: usize) -> &T {
        &self.devices[device].target
    }

    /// The positions that a queue before `device` may ask for.
    pub fn positions(&self, device: usize) -> Option<&dyn Positions> {
        self.devices[device].target.positions()
    }

    /// The host's limits at `device`.
    pub fn limits(&self, device: usize) -> DeviceLimits {
        let station = &self.devices[device];
        for &controller in &station.path {
            if let ControllerKind::Smart(smart) = &self.controllers[controller].kind {
                let max = smart.cache.max_request();
                return DeviceLimits {
                    controller: Some(controller),
                    depth: smart.model.queue_depth.max(1),
                    max_request: (max > 0).then_some(max),
                };
            }
        }
        DeviceLimits { controller: None, depth: station.target.queue_depth(), max_request: None }
    }

    /// What the bus with this number did until now.
    pub fn bus_report(&self, bus: BusIndex) -> BusReport {
        self.buses[bus.0].report(self.now)
    }

    /// What the cache of a controller did; `None` if it has none.
    pub fn cache_report(&self, controller: ControllerIndex) -> Option<ControllerCacheReport> {
        match &self.controllers[controller.0].kind {
            ControllerKind::Smart(smart) => Some(smart.cache.report()),
            _ => None,
        }
    }

    fn begin(&mut self, device: usize, request: DeviceRequest, origin: Origin) -> u32 {
        let flight = Flight { request, device, origin, service: ServiceBreakdown::default(), open: 2 };
        let number = self.flights.insert(flight);
        self.flights[number].request.id = RequestId::from_index(number as usize);
        number
    }

    /// One party releases its reference to the request.
    fn close(&mut self, flight: u32) {
        let open = &mut self.flights[flight].open;
        *open -= 1;
        if *open == 0 {
            self.flights.remove(flight);
        }
    }

    fn after(&mut self, delay: Nanos, event: Event, now: Nanos) {
        if delay == Nanos::ZERO {
            self.work.push_back(event);
        } else {
            self.agenda.push(now + delay, event);
        }
    }

    fn drain(&mut self, now: Nanos) {
        while let Some(event) = self.work.pop_front() {
            self.event(event, now);
        }
    }

    fn event(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Device(device) => {
                if self.devices[device].scheduled == Some(now) {
                    self.devices[device].scheduled = None;
                    self.at_device(device, now, |target, signals| target.advance(now, signals));
                }
            }
            Event::Granted(claim) => self.granted(claim, now),
            Event::Command(level, flight) => self.command_arrives(level, flight, now),
            Event::Up(level, device, message) => {
                if level == 0 {
                    self.host(device, message, now);
                } else {
                    self.message(level - 1, device, message, now);
                }
            }
            Event::Down(level, device, message) => {
                if level + 1 < self.devices[device].path.len() {
                    self.acknowledgement(level + 1, device, message, now);
                } else {
                    self.acknowledge(device, message, now);
                }
            }
            Event::Transferred(controller, number) => self.transferred(controller, number, now),
            Event::Flush(controller) => self.flush_due(controller, now),
            Event::Idle(controller, device, period) => self.idle_due(controller, device, period, now),
        }
    }

    /// Lets a device act, and handles its signals.
    fn at_device(&mut self, device: usize, now: Nanos, act: impl FnOnce(&mut T, &mut Vec<Signal>)) {
        let mut signals = std::mem::take(&mut self.signals);
        act(&mut self.devices[device].target, &mut signals);
        let mut i = 0;
        while i < signals.len() {
            match signals[i] {
                Signal::Arbitrate => {
                    let station = &mut self.devices[device];
                    match self.buses[station.bus].acquire(station.slot, Claim::Device(device), now) {
                        Some(Nanos::ZERO) => station.target.granted(now, &mut signals),
                        Some(time) => self.after(time, Event::Granted(Claim::Device(device)), now),
                        None => {}
                    }
                }
                Signal::Release => self.release(self.devices[device].bus, now),
                Signal::Message(message) => {
                    let flight = message.id.index() as u32;
                    if message.kind == MessageKind::Complete {
                        self.flights[flight].service = self.devices[device].target.service(message.id);
                    }
                    if self.devices[device].immediate {
                        self.devices[device].target.acknowledged(message, now, &mut signals);
                        if message.kind == MessageKind::Complete {
                            self.complete(flight, now);
                            self.close(flight);
                        }
                    } else {
                        let level = self.devices[device].path.len() - 1;
                        self.message(level, device, message, now);
                    }
                }
            }
            i += 1;
        }
        signals.clear();
        self.signals = signals;
        let station = &mut self.devices[device];
        let next = station.target.next_event();
        if next != station.scheduled {
            station.scheduled = next;
            if let Some(at) = next {
                self.agenda.push(at.max(now), Event::Device(device));
            }
        }
    }

    fn release(&mut self, bus: usize, now: Nanos) {
        if let Some(claim) = self.buses[bus].release(now) {
            let time = self.buses[bus].model().arbitration_time;
            self.after(time, Event::Granted(claim), now);
        }
    }

    fn granted(&mut self, claim: Claim, now: Nanos) {
        match claim {
            Claim::Device(device) => self.at_device(device, now, |target, signals| target.granted(now, signals)),
            Claim::Command(level, flight) => self.command_granted(level, flight, now),
            Claim::Message(level, device, message) => {
                // A message is short: the bus is released at once.
                let controller = self.devices[device].path[level];
                if let Some((bus, _)) = self.controllers[controller].above {
                    self.release(bus, now);
                }
                self.after(self.controllers[controller].delay, Event::Up(level, device, message), now);
            }
        }
    }

    /// All controllers above have acknowledged the device's message.
    fn acknowledge(&mut self, device: usize, message: Message, now: Nanos) {
        self.at_device(device, now, |target, signals| target.acknowledged(message, now, signals));
        if message.kind == MessageKind::Complete {
            self.close(message.id.index() as u32);
        }
    }

    /// A message has reached the host, which answers at once.
    fn host(&mut self, device: usize, message: Message, now: Nanos) {
        self.acknowledgement(0, device, message, now);
        if message.kind == MessageKind::Complete {
            self.complete(message.id.index() as u32, now);
        }
    }

    /// A request of the host is done.
    fn complete(&mut self, flight: u32, now: Nanos) {
        let Flight { origin, service, .. } = self.flights[flight];
        if let Origin::Host(id) = origin {
            self.done.push(Completion { id, at: now, service });
        }
        self.close(flight);
    }
}

#[cfg(test)]
mod tests;
