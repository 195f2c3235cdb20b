//! The protocol between the ublk driver and its servers, as `include/uapi/linux/ublk_cmd.h` defines it.

/// The device that takes control commands.
pub(super) const CONTROL: &str = "/dev/ublk-control";
/// The most bytes of a request.
pub(super) const MAX_BYTES: u32 = 1 << 20;

/// How many bytes follow an io_uring command in its submission.
pub(super) const COMMAND_ROOM: usize = 80;

// The direction and the size are part of a command's number, as with ioctl.
const READ: u32 = 2;
const WRITE: u32 = 1;

const fn number(direction: u32, number: u32, size: usize) -> u32 {
    (direction << 30) | ((size as u32) << 16) | ((b'u' as u32) << 8) | number
}

/// Gets the properties of a device.
pub(super) const GET_DEV_INFO: u32 = number(READ, 0x02, ControlCommand::SIZE);
/// Makes a device, without a disk yet.
pub(super) const ADD_DEV: u32 = number(READ | WRITE, 0x04, ControlCommand::SIZE);
/// Removes a device, and waits until nobody has it open.
pub(super) const DEL_DEV: u32 = number(READ | WRITE, 0x05, ControlCommand::SIZE);
/// Removes a device, without waiting.
pub(super) const DEL_DEV_ASYNC: u32 = number(READ, 0x14, ControlCommand::SIZE);
/// Makes the disk, once every tag has been fetched for.
pub(super) const START_DEV: u32 = number(READ | WRITE, 0x06, ControlCommand::SIZE);
/// Removes the disk; what was fetched for comes back with an error.
pub(super) const STOP_DEV: u32 = number(READ | WRITE, 0x07, ControlCommand::SIZE);
/// Sets the properties of the disk.
pub(super) const SET_PARAMS: u32 = number(READ | WRITE, 0x08, ControlCommand::SIZE);

/// Waits for the first request of a tag.
pub(super) const FETCH: u32 = number(READ | WRITE, 0x20, IoCommand::SIZE);
/// Answers a tag's request, and waits for its next.
pub(super) const COMMIT_AND_FETCH: u32 = number(READ | WRITE, 0x21, IoCommand::SIZE);

/// Commands are numbered as above, which kernels know since 6.4.
const CMD_IOCTL_ENCODE: u64 = 1 << 6;

/// `struct ublksrv_ctrl_cmd`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlCommand {
    /// The device; [`ANY`](Self::ANY) for one that is to be made.
    pub(super) device: u32,
    /// Length of what lies at `address`.
    pub(super) length: u16,
    /// What the command takes or gives.
    pub(super) address: u64,
    /// Another argument.
    pub(super) data: u64,
}

impl ControlCommand {
    const SIZE: usize = 32;
    /// The first number that is free.
    pub(super) const ANY: u32 = u32::MAX;
    /// The command concerns no queue.
    const NO_QUEUE: u16 = u16::MAX;

