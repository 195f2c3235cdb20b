//! [`Health`]: which rows of which members cannot be read.

/// The lost rows of each member. A member that is being rebuilt is intact up to some row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The first lost row, by member.
    lost_from: Vec<u64>,
    degraded: bool,
}

impl Health {
    /// All `members` are intact.
    pub fn whole(members: u32) -> Self {
        Self { lost_from: vec![u64::MAX; members as usize], degraded: false }
    }

    /// Marks all of `member` as lost.
    pub fn lose(&mut self, member: u32) {
        self.rebuilt_to(member, 0);
    }

    /// Marks the rows of `member` before `row` as rebuilt.
    pub fn rebuilt_to(&mut self, member: u32, row: u64) {
        self.lost_from[member as usize] = row;
        self.degraded = self.lost_from.iter().any(|&row| row < u64::MAX);
    }

    /// Marks `member` as intact.
    pub fn restore(&mut self, member: u32) {
        self.rebuilt_to(member, u64::MAX);
    }

    /// Whether any row is lost.
    pub fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// Whether this row of this member is lost.
    pub fn is_lost(&self, member: u32, row: u64) -> bool {
        self.degraded && row >= self.lost_from[member as usize]
    }

    /// Members with lost rows.
    pub fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.lost_from).filter(|(_, row)| **row < u64::MAX).map(|(member, _)| member)
    }
}
