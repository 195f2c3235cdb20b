//! [`BlockDesign`]: which members share a stripe under declustered parity.

use iopilot_block::InputError;

/// Tuples of members, one for each stripe. In a balanced incomplete block design all members are in equally many
/// tuples, and so are all pairs. So the survivors share the work of a rebuild evenly (Holland and Gibson 1992).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDesign {
    members: u32,
    tuples: Vec<Vec<u32>>,
}

/// Difference sets: the number of members and one tuple. The other tuples follow by adding 1 to each element (modulo
/// the number of members). All pairs of members meet equally often.
const DIFFERENCE_SETS: [(u32, &[u32]); 8] = [
    (7, &[0, 1, 3]),
    (7, &[0, 1, 2, 4]),
    (11, &[1, 3, 4, 5, 9]),
    (13, &[0, 1, 3, 9]),
    (15, &[0, 1, 2, 4, 5, 8, 10]),
    (21, &[3, 6, 7, 12, 14]),
    (31, &[1, 5, 11, 24, 25, 27]),
    (37, &[1, 7, 9, 10, 12, 16, 26, 33, 34]),
];

/// The most tuples of a design.
const MAX_TUPLES: u64 = 10_000;
/// The most units of its full table, which contains each tuple once for each position of the parity.
const MAX_UNITS: u64 = 1 << 22;

impl BlockDesign {
    /// A design from its table of tuples.
    ///
    /// # Errors
    /// If the tuples differ in size, name a member twice or an unknown one, or if the members are not in equally many
    /// tuples.
    pub fn new(members: u32, tuples: Vec<Vec<u32>>) -> Result<Self, InputError> {
        let wrong = |tuple: &[u32], expected: String| InputError::new("design", format!("{tuple:?}"), expected);
        let group = tuples.first().map_or(0, Vec::len);
        if group < 2 || tuples.len() as u64 > MAX_TUPLES {
            let got = format!("{} tuples of {group}", tuples.len());
            return Err(InputError::new("design", got, format!("1 to {MAX_TUPLES} tuples of two members or more")));
        }
        let units = tuples.len() as u64 * (group as u64).pow(2);
        if units > MAX_UNITS {
            let got = format!("{} tuples of {group}", tuples.len());
            let expected = format!("tuples times the square of their size to be at most {MAX_UNITS}");
            return Err(InputError::new("design", got, expected));
        }
        let mut uses = vec![0u32; members as usize];
        for tuple in &tuples {
            if tuple.len() != group {
                return Err(wrong(tuple, format!("{group} members, as in the first tuple")));
            }
            for (i, &member) in tuple.iter().enumerate() {
                let Some(count) = uses.get_mut(member as usize) else {
                    return Err(wrong(tuple, format!("members from 0 to {}", members.saturating_sub(1))));
                };
                if tuple[..i].contains(&member) {
                    return Err(wrong(tuple, "each member once: units of a stripe never share one".into()));
                }
                *count += 1;
            }
        }
        let most = uses.iter().copied().max().unwrap_or_default();
        match uses.iter().position(|&count| count != most) {
            None => Ok(Self { members, tuples }),
            Some(member) => Err(InputError::new(
                "design",
                format!("member {member} in {} tuples", uses[member]),
                format!("each member in the same number of tuples, here {most}"),
            )),
        }
    }

    /// A balanced design for stripes of `group` units over `members`: from a difference set if one is known, or all
    /// subsets if these are few.
    ///
    /// # Errors
    /// If neither is possible.
    pub fn balanced(members: u32, group: u32) -> Result<Self, InputError> {
        let known = DIFFERENCE_SETS.iter().find(|(n, set)| *n == members && set.len() == group as usize);
        if let Some((n, set)) = known {
            let shifted = |by: u32| set.iter().map(|m| (m + by) % n).collect();
            return Self::new(members, (0..*n).map(shifted).collect());
        }
        if !(2..=members).contains(&group) {
            return Err(InputError::new("group", group.to_string(), format!("2 to {members} members")));
        }
        let subsets = (0..u64::from(group.min(members - group))).try_fold(1u64, |product, i| {
            let next = product.checked_mul(u64::from(members) - i)? / (i + 1);
            (next <= MAX_TUPLES).then_some(next)
        });
        if subsets.is_none() {
            let known: Vec<String> = DIFFERENCE_SETS.iter().map(|(n, set)| format!("{} of {n}", set.len())).collect();
            return Err(InputError::new(
                "group",
                format!("{group} of {members}"),
                format!("a table of tuples (`design`), or one of {}", known.join(", ")),
            ));
        }
        let mut tuples = Vec::new();
        let mut tuple: Vec<u32> = (0..group).collect();
        loop {
            tuples.push(tuple.clone());
            // The next subset in lexicographic order.
            let Some(i) = (0..group as usize).rev().find(|&i| tuple[i] < members - group + i as u32) else { break };
            tuple[i] += 1;
            for j in i + 1..tuple.len() {
                tuple[j] = tuple[j - 1] + 1;
            }
        }
        Self::new(members, tuples)
    }

    /// Number of members.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// Members of each tuple.
    pub fn group(&self) -> u32 {
        self.tuples[0].len() as u32
    }

    /// The tuples.
    pub fn tuples(&self) -> &[Vec<u32>] {
        &self.tuples
    }

    /// How often each pair of members meets, if that is the same for all pairs.
    #[cfg(test)]
    fn pairs(&self) -> Option<u32> {
        let n = self.members as usize;
        let mut meetings = vec![0u32; n * n];
        for tuple in &self.tuples {
            for &a in tuple {
                for &b in tuple {
                    meetings[a as usize * n + b as usize] += 1;
                }
            }
        }
        let mut pairs = (0..n * n).filter(|i| i / n != i % n).map(|i| meetings[i]);
        let first = pairs.next()?;
        pairs.all(|count| count == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_designs_are_balanced() {
        for (members, set) in DIFFERENCE_SETS {
            let design = BlockDesign::balanced(members, set.len() as u32).unwrap();
            let k = set.len() as u32;
            assert_eq!(design.pairs(), Some(k * (k - 1) / (members - 1)), "{k} of {members}");
        }
        assert_eq!(BlockDesign::balanced(5, 4).unwrap().tuples().len(), 5, "Holland and Gibson's example");
        assert_eq!(BlockDesign::balanced(10, 4).unwrap().pairs(), Some(28), "all subsets");
    }

    #[test]
    fn a_wrong_table_is_named() {
        let error = |members, tuples: &[&[u32]]| {
            BlockDesign::new(members, tuples.iter().map(|t| t.to_vec()).collect()).unwrap_err().to_string()
        };
        assert!(error(3, &[&[0, 1], &[1, 1]]).contains("got [1, 1], expected each member once"));
        assert!(error(3, &[&[0, 1], &[1, 3]]).contains("members from 0 to 2"));
        assert!(error(3, &[&[0, 1], &[1, 2]]).contains("got member 0 in 1 tuples, expected each member in the same"));
        assert!(error(3, &[&[0, 1], &[0, 1, 2]]).contains("2 members, as in the first tuple"));
        let huge = BlockDesign::balanced(1024, 1023).unwrap_err().to_string();
        assert!(huge.contains("design: got 1024 tuples of 1023"), "{huge}");
        assert!(BlockDesign::balanced(40, 10).unwrap_err().to_string().contains("4 of 13"));
    }
}