    /// The bytes that the driver reads.
    pub(super) fn bytes(&self) -> [u8; COMMAND_ROOM] {
        let mut bytes = [0; COMMAND_ROOM];
        bytes[0..4].copy_from_slice(&self.device.to_ne_bytes());
        bytes[4..6].copy_from_slice(&Self::NO_QUEUE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.length.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.data.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_ctrl_dev_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    /// Its number.
    pub(super) device: u32,
    /// The queue depth.
    pub(super) depth: u16,
    /// A number that the driver keeps for the server, unread.
    pub(super) token: u64,
}

impl DeviceInfo {
    /// Length.
    pub(super) const SIZE: usize = 64;
    /// Tags are numbers of 12 bits.
    pub(super) const MAX_DEPTH: u32 = 4096;

    /// The bytes that the driver reads.
    pub(super) fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let queues = 1u16;
        bytes[0..2].copy_from_slice(&queues.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.depth.to_ne_bytes());
        bytes[8..12].copy_from_slice(&MAX_BYTES.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.device.to_ne_bytes());
        bytes[24..32].copy_from_slice(&CMD_IOCTL_ENCODE.to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.token.to_ne_bytes());
        bytes
    }

    /// Parses the bytes that the driver wrote.
    pub(super) fn parse(bytes: &[u8; Self::SIZE]) -> Self {
        Self {
            device: u32::from_ne_bytes(part(bytes, 12)),
            depth: u16::from_ne_bytes(part(bytes, 2)),
            token: u64::from_ne_bytes(part(bytes, 32)),
        }
    }
}

/// The bytes of a number that stands at `at`.
fn part<const N: usize>(bytes: &[u8; DeviceInfo::SIZE], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

/// `struct ublk_params`: the properties of the disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// Its size.
    pub(super) sectors: u64,
    /// Whether it is rotational.
    pub(super) rotational: bool,
    /// The unit of discards, bytes.
    pub(super) discard_unit: u32,
}

impl Parameters {
    /// Length.
    pub(super) const SIZE: usize = 64;
    const TYPE_BASIC: u32 = 1 << 0;
    const TYPE_DISCARD: u32 = 1 << 1;
    const ATTR_ROTATIONAL: u32 = 1 << 1;
    const ATTR_VOLATILE_CACHE: u32 = 1 << 2;
    const BLOCK_SHIFT: u8 = 9;

