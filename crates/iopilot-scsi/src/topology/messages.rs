//! How controllers handle commands, messages and acknowledgements.

use crate::controller::{ChipState, Smart};
use crate::controller_cache::{CacheAccess, CacheAction, HostOperation};
use crate::topology::{Claim, ControllerKind, Event, Origin, Subsystem};
use crate::{Message, MessageKind, Target};
use iopilot_block::{Flags, Lba, Nanos, RequestId, Sectors};
use iopilot_device::DeviceRequest;
use iopilot_sched::IoRequest;

impl<T: Target> Subsystem<T> {
    /// A command arrives at the controller at `level` of its path.
    pub(super) fn command(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight].device;
        let controller = self.devices[device].path[level];
        match &mut self.controllers[controller].kind {
            ControllerKind::PassThrough => self.send_down(level, flight, now),
            ControllerKind::Chip(chip) => {
                if chip.state == ChipState::Free {
                    chip.state = ChipState::Command(flight);
                    self.send_down(level, flight, now);
                } else {
                    chip.commands.push_back(flight);
                }
            }
            ControllerKind::Smart(smart) => {
                let request = self.flights[flight].request;
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
                self.flights[flight].open += 1;
                let mut actions = std::mem::take(&mut self.actions);
                smart.cache.begin(operation, &mut actions);
                self.perform(controller, actions, now);
            }
        }
    }

    /// Sends a command down from the controller at `level`, once the bus below is free.
    fn send_down(&mut self, level: usize, flight: u32, now: Nanos) {
        let bus = self.bus_below(level, flight);
        let claim = Claim::Command(level, flight);
        match self.buses[bus].acquire(0, claim, now) {
            Some(Nanos::ZERO) => self.command_granted(level, flight, now),
            Some(time) => self.after(time, Event::Granted(claim), now),
            None => self.let_reconnections_pass(flight, now),
        }
    }

    /// A command has to wait for a bus. A device whose reconnection waits for the same chip may own that bus, so the
    /// command steps back for it.
    fn let_reconnections_pass(&mut self, flight: u32, now: Nanos) {
        let device = self.flights[flight].device;
        for level in 0..self.devices[device].path.len() {
            let controller = self.devices[device].path[level];
            let ControllerKind::Chip(chip) = &mut self.controllers[controller].kind else { continue };
            let state = chip.state;
            if state != ChipState::Command(flight) || chip.reconnections.is_empty() {
                continue;
            }
            if self.yields_to_reconnection(level, state) {
                self.free_chip(level, device, now);
            }
        }
    }

    fn bus_below(&self, level: usize, flight: u32) -> usize {
        let station = &self.devices[self.flights[flight].device];
        match station.path.get(level + 1) {
            Some(&controller) => self.controllers[controller].above.map_or(station.bus, |(bus, _)| bus),
            None => station.bus,
        }
    }

    pub(super) fn command_granted(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight].device;
        match self.controllers[self.devices[device].path[level]].delay {
            Nanos::ZERO => self.command_arrives(level, flight, now),
            delay => self.after(delay, Event::Command(level, flight), now),
        }
    }

    /// A command has left the controller at `level` and arrives at the next unit.
    pub(super) fn command_arrives(&mut self, level: usize, flight: u32, now: Nanos) {
        let device = self.flights[flight].device;
        if level + 1 < self.devices[device].path.len() {
            // Between controllers, the bus is needed only for the message.
            self.release(self.bus_below(level, flight), now);
            self.command(level + 1, flight, now);
        } else {
            let request = self.flights[flight].request;
            for &controller in &self.devices[device].path {
                if let ControllerKind::Chip(chip) = &mut self.controllers[controller].kind {
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
            ControllerKind::PassThrough => self.send_up(level, device, message, now),
            ControllerKind::Chip(chip) => match message.kind {
                MessageKind::Ready => self.after(delay, Event::Down(level, device, message), now),
                MessageKind::Disconnect | MessageKind::Complete => {
                    chip.state = ChipState::Ending;
                    self.after(delay, Event::Down(level, device, message), now);
                    self.send_up(level, device, message, now);
                }
                MessageKind::Reconnect => {
                    let state = chip.state;
                    if self.yields_to_reconnection(level, state) {
                        self.reconnect(level, device, message, now);
                    } else if let ControllerKind::Chip(chip) = &mut self.controllers[index].kind {
                        chip.reconnections.push_back((device, message));
                    }
                }
            },
            ControllerKind::Smart(_) => {
                self.after(delay, Event::Down(level, device, message), now);
                if message.kind == MessageKind::Complete {
                    self.access_complete(index, device, message.id, now);
                }
            }
        }
    }

    /// Whether a chip in this state can turn to a reconnecting device. A command that still waits for the bus, which
    /// the device owns, goes back to the head of the chip's queue.
    fn yields_to_reconnection(&mut self, level: usize, state: ChipState) -> bool {
        let ChipState::Command(flight) = state else { return state == ChipState::Free };
        let device = self.flights[flight].device;
        for below in level..self.devices[device].path.len() {
            let bus = self.bus_below(below, flight);
            if self.buses[bus].withdraw(Claim::Command(below, flight)) {
                if let ControllerKind::Chip(chip) = &mut self.controllers[self.devices[device].path[level]].kind {
                    chip.commands.push_front(flight);
                }
                return true;
            }
        }
        false
    }

    fn reconnect(&mut self, level: usize, device: usize, message: Message, now: Nanos) {
        let controller = self.devices[device].path[level];
        if let ControllerKind::Chip(chip) = &mut self.controllers[controller].kind {
            chip.state = ChipState::Reconnecting;
        }
        self.send_up(level, device, message, now);
    }

    /// Sends a message from the controller at `level` to the unit above.
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
            ControllerKind::PassThrough => self.after(delay, Event::Down(level, device, message), now),
            // The device has its answer already: the chip is free for the next command.
            ControllerKind::Chip(chip) => match message.kind {
                MessageKind::Reconnect => {
                    chip.state = ChipState::Connected;
                    self.after(delay, Event::Down(level, device, message), now);
                }
                _ => self.free_chip(level, device, now),
            },
            // The acknowledgement answers the controller's own completion message.
            ControllerKind::Smart(_) => self.close(message.id.index() as u32),
        }
    }

    /// Frees the chip at this level of the path to `device`, and starts its next reconnection or command. Does
    /// nothing for other controllers.
    fn free_chip(&mut self, level: usize, device: usize, now: Nanos) {
        let ControllerKind::Chip(chip) = &mut self.controllers[self.devices[device].path[level]].kind else { return };
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
            ControllerKind::Smart(smart) => Some(smart),
            _ => None,
        }
    }

    /// The level of `controller` on the path to `device`.
    fn level(&self, controller: usize, device: usize) -> usize {
        self.devices[device].path.iter().position(|&c| c == controller).unwrap_or(0)
    }

    /// Performs the actions of a cache.
    fn perform(&mut self, controller: usize, mut actions: Vec<CacheAction>, now: Nanos) {
        let mut i = 0;
        while i < actions.len() {
            match actions[i] {
                CacheAction::Access(access) => self.begin_access(controller, access, now),
                CacheAction::Transfer(operation) => self.transfer(controller, operation, now, &mut actions),
                CacheAction::Reply(operation) => {
                    let device = self.flights[operation].device;
                    let level = self.level(controller, device);
                    let id = RequestId::from_index(operation as usize);
                    self.send_up(level, device, Message { id, kind: MessageKind::Complete }, now);
                }
                CacheAction::Hit(operation) => self.flights[operation].service.cache_hit = true,
                CacheAction::Forget(operation) => {
                    let device = self.flights[operation].device;
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

    /// Queues an access of the cache, and sends as many as the device accepts.
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

    /// Sends as many requests as `device` accepts.
    fn dispatch(&mut self, controller: usize, device: usize, now: Nanos) {
        let level = self.level(controller, device);
        loop {
            // Field by field, because the queue asks the device for positions.
            let positions = self.devices[device].target.positions();
            let ControllerKind::Smart(smart) = &mut self.controllers[controller].kind else { return };
            if smart.sent[device] >= smart.model.per_device.max(1) {
                return;
            }
            let Some(pick) = smart.queues[device].pick(now, positions) else { return };
            smart.sent[device] += 1;
            let flight = pick.id.index() as u32;
            let request = &mut self.flights[flight].request;
            (request.lba, request.sectors) = (pick.lba, pick.sectors);
            self.send_down(level, flight, now);
        }
    }

    /// The request sent under this id has ended; it may stand for several accesses of the cache.
    fn access_complete(&mut self, controller: usize, device: usize, id: RequestId, now: Nanos) {
        let Some(smart) = self.smart(controller) else { return };
        smart.sent[device] -= 1;
        let mut ended = std::mem::take(&mut smart.ended);
        ended.push(id);
        smart.queues[device].completed(id, now, &mut ended);
        let mut actions = std::mem::take(&mut self.actions);
        for &id in &ended {
            let flight = id.index() as u32;
            let Origin::Cache(_, number) = self.flights[flight].origin else { continue };
            if let Some(smart) = self.smart(controller) {
                smart.cache.accessed(number, &mut actions);
            }
            self.close(flight);
        }
        // Of merged requests the device knew only the first.
        for other in ended.drain(1..) {
            self.close(other.index() as u32);
        }
        ended.clear();
        if let Some(smart) = self.smart(controller) {
            smart.ended = ended;
        }
        self.perform(controller, actions, now);
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
        self.perform(controller, actions, now);
    }

    pub(super) fn flush_due(&mut self, controller: usize, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        let mut again = None;
        if let Some(smart) = self.smart(controller) {
            smart.flush_is_set = false;
            smart.cache.flush(&mut actions);
            // No new dirty data can appear while nothing is in flight: the next operation sets the clock again.
            if smart.operations > 0 || !actions.is_empty() || smart.cache.is_partly_flushed() {
                again = smart.set_flush_clock(now);
            }
        }
        if let Some(at) = again {
            self.agenda.push(at, Event::Flush(controller));
        }
        self.perform(controller, actions, now);
    }

    /// Moves an operation's data between host and controller.
    fn transfer(&mut self, controller: usize, operation: u32, now: Nanos, actions: &mut Vec<CacheAction>) {
        let sectors = self.flights[operation].request.sectors.0;
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
        self.perform(controller, actions, now);
    }
}
