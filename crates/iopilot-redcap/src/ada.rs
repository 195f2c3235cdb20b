//! [`Ada`]: the activation–deactivation algorithm of a cache.

use crate::check::ActivationVerdict;
use crate::comparison::{NO_BATCH, ReferenceComparison};
use crate::estimator::Estimator;
use crate::records::Original;
use crate::{Algorithm, CacheState, RedcapSpec, ReferenceDisk};
use iopilot_block::Nanos;

/// The state of the algorithm that decides whether the cache is active.
#[derive(Clone, Debug)]
pub(crate) enum Ada<V> {
    /// `always`, `never` and `adaptive`, which decide nothing in here.
    Outside,
    /// `v0`, `v1`, `v2`.
    Estimates {
        estimator: Box<Estimator>,
        /// Whether pending states are analysed.
        pending: bool,
    },
    /// `vd`, `vd-all-blocks`.
    Compares(Box<ReferenceComparison<V>>),
}

impl<V: ReferenceDisk> Ada<V> {
    pub(crate) fn new(spec: &RedcapSpec, disk: V) -> Self {
        match spec.algorithm {
            Algorithm::Always | Algorithm::Never | Algorithm::Adaptive => Self::Outside,
            Algorithm::V0 | Algorithm::V1 | Algorithm::V2 => {
                let estimator = Box::new(Estimator::new(spec));
                Self::Estimates { estimator, pending: spec.algorithm == Algorithm::V2 }
            }
            Algorithm::Vd | Algorithm::VdAllBlocks => Self::Compares(Box::new(ReferenceComparison::new(spec, disk))),
        }
    }

    /// Whether the directory is simulated while the cache is inactive.
    pub(crate) const fn simulates(&self) -> bool {
        !matches!(self, Self::Outside)
    }

    pub(crate) fn comparison(&mut self) -> Option<&mut ReferenceComparison<V>> {
        match self {
            Self::Compares(comparison) => Some(comparison),
            _ => None,
        }
    }

    pub(crate) fn next_event(&self) -> Option<Nanos> {
        match self {
            Self::Compares(comparison) => comparison.next_event(),
            _ => None,
        }
    }

    /// The verdict that becomes due when a new read arrives.
    pub(crate) fn overdue(&mut self, state: CacheState) -> Option<ActivationVerdict> {
        self.comparison().and_then(|comparison| comparison.overdue(state.is_active()))
    }

    /// Assigns a new read to an interval of the comparison.
    pub(crate) fn admit(&mut self) -> u32 {
        self.comparison().map_or(NO_BATCH, ReferenceComparison::admit)
    }

    /// Accounts for a read that the present state has handled. Returns the verdict of a check, where one is due.
    pub(crate) fn finished(&mut self, read: &Original, state: CacheState) -> Option<ActivationVerdict> {
        match self {
            Self::Outside => None,
            Self::Estimates { pending: false, .. } if state.is_pending() => None,
            Self::Estimates { estimator, .. } => estimator.add(read.sums, state.is_active()),
            Self::Compares(comparison) => {
                comparison.finished(read.batch, &read.sums, read.model_time, state.is_active());
                comparison.check(state.is_active())
            }
        }
    }

    /// Runs the reference disk to `now`. Returns the verdict of a check, where one is due.
    pub(crate) fn advance(&mut self, now: Nanos, state: CacheState) -> Option<ActivationVerdict> {
        let comparison = self.comparison()?;
        comparison.advance(now);
        comparison.check(state.is_active())
    }

    pub(crate) fn switched(&mut self, active: bool) {
        match self {
            Self::Outside => {}
            Self::Estimates { estimator, .. } => estimator.switched(active),
            Self::Compares(comparison) => comparison.switched(active),
        }
    }
}
