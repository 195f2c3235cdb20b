//! The event loop and the block layer: runs a workload on a machine.
