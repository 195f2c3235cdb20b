//! The SCSI commands that transfer blocks (SBC-4).

use iopilot_block::Op;

/// What the command with operation code `opcode` does; `None` where it transfers or frees no blocks.
pub(crate) fn op(opcode: u8) -> Option<Op> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        0x42 => Some(Op::Discard),
        _ => None,
    }
}
