//! What controllers do with commands, messages and acknowledgements.

use crate::subsystem::cache::{CacheAccess, CacheAction, HostOperation};
use crate::subsystem::scsi::ChipState;
use crate::subsystem::smart::Smart;
use crate::subsystem::{Claim, Event, Kind, Origin, Subsystem};
use crate::{Message, MessageKind, Target};
use iopilot_block::{Flags, Lba, Nanos, RequestId, Sectors};
use iopilot_device::DeviceRequest;
use iopilot_sched::IoRequest;

impl<T: Target> Subsystem<T> {
    /// A command arrives at the controller at `level` of its path.
    pub(super) fn command(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight as usize].device;
        let controller = self.devices[device].path[level];
        match &mut self.controllers[controller].kind {
            Kind::PassThrough => self.send_down(level, flight, now),
            Kind::Scsi(chip) => {
                if chip.state == ChipState::Free {
                    chip.state = ChipState::Command(flight);
                    self.send_down(level, flight, now);
                } else {
                    chip.commands.push_back(flight);
                }
            }
            Kind::Smart(smart) => {
                let request = self.flights[flight as usize].request;
                let operation = HostOperation {
                    number: flight,
                    device,
                    lba: request.lba.0,
                    sectors: request.sectors.0,
                    op: request.op,
                    through: request.flags.contains(Flags::FUA),
                };
                if let Some(at) = smart.set_flush_clock(now) {
                    self.agenda.push(at, Event::Flush(controller));
                }
                smart.operations += 1;
                smart.interrupted = true;
                if smart.cache.idle_counts_host() {
                    smart.idle_periods.iter_mut().for_each(|period| *period += 1);
                }
                self.flights[flight as usize].open += 1;
                let mut actions = std::mem::take(&mut self.actions);
                smart.cache.begin(operation, &mut actions);
                self.act(controller, actions, now);
            }
        }
    }

    /// Sends a command to the next below the controller at `level`, as soon as the bus is free.
    fn send_down(&mut self, level: usize, flight: u32, now: Nanos) {
        let bus = self.bus_below(level, flight);
        let claim = Claim::Command(level, flight);
        match self.buses[bus].acquire(0, claim, now) {
            Some(Nanos::ZERO) => self.command_granted(level, flight, now),
            Some(time) => self.after(time, Event::Granted(claim), now),
            None => self.let_reconnections_pass(flight, now),
        }
    }

    /// A command has to wait for a bus. If a device that is back waits for the same chip, it may be that device that
    /// has the bus.
    fn let_reconnections_pass(&mut self, flight: u32, now: Nanos) {
        let device = self.flights[flight as usize].device;
        for level in 0..self.devices[device].path.len() {
            let controller = self.devices[device].path[level];
            let Kind::Scsi(chip) = &mut self.controllers[controller].kind else { continue };
            let state = chip.state;
            if state != ChipState::Command(flight) || chip.reconnections.is_empty() {
                continue;
            }
            if self.steps_back(level, state) {
                self.free_chip(level, device, now);
            }
        }
    }

    fn bus_below(&self, level: usize, flight: u32) -> usize {
        let station = &self.devices[self.flights[flight as usize].device];
        match station.path.get(level + 1) {
            Some(&controller) => self.controllers[controller].above.map_or(station.bus, |(bus, _)| bus),
            None => station.bus,
        }
    }

    pub(super) fn command_granted(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight as usize].device;
        match self.controllers[self.devices[device].path[level]].delay {
            Nanos::ZERO => self.command_arrives(level, flight, now),
            delay => self.after(delay, Event::Command(level, flight), now),
        }
    }

    /// A command has left the controller at `level` and arrives at the next.
    pub(super) fn command_arrives(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight as usize].device;
        if level + 1 < self.devices[device].path.len() {
            // Between controllers a bus is needed for the message only.
            self.release(self.bus_below(level, flight), now);
            self.command(level + 1, flight, now);
        } else {
            let request = self.flights[flight as usize].request;
            for &controller in &self.devices[device].path {
                if let Kind::Scsi(chip) = &mut self.controllers[controller].kind {
                    chip.state = ChipState::Connected;
                }
            }
            self.at_device(device, now, |target, signals| target.submit(request, now, signals));
        }
    }

    /// A device's message arrives at the controller at `level` of its path.
    pub(super) fn message(&mut self, level: usize, device: usize, message: Message, now: Nanos) {
        let index = self.devices[device].path[level];
        let controller = &mut self.controllers[index];
        let delay = controller.delay;
        match &mut controller.kind {
            Kind::PassThrough => self.send_up(level, device, message, now),
            Kind::Scsi(chip) => match message.kind {
                MessageKind::Ready => self.after(delay, Event::Down(level, device, message), now),
                MessageKind::Disconnect | MessageKind::Complete => {
                    chip.state = ChipState::Ending;
                    self.after(delay, Event::Down(level, device, message), now);
                    self.send_up(level, device, message, now);
                }
                MessageKind::Reconnect => {
                    let state = chip.state;
                    if self.steps_back(level, state) {
                        self.reconnect(level, device, message, now);
                    } else if let Kind::Scsi(chip) = &mut self.controllers[index].kind {
                        chip.reconnections.push_back((device, message));
                    }
                }
            },
            Kind::Smart(_) => {
                self.after(delay, Event::Down(level, device, message), now);
                if message.kind == MessageKind::Complete {
                    self.access_complete(index, device, message.id, now);
                }
            }
        }
    }

    /// Whether a chip in this state can turn to a device that is back. A command that still waits for the bus, which
    /// the device has, goes back to the head of its queue.
    fn steps_back(&mut self, level: usize, state: ChipState) -> bool {
        let ChipState::Command(flight) = state else { return state == ChipState::Free };
        let device = self.flights[flight as usize].device;
        for below in level..self.devices[device].path.len() {
            let bus = self.bus_below(below, flight);
            if self.buses[bus].withdraw(Claim::Command(below, flight)) {
                if let Kind::Scsi(chip) = &mut self.controllers[self.devices[device].path[level]].kind {
                    chip.commands.push_front(flight);
                }
                return true;
            }
        }
        false
    }

    fn reconnect(&mut self, level: usize, device: usize, message: Message, now: Nanos) {
        let controller = self.devices[device].path[level];
        if let Kind::Scsi(chip) = &mut self.controllers[controller].kind {
            chip.state = ChipState::Reconnecting;
        }
        self.send_up(level, device, message, now);
    }

    /// Sends a message from the controller at `level` to the next above.
    fn send_up(&mut self, level: usize, device: usize, message: Message, now: Nanos) {
        let controller = &self.controllers[self.devices[device].path[level]];
        let delay = controller.delay;
        match controller.above {
            Some((bus, slot)) if level > 0 => {
                let claim = Claim::Message(level, device, message);
                if let Some(time) = self.buses[bus].acquire(slot, claim, now) {
                    self.after(time, Event::Granted(claim), now);
                }
            }
            _ => self.after(delay, Event::Up(level, device, message), now),
        }
    }

    /// An acknowledgement arrives at the controller at `level` on its way down to the device.
    pub(super) fn acknowledgement(&mut self, level: usize, device: usize, message: Message, now: Nanos) {
        let controller = &mut self.controllers[self.devices[device].path[level]];
        let delay = controller.delay;
        match &mut controller.kind {
            Kind::PassThrough => self.after(delay, Event::Down(level, device, message), now),
            // The device has its answer already: the chip is free for the next.
            Kind::Scsi(chip) => match message.kind {
                MessageKind::Reconnect => {
                    chip.state = ChipState::Connected;
                    self.after(delay, Event::Down(level, device, message), now);
                }
                _ => self.free_chip(level, device, now),
            },
            // It is the answer to its own report that a request is done.
            Kind::Smart(_) => self.close(message.id.index() as u32),
        }
    }

    /// The controller at this level of the path to `device`, if it is a chip, has nothing in hand any more: on to the
    /// next.
    fn free_chip(&mut self, level: usize, device: usize, now: Nanos) {
        let Kind::Scsi(chip) = &mut self.controllers[self.devices[device].path[level]].kind else { return };
        chip.state = ChipState::Free;
        if let Some((device, message)) = chip.reconnections.pop_front() {
            self.reconnect(level, device, message, now);
        } else if let Some(flight) = chip.commands.pop_front() {
            chip.state = ChipState::Command(flight);
            self.send_down(level, flight, now);
        }
    }

    fn smart(&mut self, controller: usize) -> Option<&mut Smart> {
        match &mut self.controllers[controller].kind {
            Kind::Smart(smart) => Some(smart),
            _ => None,
        }
    }

    /// Where `controller` is on the path to `device`.
    fn level(&self, controller: usize, device: usize) -> usize {
        self.devices[device].path.iter().position(|&c| c == controller).unwrap_or(0)
    }

    /// Does what a cache wants.
    fn act(&mut self, controller: usize, mut actions: Vec<CacheAction>, now: Nanos) {
        let mut i = 0;
        while i < actions.len() {
            match actions[i] {
                CacheAction::Access(access) => self.begin_access(controller, access, now),
                CacheAction::Transfer(operation) => self.transfer(controller, operation, now, &mut actions),
                CacheAction::Reply(operation) => {
                    let device = self.flights[operation as usize].device;
                    let level = self.level(controller, device);
                    let id = RequestId::from_index(operation as usize);
                    self.send_up(level, device, Message { id, kind: MessageKind::Complete }, now);
                }
                CacheAction::Hit(operation) => self.flights[operation as usize].service.cache_hit = true,
                CacheAction::Forget(operation) => {
                    let device = self.flights[operation as usize].device;
                    if let Some(smart) = self.smart(controller) {
                        smart.operations -= 1;
                        if smart.cache.idle_counts_host() {
                            self.watch_idleness(controller, device, now);
                        }
                    }
                    self.close(operation);
                }
                CacheAction::StillIdle(device) => {
                    if let Some(smart) = self.smart(controller) {
                        if smart.may_clean(device) {
                            smart.cache.idle(device, &mut actions);
                        }
                    }
                }
            }
            i += 1;
        }
        actions.clear();
        self.actions = actions;
    }

    /// Queues an access of the cache's and sends what may be sent.
    fn begin_access(&mut self, controller: usize, access: CacheAccess, now: Nanos) {
        let request = DeviceRequest {
            id: RequestId::from_index(0),
            op: access.op,
            lba: Lba(access.lba),
            sectors: Sectors(access.sectors),
            flags: if access.through { Flags::FUA } else { Flags::empty() },
        };
        let flight = self.begin(access.device, request, Origin::Cache(controller, access.number));
        let id = RequestId::from_index(flight as usize);
        if let Some(smart) = self.smart(controller) {
            let request = IoRequest::new(id, access.op, Lba(access.lba), Sectors(access.sectors));
            smart.queues[access.device].insert(request, now);
        }
        self.dispatch(controller, access.device, now);
    }

    /// Sends what `device` may take.
    fn dispatch(&mut self, controller: usize, device: usize, now: Nanos) {
        let level = self.level(controller, device);
        loop {
            // Field by field: the queue asks the device.
            let positions = self.devices[device].target.positions();
            let Kind::Smart(smart) = &mut self.controllers[controller].kind else { return };
            if smart.sent[device] >= smart.model.per_device.max(1) {
                return;
            }
            let Some(pick) = smart.queues[device].pick(now, positions) else { return };
            smart.sent[device] += 1;
            let flight = pick.id.index() as u32;
            let request = &mut self.flights[flight as usize].request;
            (request.lba, request.sectors) = (pick.lba, pick.sectors);
            self.send_down(level, flight, now);
        }
    }

    /// What was sent under this name has ended: one access of the cache's or several.
    fn access_complete(&mut self, controller: usize, device: usize, id: RequestId, now: Nanos) {
        let Some(smart) = self.smart(controller) else { return };
        smart.sent[device] -= 1;
        let mut ended = std::mem::take(&mut smart.ended);
        ended.push(id);
        smart.queues[device].completed(id, now, &mut ended);
        let mut actions = std::mem::take(&mut self.actions);
        for &id in &ended {
            let flight = id.index() as u32;
            let Origin::Cache(_, number) = self.flights[flight as usize].origin else { continue };
            if let Some(smart) = self.smart(controller) {
                smart.cache.accessed(number, &mut actions);
            }
            self.close(flight);
        }
        // Of those that became one the device knew only the first.
        for other in ended.drain(1..) {
            self.close(other.index() as u32);
        }
        ended.clear();
        if let Some(smart) = self.smart(controller) {
            smart.ended = ended;
        }
        self.act(controller, actions, now);
        self.dispatch(controller, device, now);
        self.watch_idleness(controller, device, now);
    }

    fn watch_idleness(&mut self, controller: usize, device: usize, now: Nanos) {
        let Some(smart) = self.smart(controller) else { return };
        let Some(delay) = smart.cache.idle_delay() else { return };
        smart.idle_periods[device] += 1;
        let period = smart.idle_periods[device];
        if smart.is_idle(device) {
            self.agenda.push(now + delay, Event::Idle(controller, device, period));
        }
    }

    pub(super) fn idle_due(&mut self, controller: usize, device: usize, period: u64, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        if let Some(smart) = self.smart(controller) {
            if smart.idle_periods[device] == period && (0..smart.queues.len()).all(|d| smart.is_idle(d)) {
                smart.interrupted = false;
                smart.cache.idle(device, &mut actions);
            }
        }
        self.act(controller, actions, now);
    }

    pub(super) fn flush_due(&mut self, controller: usize, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        let mut again = None;
        if let Some(smart) = self.smart(controller) {
            smart.flush_is_set = false;
            smart.cache.flush(&mut actions);
            // Nothing new can be dirty while nothing is under way: the next operation sets the clock again.
            if smart.operations > 0 || !actions.is_empty() || smart.cache.is_partly_flushed() {
                again = smart.set_flush_clock(now);
            }
        }
        if let Some(at) = again {
            self.agenda.push(at, Event::Flush(controller));
        }
        self.act(controller, actions, now);
    }

    /// Moves an operation's data between host and controller.
    fn transfer(&mut self, controller: usize, operation: u32, now: Nanos, actions: &mut Vec<CacheAction>) {
        let sectors = self.flights[operation as usize].request.sectors.0;
        let Some(smart) = self.smart(controller) else { return };
        let time = smart.transfer_time(sectors);
        if smart.transfers.is_empty() && time == Nanos::ZERO {
            smart.cache.transferred(operation, actions);
            return;
        }
        if let Some((at, number)) = smart.transfers.begin(operation, time, now) {
            self.agenda.push(at, Event::Transferred(controller, number));
        }
    }

    pub(super) fn transferred(&mut self, controller: usize, number: u64, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        let Some(smart) = self.smart(controller) else { return };
        if let Some(operation) = smart.transfers.end(number, now) {
            smart.cache.transferred(operation, &mut actions);
            if let Some((at, number)) = smart.transfers.next() {
                self.agenda.push(at, Event::Transferred(controller, number));
            }
        }
        self.act(controller, actions, now);
    }
}
