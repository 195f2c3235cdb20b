//! [`Link`]: data between host and drive, one transfer at a time in each direction (full duplex) or in both together.

use super::model::FlashHostModel;

#[derive(Clone, Debug)]
pub(super) struct Link {
    read_ns_per_byte: f64,
    write_ns_per_byte: f64,
    full_duplex: bool,
    /// When each direction is free: to the host, from the host.
    free: [u64; 2],
}

impl Link {
    pub(super) fn new(host: &FlashHostModel) -> Self {
        Self {
            read_ns_per_byte: host.read_ns_per_byte,
            write_ns_per_byte: host.write_ns_per_byte,
            full_duplex: host.full_duplex,
            free: [0; 2],
        }
    }

    fn occupy(&mut self, direction: usize, now: u64, time: u64) -> u64 {
        let end = self.free[direction].max(now) + time;
        self.free[direction] = end;
        if !self.full_duplex {
            self.free[1 - direction] = end;
        }
        end
    }

    /// The time of `bytes` to the host.
    pub(super) fn read_time(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.read_ns_per_byte).round() as u64
    }

    /// The time of `bytes` from the host.
    pub(super) fn write_time(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.write_ns_per_byte).round() as u64
    }

    /// When `bytes` that are ready now have reached the host.
    pub(super) fn send(&mut self, bytes: u64, now: u64) -> u64 {
        self.occupy(0, now, self.read_time(bytes))
    }

    /// When `bytes` that the host has ready now have reached the drive.
    pub(super) fn receive(&mut self, bytes: u64, now: u64) -> u64 {
        self.occupy(1, now, self.write_time(bytes))
    }
}
