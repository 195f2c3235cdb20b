//! [`SeekFile`]: a table of measured seek times.
//!
//! An optional first line `Seek distances measured: n`, then lines `distance, ms`. A standard deviation may follow, and
//! in files for later drives also the time for writes.

use super::data_file::{DataFile, DataLine};
use super::fields::Given;
use iopilot_block::InputError;

/// A table of seek times.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekFile {
    /// Whether the first line gives the number of distances: shorter seeks are then interpolated from (0, 0).
    pub has_count: bool,
    /// Distances in cylinders, rising, and times in ms.
    pub reads: Vec<(u32, f64)>,
    /// The same for writes, if the file has them.
    pub writes: Option<Vec<(u32, f64)>>,
}

impl SeekFile {
    pub(super) fn read(given: &Given<'_>) -> Result<Self, InputError> {
        Self::of(&DataFile::open(given)?)
    }

    fn of(file: &DataFile) -> Result<Self, InputError> {
        let mut lines = file.lines().filter(|line| !line.text.is_empty()).peekable();
        let count = match lines.peek().and_then(|line| line.text.strip_prefix("Seek distances measured:")) {
            Some(count) => {
                let line = lines.next().expect("it was peeked at");
                Some(line.parse::<usize>("Seek distances measured", count, "a whole number")?)
            }
            None => None,
        };
        let (mut rows, mut last) = (0, None);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for line in lines {
            let (distance, read, write) = row(&line)?;
            rows += 1;
            // Of several times for one distance, the first is used.
            match last {
                Some(before) if distance < before => {
                    return Err(line.refuse("distance", &distance.to_string(), format!("more than {before}")));
                }
                Some(before) if distance == before => continue,
                _ => last = Some(distance),
            }
            reads.push((distance, read));
            writes.extend(write.map(|ms| (distance, ms)));
            if !writes.is_empty() && writes.len() != reads.len() {
                return Err(line.refuse("write time", line.text, "a fourth column on every line, or on none"));
            }
        }
        if reads.len() < 2 {
            return Err(file.refuse("distances", reads.len().to_string(), "at least two lines `distance, ms`"));
        }
        if let Some(count) = count.filter(|&count| count != rows) {
            let expected = format!("{count} lines, as the first line says");
            return Err(file.refuse("distances", rows.to_string(), expected));
        }
        let writes = (!writes.is_empty()).then_some(writes);
        Ok(Self { has_count: count.is_some(), reads, writes })
    }
}

/// Distance, ms, and ms for a write.
fn row(line: &DataLine<'_>) -> Result<(u32, f64, Option<f64>), InputError> {
    let columns: Vec<_> = line.text.split(',').map(str::trim).collect();
    let &[distance, read, ref rest @ ..] = columns.as_slice() else {
        return Err(line.refuse("seek time", line.text, "`distance, ms`"));
    };
    if rest.len() > 2 {
        return Err(line.refuse("seek time", line.text, "2 to 4 columns"));
    }
    let cylinders: u32 = line.parse("distance", distance, "a whole number of cylinders")?;
    if cylinders == 0 {
        return Err(line.refuse("distance", distance, "at least 1 cylinder"));
    }
    let ms = |text: &str| {
        let ms: f64 = line.parse("seek time", text, "milliseconds")?;
        let fits = (0.0..=1e6).contains(&ms);
        if fits { Ok(ms) } else { Err(line.refuse("seek time", text, "milliseconds, 0 to 1000000")) }
    };
    if let Some(deviation) = rest.first() {
        ms(deviation)?;
    }
    Ok((cylinders, ms(read)?, rest.get(1).map(|text| ms(text)).transpose()?))
}
