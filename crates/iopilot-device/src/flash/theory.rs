//! Write amplification of greedy garbage collection under uniform random writes, as analysis gives it.
//!
//! Blocks age while their units are overwritten one after the other; the one collected is the oldest, and a share `v` of
//! it is still valid. With `u` of all units valid, `v = exp(−(1 − v) / u)`, and each unit that the host writes makes
//! `1 / (1 − v)` units written (Xiang and Kurkoski, *An improved analytic expression for write amplification in NAND
//! flash*, 2012, with Lambert's W; Desnoyers, *Analytic modeling of SSD write performance*, SYSTOR 2012).

/// The valid share of a block when it is collected, where `utilisation` of the units of all used blocks is valid.
pub fn steady_victim_share(utilisation: f64) -> f64 {
    if utilisation >= 1.0 {
        return 1.0;
    }
    // exp(−(1 − v) / u) − v falls through 0 once below 1; v = 1 is the solution without meaning.
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
pub fn steady_write_amplification(utilisation: f64) -> f64 {
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
