//! [`NumberMap`]: a hash map with a fast hash, for numbers that no attacker chooses.

/// A `V` for each number, or newtype of one. The hash is the same in every run, so that iterating over a map is
/// deterministic.
pub type NumberMap<K, V> = rustc_hash::FxHashMap<K, V>;
