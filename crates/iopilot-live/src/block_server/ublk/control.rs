//! [`UblkControl`]: the commands that make and remove ublk devices.

use super::abi::{self, ControlCommand, DeviceInfo, Parameters};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Rings whose submissions have room for a command.
pub(super) type CommandRing = IoUring<squeue::Entry128, cqueue::Entry>;

const BUFFER: usize = 64;

/// The driver's control device.
pub(super) struct UblkControl {
    ring: CommandRing,
    device: File,
    /// The argument of a command, or room for its result. It is declared after the ring, so that no command in flight
    /// outlives it.
    buffer: Box<[u8; BUFFER]>,
}

impl UblkControl {
    /// Opens it.
    pub(super) fn open() -> io::Result<Self> {
        let device = File::options().read(true).write(true).open(abi::CONTROL)?;
        Ok(Self { ring: CommandRing::builder().build(4)?, device, buffer: Box::new([0; BUFFER]) })
    }

    /// Makes a device of one queue; its number is the first that is free.
    pub(super) fn add(&mut self, depth: u16, token: u64) -> io::Result<u32> {
        *self.buffer = DeviceInfo { device: ControlCommand::ANY, depth, token }.bytes();
        self.command(abi::ADD_DEV, ControlCommand::ANY, DeviceInfo::SIZE, 0)?;
        Ok(DeviceInfo::parse(&self.buffer).device)
    }

    /// What device `number` is.
    pub(super) fn info(&mut self, number: u32) -> io::Result<DeviceInfo> {
        self.command(abi::GET_DEV_INFO, number, DeviceInfo::SIZE, 0)?;
        Ok(DeviceInfo::parse(&self.buffer))
    }

    /// Sets the properties of its disk.
    pub(super) fn set_parameters(&mut self, number: u32, parameters: &Parameters) -> io::Result<()> {
        *self.buffer = parameters.bytes();
        self.command(abi::SET_PARAMS, number, Parameters::SIZE, 0)
    }

    /// Makes its disk, which this process serves. Every tag must have been fetched for; requests come before this
    /// returns.
    pub(super) fn start(&mut self, number: u32) -> io::Result<()> {
        self.command(abi::START_DEV, number, 0, u64::from(std::process::id()))
    }

    /// Removes its disk, once all requests in flight have been answered.
    pub(super) fn stop(&mut self, number: u32) -> io::Result<()> {
        self.command(abi::STOP_DEV, number, 0, 0)
    }

    /// Removes the device as soon as it is closed. Does not wait for that where the kernel allows it.
    pub(super) fn delete(&mut self, number: u32) -> io::Result<()> {
        match self.command(abi::DEL_DEV_ASYNC, number, 0, 0) {
            Ok(()) => Ok(()),
            // Kernels before 6.9 do not know it.
            Err(_) => self.command(abi::DEL_DEV, number, 0, 0),
        }
    }

    /// Issues a command that uses `length` bytes of the buffer, and waits for its end.
    fn command(&mut self, opcode: u32, device: u32, length: usize, data: u64) -> io::Result<()> {
        let address = if length == 0 { 0 } else { self.buffer.as_mut_ptr() as u64 };
        let command = ControlCommand { device, length: length as u16, address, data };
        let entry = opcode::UringCmd80::new(types::Fd(self.device.as_raw_fd()), opcode).cmd(command.bytes()).build();
        // SAFETY: the driver reads and writes at most the buffer, which outlives the ring.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
            if let Some(done) = self.ring.completion().next() {
                return match done.result() {
                    error @ ..0 => Err(io::Error::from_raw_os_error(-error)),
                    _ => Ok(()),
                };
            }
        }
    }
}
