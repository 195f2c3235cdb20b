//! Fuzzing one target in this process, which may not survive it.

use crate::Options;
use anyhow::{Context, Result};
use iopilot_fuzz::{FuzzTarget, Mutator, seeds};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The most inputs that are kept for further damage.
const POOL: usize = 4096;
/// Address space of a worker in bytes: no small input should need nearly that.
const MEMORY: u64 = 4 << 30;
/// Bytes before the input: its number and its length.
const HEADER: usize = 16;

/// Tries inputs until there were enough, writing each to `current` first.
pub(crate) fn run(options: &Options, target: &FuzzTarget, current: &Path) -> Result<()> {
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).context("limiting memory")?;
    let file = File::create(current).with_context(|| current.display().to_string())?;
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut mutator = Mutator::new(options.seed ^ hash(target.name.as_bytes()));
    let seeds = seeds(target.name);
    let mut pool = seeds.clone();
    let mut answers = HashSet::new();
    let (mut tried, mut block) = (0, Vec::new());
    while tried < options.iterations && Instant::now() < end {
        // The seeds first, as they are.
        let input = match seeds.get(tried as usize) {
            Some(seed) => seed.clone(),
            None => mutator.make(&pool),
        };
        block.clear();
        block.extend(u64::to_le_bytes(tried));
        block.extend((input.len() as u64).to_le_bytes());
        block.extend(&input);
        file.write_all_at(&block, 0)?;
        let answer = kind(&target.check(&input));
        if answers.insert(answer) && pool.len() < POOL {
            pool.push(input);
        }
        tried += 1;
    }
    println!("{tried} inputs, {} kinds of answer", answers.len());
    Ok(())
}

/// The input that was being tried, and its number.
pub(crate) fn current(path: &Path) -> Option<(u64, Vec<u8>)> {
    let block = fs::read(path).ok()?;
    let number = u64::from_le_bytes(*block.first_chunk()?);
    let length = u64::from_le_bytes(*block.get(8..)?.first_chunk()?);
    let input = block.get(HEADER..HEADER.checked_add(usize::try_from(length).ok()?)?)?;
    Some((number, input.to_vec()))
}

/// The kind of an answer: without numbers, and of an error only what was expected.
fn kind(answer: &str) -> u64 {
    let text = answer.split_once(", expected ").map_or(answer, |(_, expected)| expected);
    let bare: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_digit()).take(200).collect();
    hash(&bare)
}

/// FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
