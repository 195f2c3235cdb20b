//! Write amplification of greedy garbage collection under uniform random writes, from analysis.
//!
//! Blocks age while their units are overwritten one by one. The oldest block is collected, and a share `v` of it is
//! still valid. With the share `u` of all units valid, `v = exp(−(1 − v) / u)`, and each unit that the host writes
//! causes `1 / (1 − v)` units written. Sources: Xiang and Kurkoski, *An improved analytic expression for write
//! amplification in NAND flash*, 2012, with Lambert's W; Desnoyers, *Analytic modeling of SSD write performance*,
//! SYSTOR 2012.

/// The valid share of a block when it is collected. `utilisation` is the valid share of all units in used blocks.
pub(crate) fn steady_victim_share(utilisation: f64) -> f64 {
    if utilisation >= 1.0 {
        return 1.0;
    }
    // exp(−(1 − v) / u) − v crosses 0 once below 1; v = 1 is the trivial solution.
    let (mut low, mut high) = (0.0, 1.0 - 1e-12);
    for _ in 0..100 {
        let v: f64 = 0.5 * (low + high);
        if (-(1.0 - v) / utilisation).exp() > v {
            low = v;
        } else {
            high = v;
        }
    }
    low
}

/// Units written to flash for each unit that the host writes, in the steady state.
#[cfg(test)]
pub(crate) fn steady_write_amplification(utilisation: f64) -> f64 {
    1.0 / (1.0 - steady_victim_share(utilisation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_value_is_met() {
        // Xiang and Kurkoski, abstract: over-provisioning 0.3 gives 2.36.
        assert!((steady_write_amplification(1.0 / 1.3) - 2.36).abs() < 0.005);
    }

    #[test]
    fn more_spare_blocks_mean_fewer_writes() {
        let of = |u| steady_write_amplification(u);
        assert!(of(0.1) < 1.001 && of(0.5) < of(0.7) && of(0.7) < of(0.93) && of(0.93) < of(0.99));
    }
}
