//! [`ChangeJudge`]: whether another scheduler is worth the change (GF 4.4.3).

use crate::limiter::{ChangeLimit, Limiter};
use serde::{Deserialize, Serialize};

/// When to change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// How much better a candidate must be after paying for the change, as a share of the present cost.
    pub margin: f64,
    /// The number of consecutive changes that pin the default.
    pub changes_in_a_row: u32,
    /// The number of consecutive checks that would not change the scheduler and so release the default.
    pub quiet_checks: u32,
    /// How sure the gain must be, from 0 to 1; `None` for no such condition.
    pub confidence: Option<f64>,
    /// The largest error of the predicted cost that allows a change, as a share; `None` for no such condition.
    pub max_error: Option<f64>,
}

impl Rule {
    /// The thesis' rule, exactly: 5 %, 5 changes, 7 checks (GF 4.4.3).
    pub const THESIS: Self =
        Self { margin: 0.05, changes_in_a_row: 5, quiet_checks: 7, confidence: None, max_error: None };

    /// The thesis' rule with two more conditions: the gain is 95 % sure, and the model's error is at most 20 %.
    pub const GUARDED: Self = Self { confidence: Some(0.95), max_error: Some(0.20), ..Self::THESIS };
}

/// The facts that a decision is based on.
pub(crate) struct Situation<'a> {
    /// The cost of each candidate; less is better.
    pub(crate) costs: &'a [f64],
    /// The candidate in use.
    pub(crate) current: usize,
    /// The administrator's default.
    pub(crate) default: usize,
    /// What a change would add to the cost.
    pub(crate) change: f64,
    /// How sure it is that a candidate costs less than `1 - margin` of the present cost. Called only if the rule needs
    /// it.
    pub(crate) confidence: &'a dyn Fn(usize) -> Option<f64>,
    /// The error of the predicted cost of the scheduler in use, as a share of the measured cost.
    pub(crate) error: Option<f64>,
}

/// Why a decision was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum DecisionReason {
    /// No request completed, so there is nothing to compare.
    Idle,
    /// Processes started or exited: a window with parts of two loads represents neither.
    Unsettled,
    /// No candidate is better.
    Best,
    /// A candidate is better, but by less than the margin and the cost of the change.
    TooSmall {
        /// By what share of the present cost it is better, before the change is paid for.
        gain: f64,
    },
    /// The gain may be noise.
    NotSure {
        /// By what share it seems to be better.
        gain: f64,
        /// How sure that is; `None` where there were too few requests to tell.
        confidence: Option<f64>,
    },
    /// The model's times differ from the measured ones: it is not trusted.
    ModelOff {
        /// By what share.
        error: Option<f64>,
    },
    /// A candidate is better by more than the margin and the cost of the change.
    Better {
        /// By what share.
        gain: f64,
    },
    /// The last change made things worse, so it is taken back.
    Undelivered {
        /// The predicted gain, as a share.
        promised: f64,
        /// The measured gain, as a share.
        measured: f64,
    },
    /// The scheduler in use has degraded: it costs more than twice its own trial. It is reinstalled.
    #[serde(alias = "astray")]
    Degraded {
        /// How many times its trial's cost.
        times: f64,
    },
    /// A candidate gets a trial on the disk.
    Trial {
        /// By what share of the time it is expected to be better.
        gain: f64,
        /// How long the trial lasts at first, in seconds.
        seconds: f64,
    },
    /// The candidate on trial proved better: it is kept.
    Adopted {
        /// By what share of the time it is better.
        gain: f64,
    },
    /// The candidate on trial did not prove better: the scheduler before is put back.
    Aborted {
        /// By what share of the time it is better, or worse where negative.
        gain: f64,
    },
    /// An installation under load did not do what it does before a load, so it is repeated.
    Retry {
        /// The number of the attempt.
        attempt: u32,
    },
    /// A trial on the disk would pay, but trials have taken their share of the time.
    Budget,
    /// The scheduler in use was put in place a moment ago, or is on trial.
    Settling,
    /// Nothing is in flight: the scheduler that suits the loads seen so far is put in place before the next one.
    Home,
    /// Schedulers were changed too often in a row.
    TooManyChanges,
    /// The default is pinned.
    Pinned {
        /// How many more consecutive checks that would not change the scheduler it takes to release the default.
        left: u32,
    },
}

