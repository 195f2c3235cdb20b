//! Checks of a layout g4.

use super::layout::{G4Child, G4Entry, G4Layout};
use crate::disk::geometry::track::beyond;
use iopilot_block::InputError;

/// The most blocks.
const MOST: u64 = 1 << 48;

/// The greatest nesting depth of nodes.
const DEPTH: usize = 64;

/// The extent of a node: blocks, and the cylinders from the lowest to behind the highest, relative to its start.
#[derive(Clone, Copy)]
struct Extent {
    blocks: u64,
    low: i64,
    high: i64,
}

/// Checks the layout by itself; returns the number of places and of cylinders in the index.
pub(super) fn layout(g4: &G4Layout) -> Result<(u64, u32), InputError> {
    for (i, p) in g4.patterns.iter().enumerate() {
        if p.low > p.high || p.high >= p.per_turn || p.per_turn > 1 << 30 {
            let got = format!("{}, {}, {}", p.low, p.high, p.per_turn);
            return Err(InputError::new(format!("TP {i}"), got, "low sector <= high sector < sectors per track"));
        }
    }
    let mut extents = vec![None; g4.nodes.len()];
    let Some(root) = g4.nodes.len().checked_sub(1) else {
        return Err(InputError::new("IDX", "no node", "at least one; the last is the root"));
    };
    let whole = node(g4, root, 0, &mut extents)?;
    // Unreachable nodes are checked too, because they are also built.
    for i in 0..root {
        node(g4, i, 0, &mut extents)?;
    }
    if whole.low < 0 || whole.high > i64::from(g4.cylinders + beyond(g4.cylinders)) {
        let got = format!("cylinders {} to {}", whole.low, whole.high - 1);
        return Err(InputError::new("IDX", got, format!("cylinders 0 to {}", g4.cylinders - 1)));
    }
    slips(g4)?;
    remaps(g4)?;
    Ok((whole.blocks, whole.high as u32))
}

fn node(g4: &G4Layout, i: usize, depth: usize, extents: &mut [Option<Extent>]) -> Result<Extent, InputError> {
    if let Some(extent) = extents[i] {
        return Ok(extent);
    }
    if depth > DEPTH {
        return Err(InputError::new(format!("IDX {i}"), "a node inside itself", format!("at most {DEPTH} levels")));
    }
    if g4.nodes[i].is_empty() {
        return Err(InputError::new(format!("IDX {i}"), "no entries", "at least one"));
    }
    let mut all = Extent { blocks: 0, low: i64::MAX, high: i64::MIN };
    for (number, e) in g4.nodes[i].iter().enumerate() {
        let wrong = |name: &str, got: String, expected: String| {
            Err(InputError::new(format!("IDX {i}: entry {number}: {name}"), got, expected))
        };
        if e.first != all.blocks {
            return wrong("lbn", e.first.to_string(), format!("{}, where the entry before it ends", all.blocks));
        }
        if e.blocks == 0 || e.run_blocks == 0 || e.run_blocks > MOST || e.blocks > MOST {
            return wrong("len, runlen", format!("{}, {}", e.blocks, e.run_blocks), format!("1 to {MOST} blocks"));
        }
        if ![e.offset, e.turn].iter().all(|a| a.is_finite() && a.abs() < 1e6) {
            return wrong("off, alen", format!("{}, {}", e.offset, e.turn), "fractions of a turn".into());
        }
        let child = child(g4, i, number, e, depth, extents)?;
        let (repetitions, rest) = (e.run_blocks.div_ceil(e.blocks), e.run_blocks % e.blocks);
        let needed = if repetitions == 1 && rest > 0 { rest } else { e.blocks };
        if child.blocks < needed {
            let expected = format!("at most the {} blocks of what it repeats", child.blocks);
            return wrong("len", needed.to_string(), expected);
        }
        let step = i128::from(e.cylinders) * if e.run_cylinders < 0 { -1 } else { 1 };
        let last = i128::from(repetitions - 1) * step;
        let (low, high) = (i128::from(e.cylinder) + last.min(0), i128::from(e.cylinder) + last.max(0));
        if e.cylinders == 0 && repetitions > 1 || low < 0 || high >= i128::from(g4.cylinders + beyond(g4.cylinders)) {
            let got = format!("cylinders {low} to {high} in steps of {}", e.cylinders);
            return wrong("cyl, cyllen", got, format!("steps of at least 1 within {} cylinders", g4.cylinders));
        }
        all.blocks += e.run_blocks;
        if all.blocks > MOST {
            return wrong("runlen", e.run_blocks.to_string(), format!("at most {MOST} blocks in all"));
        }
        all.low = all.low.min(low as i64 + child.low);
        all.high = all.high.max(high as i64 + child.high);
    }
    extents[i] = Some(all);
    Ok(all)
}