    /// The bytes that the driver reads. They declare a volatile cache without `FUA`, so a `FUA` write comes as a write
    /// and a flush.
    pub(super) fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let rotational = if self.rotational { Self::ATTR_ROTATIONAL } else { 0 };
        let most = u32::MAX >> Self::BLOCK_SHIFT;
        let segments = 1u16;
        bytes[0..4].copy_from_slice(&(Self::SIZE as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&(Self::TYPE_BASIC | Self::TYPE_DISCARD).to_ne_bytes());
        bytes[8..12].copy_from_slice(&(rotational | Self::ATTR_VOLATILE_CACHE).to_ne_bytes());
        // Logical and physical block, best and least request: those of loop devices.
        bytes[12..16].fill(Self::BLOCK_SHIFT);
        bytes[16..20].copy_from_slice(&(MAX_BYTES >> Self::BLOCK_SHIFT).to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.sectors.to_ne_bytes());
        bytes[44..48].copy_from_slice(&self.discard_unit.to_ne_bytes());
        bytes[48..52].copy_from_slice(&most.to_ne_bytes());
        bytes[52..56].copy_from_slice(&most.to_ne_bytes());
        bytes[56..58].copy_from_slice(&segments.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_io_cmd`, of the one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct IoCommand {
    /// Which request.
    pub(super) tag: u16,
    /// Its result: bytes, or a negative error.
    pub(super) result: i32,
    /// Where the data of the tag's next request are moved.
    pub(super) address: u64,
}

impl IoCommand {
    const SIZE: usize = 16;

    /// The bytes that the driver reads.
    pub(super) fn bytes(&self) -> [u8; COMMAND_ROOM] {
        let mut bytes = [0; COMMAND_ROOM];
        bytes[2..4].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.result.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_io_desc`: a request, as it lies in the memory that is shared with the driver.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) op_flags: u32,
    pub(super) sectors: u32,
    pub(super) first: u64,
    pub(super) address: u64,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UblkRequest {
    /// To read.
    Read,
    /// To write; and to have it durable, where that is set.
    Write {
        /// `REQ_FUA`.
        durable: bool,
    },
    /// To make durable what was written.
    Flush,
    /// To discard, or to make zero.
    Discard,
    /// Any other operation.
    Unknown,
}

impl Descriptor {
    const FUA: u32 = 1 << 13;

    /// What it asks for.
    pub(super) fn request(&self) -> UblkRequest {
        match self.op_flags & 0xff {
            0 => UblkRequest::Read,
            1 => UblkRequest::Write { durable: (self.op_flags & Self::FUA) != 0 },
            2 => UblkRequest::Flush,
            3 | 5 => UblkRequest::Discard,
            _ => UblkRequest::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u16_at(bytes: &[u8], at: usize) -> u16 {
        u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap())
    }

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn u64_at(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn commands_have_the_numbers_of_the_header() {
        // As a C compiler has them, of `UBLK_U_CMD_*` and `UBLK_U_IO_*`.
        assert_eq!(
            [GET_DEV_INFO, ADD_DEV, DEL_DEV, START_DEV, STOP_DEV, SET_PARAMS],
            [0x8020_7502, 0xc020_7504, 0xc020_7505, 0xc020_7506, 0xc020_7507, 0xc020_7508]
        );
        assert_eq!(DEL_DEV_ASYNC, 0x8020_7514);
        assert_eq!([FETCH, COMMIT_AND_FETCH], [0xc010_7520, 0xc010_7521]);
    }

    #[test]
    fn commands_lie_as_the_driver_reads_them() {
        let bytes = ControlCommand { device: 3, length: 64, address: 0x1234_5678_9abc, data: 77 }.bytes();
        assert_eq!((u32_at(&bytes, 0), u16_at(&bytes, 4), u16_at(&bytes, 6)), (3, 0xffff, 64));
        assert_eq!((u64_at(&bytes, 8), u64_at(&bytes, 16)), (0x1234_5678_9abc, 77));
        assert!(bytes[24..].iter().all(|&byte| byte == 0));
        let bytes = IoCommand { tag: 4095, result: -5, address: 1 << 40 }.bytes();
        assert_eq!((u16_at(&bytes, 0), u16_at(&bytes, 2), u64_at(&bytes, 8)), (0, 4095, 1 << 40));
        assert_eq!(u32_at(&bytes, 4) as i32, -5);
    }

    #[test]
    fn a_device_is_told_and_read_back() {
        let info = DeviceInfo { device: 7, depth: 200, token: 0x0102_0304_0506_0708 };
        let bytes = info.bytes();
        assert_eq!((u16_at(&bytes, 0), u16_at(&bytes, 2), u32_at(&bytes, 8)), (1, 200, 1 << 20));
        assert_eq!((u32_at(&bytes, 12), u64_at(&bytes, 24), u64_at(&bytes, 32)), (7, 64, info.token));
        assert_eq!(DeviceInfo::parse(&bytes), info);
    }

    #[test]
    fn a_disk_is_told_as_its_parameters() {
        let bytes = Parameters { sectors: 12_345, rotational: true, discard_unit: 4096 }.bytes();
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 4), u32_at(&bytes, 8)), (64, 0b11, 0b110));
        assert_eq!((bytes[12..16].to_vec(), u32_at(&bytes, 16), u64_at(&bytes, 24)), (vec![9; 4], 2048, 12_345));
        assert_eq!((u32_at(&bytes, 40), u32_at(&bytes, 44), u16_at(&bytes, 56)), (0, 4096, 1));
        assert_eq!((u32_at(&bytes, 48), u32_at(&bytes, 52)), (0x7f_ffff, 0x7f_ffff));
        let flash = Parameters { sectors: 8, rotational: false, discard_unit: 4096 }.bytes();
        assert_eq!(u32_at(&flash, 8), 0b100);
    }

    #[test]
    fn requests_are_told_apart() {
        assert_eq!(size_of::<Descriptor>(), 24);
        assert_eq!(std::mem::offset_of!(Descriptor, first), 8);
        let of = |op_flags| Descriptor { op_flags, sectors: 8, first: 0, address: 0 }.request();
        assert_eq!(
            (of(0), of(1), of(2)),
            (UblkRequest::Read, UblkRequest::Write { durable: false }, UblkRequest::Flush)
        );
        assert_eq!((of(3), of(5), of(5 | 1 << 15)), (UblkRequest::Discard, UblkRequest::Discard, UblkRequest::Discard));
        assert_eq!((of(1 | 1 << 13), of(4)), (UblkRequest::Write { durable: true }, UblkRequest::Unknown));
    }
}