/// What to do, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// The scheduler stays.
    Keep(DecisionReason),
    /// Another scheduler replaces it.
    Change {
        /// Which candidate.
        to: usize,
        /// Why.
        reason: DecisionReason,
    },
}

/// Decides, check after check.
#[derive(Clone, Debug)]
pub(crate) struct ChangeJudge {
    rule: Rule,
    limiter: Limiter,
    /// The candidate that would be in use if the default were not pinned. The thesis' simulated disks go on changing
    /// their schedulers (GF 4.4.3), so a candidate that stays the best predicts no further change.
    would_be: Option<usize>,
}

impl ChangeJudge {
    /// A judge before its first check.
    pub(crate) fn new(rule: Rule) -> Self {
        Self { rule, limiter: Limiter::new(rule.changes_in_a_row, rule.quiet_checks), would_be: None }
    }

    /// The rule in force.
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Decides to change if `cost + change < (1 - margin) · present cost` and the limits allow it. Of equal candidates
    /// the first is best. A check without requests does not count.
    pub(crate) fn check(&mut self, situation: &Situation<'_>) -> Decision {
        let Some(&present) = situation.costs.get(situation.current).filter(|cost| **cost > 0.0) else {
            return Decision::Keep(DecisionReason::Idle);
        };
        let best = (0..situation.costs.len())
            .min_by(|&a, &b| situation.costs[a].total_cmp(&situation.costs[b]))
            .unwrap_or(situation.current);
        let wish = match self.would_be {
            Some(current) => self.wish(&Situation { current, ..*situation }, best, situation.costs[current]),
            None => self.wish(situation, best, present),
        };
        let limit = self.limiter.check(wish.is_ok());
        self.would_be = match limit {
            ChangeLimit::Free | ChangeLimit::Pinned { left: 0 } => None,
            ChangeLimit::Pin => Some(best),
            ChangeLimit::Pinned { .. } if wish.is_ok() => Some(best),
            ChangeLimit::Pinned { .. } => self.would_be,
        };
        match limit {
            ChangeLimit::Free => match wish {
                Ok(reason) => Decision::Change { to: best, reason },
                Err(reason) => Decision::Keep(reason),
            },
            ChangeLimit::Pin if situation.default == situation.current => {
                Decision::Keep(DecisionReason::TooManyChanges)
            }
            ChangeLimit::Pin => Decision::Change { to: situation.default, reason: DecisionReason::TooManyChanges },
            // Another scheduler than the default may be in use: somebody else changed it, or a change failed.
            ChangeLimit::Pinned { left } if situation.default != situation.current => {
                Decision::Change { to: situation.default, reason: DecisionReason::Pinned { left } }
            }
            ChangeLimit::Pinned { left } => Decision::Keep(DecisionReason::Pinned { left }),
        }
    }

