//! Checks the values of `[ssd]`.

use super::{SsdBufferSpec, SsdFtlSpec, SsdHostSpec, SsdNandSpec, SsdSpec};
use crate::spec::bounds::{SpecCheck, within};
use iopilot_block::InputError;

fn count(key: &str, value: u32, high: u32, what: &str) -> SpecCheck {
    within(&format!("ssd.{key}"), value.into(), 1.0, high.into(), what)
}

fn us(key: &str, value: f64) -> SpecCheck {
    within(&format!("ssd.{key}"), value, 0.0, 1e6, "microseconds")
}

fn rate(key: &str, value: f64) -> SpecCheck {
    within(&format!("ssd.{key}"), value, 0.001, 1e6, "megabytes per second")
}

fn refuse(key: &str, value: impl std::fmt::Display, want: impl Into<String>) -> SpecCheck {
    Err(InputError::new(format!("ssd.{key}"), value.to_string(), want.into()))
}

impl SsdSpec {
    pub(in crate::spec) fn check(&self) -> SpecCheck {
        within("ssd.capacity_sectors", self.capacity_sectors as f64, 1.0, 1e15, "sectors")?;
        self.nand.check()?;
        self.host.check()?;
        self.check_ftl(&self.ftl)?;
        self.check_buffer(&self.buffer)
    }

    /// Blocks of a die, and pages that it programs together.
    fn blocks_and_pages(&self) -> (u32, u32) {
        let n = &self.nand;
        if n.multi_plane { (n.blocks_per_plane, n.planes_per_die) } else { (n.blocks_per_plane * n.planes_per_die, 1) }
    }

    fn check_ftl(&self, f: &SsdFtlSpec) -> SpecCheck {
        let n = &self.nand;
        within("ssd.ftl.unit_kib", f.unit_kib.into(), 1.0, 32.0, "KiB")?;
        if n.page_kib % f.unit_kib != 0 {
            return refuse("ftl.unit_kib", f.unit_kib, format!("a divisor of the {} KiB of a page", n.page_kib));
        }
        if f.unit_kib * 2 % n.codeword_sectors != 0 {
            let want = format!("a divisor of the {} sectors of a unit", f.unit_kib * 2);
            return refuse("nand.codeword_sectors", n.codeword_sectors, want);
        }
        us("ftl.placement_us", f.placement_us)?;
        let (blocks, pages) = self.blocks_and_pages();
        within("ssd.ftl.gc_low_blocks", f.gc_low_blocks.into(), 2.0, 10_000.0, "blocks")?;
        let most = blocks.saturating_sub(4);
        if f.gc_high_blocks < f.gc_low_blocks || f.gc_high_blocks > most {
            let want = format!("blocks, not below gc_low_blocks, at most {most}");
            return refuse("ftl.gc_high_blocks", f.gc_high_blocks, want);
        }
        if f.copy_back && f.unit_kib != n.page_kib {
            return refuse("ftl.copy_back", "true", "false where a page holds several units");
        }
        if let Some(spread) = f.wear_spread {
            count("ftl.wear_spread", spread, 1_000_000, "erases")?;
        }
        let row = u64::from(pages) * u64::from(n.page_kib / f.unit_kib);
        let dies = u64::from(n.channels) * u64::from(n.chips_per_channel) * u64::from(n.dies_per_chip);
        let block = row * u64::from(n.pages_per_block);
        if block > 1 << 20 {
            return refuse("nand.pages_per_block", n.pages_per_block, "at most 1048576 units in a block of all planes");
        }
        if dies * u64::from(blocks) > 1 << 22 {
            return refuse("nand.blocks_per_plane", n.blocks_per_plane, "at most 4194304 blocks in all");
        }
        if dies * u64::from(blocks) * block >= u64::from(u32::MAX) {
            return refuse("ftl.unit_kib", f.unit_kib, "so much that there are fewer than 2^32 units");
        }
        // Open blocks and blocks kept erased are excluded, and so is a row of each block, which moves may leave unused.
        let used = dies * u64::from(blocks - f.gc_high_blocks - 2) * (block - row);
        let room = used * u64::from(f.unit_kib) * 2;
        if self.capacity_sectors > room {
            return refuse(
                "capacity_sectors",
                self.capacity_sectors,
                format!("at most {room}, with spare blocks for garbage collection"),
            );
        }
        Ok(())
    }

    fn check_buffer(&self, b: &SsdBufferSpec) -> SpecCheck {
        let (_, pages) = self.blocks_and_pages();
        let rows = 2 * u64::from(pages) * u64::from(self.nand.page_kib);
        within("ssd.buffer.size_kib", b.size_kib as f64, rows as f64, 1_048_576.0, "KiB, two rows of pages at least")?;
        let most = b.size_kib - rows;
        within(
            "ssd.buffer.keep_kib",
            b.keep_kib as f64,
            0.0,
            most as f64,
            "KiB, two rows of pages less than the buffer",
        )
    }
}

impl SsdNandSpec {
    fn check(&self) -> SpecCheck {
        count("nand.channels", self.channels, 1024, "channels")?;
        count("nand.chips_per_channel", self.chips_per_channel, 1024, "chips")?;
        count("nand.dies_per_chip", self.dies_per_chip, 64, "dies")?;
        count("nand.planes_per_die", self.planes_per_die, 64, "planes")?;
        count("nand.blocks_per_plane", self.blocks_per_plane, 1_000_000, "blocks")?;
        within("ssd.nand.pages_per_block", self.pages_per_block.into(), 2.0, 100_000.0, "pages")?;
        count("nand.page_kib", self.page_kib, 1024, "KiB")?;
        count("nand.codeword_sectors", self.codeword_sectors, 64, "sectors")?;
        let bits = self.cell.bits();
        for (key, times) in [("read_us", &self.read_us), ("program_us", &self.program_us)] {
            if times.len() != 1 && times.len() != bits {
                return refuse(
                    &format!("nand.{key}"),
                    format!("{} times", times.len()),
                    format!("one time, or {bits} for the bits of a cell"),
                );
            }
            for &time in times {
                within(&format!("ssd.nand.{key}"), time, 0.001, 1e6, "microseconds")?;
            }
        }
        within("ssd.nand.erase_us", self.erase_us, 0.001, 1e7, "microseconds")?;
        rate("nand.channel_rate_mb_s", self.channel_rate_mb_s)?;
        if let Some(time) = self.suspend_us {
            us("nand.suspend_us", time)?;
        }
        Ok(())
    }
}

impl SsdHostSpec {
    fn check(&self) -> SpecCheck {
        rate("host.read_rate_mb_s", self.read_rate_mb_s)?;
        rate("host.write_rate_mb_s", self.write_rate_mb_s)?;
        count("host.queues", self.queues.into(), 65_535, "queues")?;
        count("host.queue_depth", self.queue_depth, 65_536, "requests")?;
        us("host.command_us", self.command_us)?;
        us("host.read_latency_us", self.read_latency_us)?;
        us("host.write_latency_us", self.write_latency_us)
    }
}
