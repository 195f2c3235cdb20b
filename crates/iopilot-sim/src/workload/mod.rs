//! Workloads: what issues requests.
