//! `disksim_global` and `disksim_pf`: parameters of the whole run.

use super::fields::{BlockFields, ModuleCheck, flag, ms, real, some, whole, word};
use super::module::module;
use super::statdefs::StatDefinitionFile;
use iopilot_block::InputError;

module! {
    /// Parameters of the whole run.
    Global = "disksim_global" {
        /// Seed of the generator; the last-written of the two seeds is used.
        init_seed: Option<i64> = "Init Seed", some(whole(i64::MIN..=i64::MAX)), or None;
        /// Whether the current time is the seed.
        init_seed_with_time: bool = "Init Seed with time", flag, or false;
        /// Seed of the generator; the last-written of the two seeds is used.
        real_seed: Option<i64> = "Real Seed", some(whole(i64::MIN..=i64::MAX)), or None;
        /// Whether the current time is the seed.
        real_seed_with_time: bool = "Real Seed with time", flag, or false;
        /// Statistics are reset after this time, s.
        statistic_warm_up_time: Option<f64> = "Statistic warm-up time", some(ms), or None;
        /// Statistics are reset after this many requests.
        statistic_warm_up_ios: Option<u64> = "Statistic warm-up IOs", some(super::fields::count), or None;
        /// The shapes of histograms, read from the file.
        stat_definition_file: StatDefinitionFile = "Stat definition file", StatDefinitionFile::read;
        /// The file to which each arriving request is logged.
        output_file_for_trace: Option<String> =
            "Output file for trace of I/O requests simulated", some(word), or None;
        /// The file to which issues and completions are logged.
        detailed_execution_trace: Option<String> = "Detailed execution trace", some(word), or None;
    }
}

impl ModuleCheck for Global {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.statistic_warm_up_time.is_some() && self.statistic_warm_up_ios.is_some() {
            return Err(fields.refuse("Statistic warm-up IOs", "either this or Statistic warm-up time"));
        }
        Ok(())
    }
}

module! {
    /// The processors of synthetic load.
    Pf = "disksim_pf" {
        /// Processors.
        number_of_processors: u32 = "Number of processors", whole(1..=65_536);
        /// Scales all computation times.
        process_flow_time_scale: f64 = "Process-Flow Time Scale", real(0.0..=1e9);
    }
}

impl ModuleCheck for Pf {}
