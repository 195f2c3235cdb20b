//! [`SingleDrive`]: a drive on a bus of its own behind a controller that takes no time.

use super::{Drive, DriveModel};
use crate::{MessageKind, Signal, Target};
use iopilot_block::{Nanos, Positions};
use iopilot_device::{Completion, Device, DeviceRequest};
use std::collections::VecDeque;

/// A drive with a bus of its own. Arbitration and messages take no time. A block takes as long as on the slowest part
/// of its path.
#[derive(Clone, Debug)]
pub struct SingleDrive {
    drive: Drive,
    /// Whether the bus is owned, and whether the drive has asked for it.
    owned: bool,
    asked: bool,
    /// Commands that came while the drive had the bus.
    inbox: VecDeque<DeviceRequest>,
    signals: Vec<Signal>,
    done: VecDeque<Completion>,
}

impl SingleDrive {
    /// The drive of a model.
    pub fn new(model: DriveModel) -> Self {
        let depth = model.queue_depth as usize + 1;
        Self {
            drive: Drive::new(model),
            owned: false,
            asked: false,
            inbox: VecDeque::with_capacity(depth),
            signals: Vec::with_capacity(8),
            done: VecDeque::with_capacity(depth),
        }
    }

    /// The drive.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// Answers the signals of the drive until there are none.
    fn answer(&mut self, now: Nanos) {
        let mut at = 0;
        while at < self.signals.len() {
            match self.signals[at] {
                Signal::Arbitrate => self.asked = true,
                Signal::Release => self.owned = false,
                Signal::Message(message) => {
                    if message.kind == MessageKind::Complete {
                        let service = self.drive.service(message.id);
                        self.done.push_back(Completion { id: message.id, at: now, service });
                    }
                    self.drive.acknowledged(message, now, &mut self.signals);
                }
            }
            at += 1;
            if at < self.signals.len() || self.owned {
                continue;
            }
            // The drive has the higher slot, so it gets the bus before new commands.
            if std::mem::take(&mut self.asked) {
                self.owned = true;
                self.drive.granted(now, &mut self.signals);
            } else if let Some(request) = self.inbox.pop_front() {
                self.owned = true;
                self.drive.submit(request, now, &mut self.signals);
            }
        }
        self.signals.clear();
    }

    fn run(&mut self, now: Nanos) {
        while let Some(at) = self.drive.next_event().filter(|&at| at <= now) {
            self.drive.advance(at, &mut self.signals);
            self.answer(at);
        }
    }
}

impl Device for SingleDrive {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.run(now);
        if self.owned {
            return self.inbox.push_back(request);
        }
        self.owned = true;
        self.drive.submit(request, now, &mut self.signals);
        self.answer(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.done.front().map(|completion| completion.at).or_else(|| self.drive.next_event())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run(now);
        out.extend(self.done.drain(..));
    }

    fn capacity(&self) -> u64 {
        self.drive.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.drive.queue_depth()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        Some(self.as_positions())
    }

    fn respin(&mut self, revolutions: f64) {
        self.drive.respin(revolutions);
    }
}