    /// Whether the rule would change to `best`, apart from its limit on consecutive changes; and why or why not.
    fn wish(&self, situation: &Situation<'_>, best: usize, present: f64) -> Result<DecisionReason, DecisionReason> {
        let cost = situation.costs[best];
        let gain = 1.0 - cost / present;
        if best == situation.current || gain <= 0.0 {
            return Err(DecisionReason::Best);
        }
        if cost + situation.change >= (1.0 - self.rule.margin) * present {
            return Err(DecisionReason::TooSmall { gain });
        }
        if let Some(bound) = self.rule.max_error {
            if situation.error.is_none_or(|error| error.abs() > bound) {
                return Err(DecisionReason::ModelOff { error: situation.error });
            }
        }
        if let Some(wanted) = self.rule.confidence {
            let confidence = (situation.confidence)(best);
            if confidence.is_none_or(|sure| sure < wanted) {
                return Err(DecisionReason::NotSure { gain, confidence });
            }
        }
        Ok(DecisionReason::Better { gain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation<'a>(costs: &'a [f64], current: usize, change: f64) -> Situation<'a> {
        Situation { costs, current, default: 0, change, confidence: &|_| Some(1.0), error: Some(0.0) }
    }

    fn check(rule: Rule, situation: &Situation<'_>) -> Decision {
        ChangeJudge::new(rule).check(situation)
    }

    #[test]
    fn equation_4_2() {
        let decide = |new: f64, change: f64| check(Rule::THESIS, &situation(&[1.0, new], 0, change));
        assert!(matches!(decide(0.94, 0.0), Decision::Change { to: 1, reason: DecisionReason::Better { .. } }));
        assert!(matches!(decide(0.95, 0.0), Decision::Keep(DecisionReason::TooSmall { .. })), "less, not equal");
        assert!(matches!(decide(0.90, 0.05), Decision::Keep(DecisionReason::TooSmall { .. })));
        assert!(matches!(decide(0.90, 0.04), Decision::Change { to: 1, .. }));
        assert_eq!(decide(1.2, 0.0), Decision::Keep(DecisionReason::Best));
    }

    #[test]
    fn the_best_of_many_is_taken() {
        let decision = check(Rule::THESIS, &situation(&[5.0, 4.0, 3.0, 3.0, 6.0], 0, 0.0));
        assert!(matches!(decision, Decision::Change { to: 2, .. }), "{decision:?}");
    }

    #[test]
    fn an_idle_disk_decides_nothing() {
        let mut judge = ChangeJudge::new(Rule { changes_in_a_row: 2, ..Rule::THESIS });
        assert!(matches!(judge.check(&situation(&[2.0, 1.0], 0, 0.0)), Decision::Change { .. }));
        assert_eq!(judge.check(&situation(&[0.0, 0.0], 1, 0.0)), Decision::Keep(DecisionReason::Idle));
        // The count of consecutive changes goes on.
        let pin = judge.check(&situation(&[1.0, 2.0], 1, 0.0));
        assert_eq!(pin, Decision::Change { to: 0, reason: DecisionReason::TooManyChanges });
    }

    #[test]
    fn after_five_changes_in_a_row_the_default_stays_until_seven_checks_agree() {
        let mut judge = ChangeJudge::new(Rule::THESIS);
        let mut current = 1;
        for _ in 0..4 {
            let mut costs = [2.0, 2.0, 2.0];
            let better = if current == 1 { 2 } else { 1 };
            costs[better] = 1.0;
            assert_eq!(
                judge.check(&situation(&costs, current, 0.0)),
                Decision::Change { to: better, reason: DecisionReason::Better { gain: 0.5 } }
            );
            current = better;
        }
        let change = situation(&[2.0, 2.0, 1.0], 1, 0.0);
        assert_eq!(judge.check(&change), Decision::Change { to: 0, reason: DecisionReason::TooManyChanges });
        let tempting = situation(&[2.0, 1.0, 2.0], 0, 0.0);
        assert_eq!(
            judge.check(&tempting),
            Decision::Keep(DecisionReason::Pinned { left: 7 }),
            "from 2, which would be in use"
        );
        assert_eq!(
            judge.check(&situation(&[2.0, 2.0, 1.0], 0, 0.0)),
            Decision::Keep(DecisionReason::Pinned { left: 7 })
        );
        // Candidate 2 is best from now on. It would be in use already, so these checks are quiet.
        for left in (0..7).rev() {
            assert_eq!(
                judge.check(&situation(&[2.0, 2.0, 1.0], 0, 0.0)),
                Decision::Keep(DecisionReason::Pinned { left })
            );
        }
        assert!(matches!(judge.check(&tempting), Decision::Change { to: 1, .. }));
    }

    #[test]
    fn guarded_asks_for_a_sure_gain_and_a_healthy_model() {
        let with = |confidence: Option<f64>, error| {
            let confidence = |_| confidence;
            let situation = Situation { confidence: &confidence, error, ..situation(&[2.0, 1.0], 0, 0.0) };
            check(Rule::GUARDED, &situation)
        };
        assert!(matches!(with(Some(0.97), Some(-0.1)), Decision::Change { .. }));
        assert!(matches!(with(Some(0.90), Some(0.1)), Decision::Keep(DecisionReason::NotSure { .. })));
        assert!(matches!(with(None, Some(0.1)), Decision::Keep(DecisionReason::NotSure { confidence: None, .. })));
        assert!(matches!(with(Some(1.0), Some(-0.3)), Decision::Keep(DecisionReason::ModelOff { .. })));
        assert!(matches!(with(Some(1.0), None), Decision::Keep(DecisionReason::ModelOff { error: None })));
    }
}
