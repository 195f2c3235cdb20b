//! The pictures: one for each disk, with a panel for each benchmark.

use super::results::BenchResults;
use super::run::BenchmarkMix;
use crate::figure::{self, FigureLine, Panel};

/// File names begin with `name`.
pub(crate) fn of(results: &BenchResults, name: &str) -> Vec<(String, String)> {
    let picture = |(disk, &(nick, model)): (usize, &(&str, &str))| {
        let title = format!("REDCAP of 64 MiB with a reference disk, {model}: seconds over processes");
        (format!("{name}-{nick}.svg"), figure::draw(&title, &panels(results, disk), 3))
    };
    results.plan.disks.iter().enumerate().map(picture).collect()
}

fn panels(results: &BenchResults, disk: usize) -> Vec<Panel> {
    let lines = |load: BenchmarkMix| {
        let mut lines = Vec::new();
        for (scheduler, (name, _)) in results.plan.schedulers.iter().enumerate() {
            for (algorithm, suffix) in [(None, ""), (Some("vd"), " + REDCAP")] {
                let point = |&processes: &u32| {
                    let measured = results.find((disk, scheduler), load, processes, algorithm)?;
                    Some((f64::from(processes), *measured.seconds.first()?))
                };
                let points = results.plan.counts(load).iter().filter_map(point).collect();
                lines.push(FigureLine { name: format!("{name}{suffix}"), points });
            }
        }
        lines
    };
    let shown = results.plan.loads.iter().filter(|load| matches!(load, BenchmarkMix::Alone(_) | BenchmarkMix::AtOnce));
    shown.map(|&load| Panel { title: load.to_string(), lines: lines(load) }).collect()
}