fn child(
    g4: &G4Layout,
    i: usize,
    number: usize,
    e: &G4Entry,
    depth: usize,
    extents: &mut [Option<Extent>],
) -> Result<Extent, InputError> {
    let wrong = |name: &str, got: String, expected: String| {
        Err(InputError::new(format!("IDX {i}: entry {number}: {name}"), got, expected))
    };
    match e.child {
        G4Child::Node(n) if n < g4.nodes.len() => node(g4, n, depth + 1, extents),
        G4Child::Node(n) => wrong("child", n.to_string(), format!("a node below {}", g4.nodes.len())),
        G4Child::Track { head, .. } if head >= g4.heads => {
            wrong("head", head.to_string(), format!("a head below {}", g4.heads))
        }
        G4Child::Track { pattern, .. } => match g4.patterns.get(pattern) {
            Some(p) => Ok(Extent { blocks: u64::from(p.high - p.low) + 1, low: 0, high: 1 }),
            None => wrong("child", pattern.to_string(), format!("a track pattern below {}", g4.patterns.len())),
        },
    }
}

fn slips(g4: &G4Layout) -> Result<(), InputError> {
    let mut before = None;
    for &(place, n) in &g4.slips {
        if before.is_some_and(|b| place <= b) || n == 0 || n > MOST || place > MOST {
            let expected = "rising positions, each with a number of sectors";
            return Err(InputError::new("Slips", format!("{place}, {n}"), expected));
        }
        before = Some(place);
    }
    if g4.slips.iter().map(|s| u128::from(s.1)).sum::<u128>() > u128::from(MOST) {
        return Err(InputError::new("Slips", "sectors beyond number", format!("at most {MOST} in all")));
    }
    Ok(())
}

fn remaps(g4: &G4Layout) -> Result<(), InputError> {
    let mut spans: Vec<(u64, u64)> = Vec::with_capacity(g4.remaps.len());
    for r in &g4.remaps {
        let end = u64::from(r.sector) + u64::from(r.blocks);
        if r.blocks == 0 || end > u64::from(r.per_turn) || r.cylinder >= g4.cylinders || r.head >= g4.heads {
            let got = format!("{} blocks at {}/{}/{} of {}", r.blocks, r.cylinder, r.head, r.sector, r.per_turn);
            return Err(InputError::new("Remaps", got, "at least one block, within a track of the drive"));
        }
        if r.first > MOST {
            return Err(InputError::new("Remaps", r.first.to_string(), format!("a block below {MOST}")));
        }
        spans.push((r.first, r.first + u64::from(r.blocks)));
    }
    spans.sort_unstable();
    if let Some(pair) = spans.windows(2).find(|pair| pair[1].0 < pair[0].1) {
        return Err(InputError::new("Remaps", pair[1].0.to_string(), "each block once"));
    }
    Ok(())
}

/// Checks the remapped blocks against the drive's capacity.
pub(super) fn remapped(g4: &G4Layout, capacity: u64) -> Result<(), InputError> {
    match g4.remaps.iter().find(|r| r.first + u64::from(r.blocks) > capacity) {
        Some(beyond) => {
            let got = format!("{} blocks from {}", beyond.blocks, beyond.first);
            Err(InputError::new("Remaps", got, format!("blocks below {capacity}")))
        }
        None => Ok(()),
    }
}
