//! [`ThinkTime`]: the place of the think times in a DiskSim validation trace.

/// Which request a think time of a DiskSim validation trace belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThinkTime {
    /// It passes after its request completes, as DiskSim reads it.
    #[default]
    After,
    /// It passed before its request was issued (DiskSim's traces of Atlas 10K, Cheetah 9LP and Barracuda).
    Before,
}
