//! `iopilot demo`: the main job on a recorded workload that comes with iopilot.

use super::{CommandContext, session};
use crate::args::DemoArgs;
use crate::render;
use anyhow::Context as _;
use iopilot_compare::{Comparison, Verdict};
use iopilot_device::Device;
use iopilot_sched::{Lineage, SchedulerInfo, SchedulerSpec};
use iopilot_sim::{Machine, RunOptions, RunReport};
use iopilot_workload::{Workload, WorkloadOptions};

/// Six real programs at the same time, on ext4: see `examples/traces/README.md`.
const TRACE: &[u8] = include_bytes!("../../../../examples/traces/mixed.parquet");
/// Its name in reports.
const NAME: &str = "examples/traces/mixed.parquet";
/// A desktop drive that takes one request at a time, so that the scheduler alone decides the order.
const DISK: &str = "wd1200bb";

/// What the table means, and what to do next.
const AFTERWORD: &str = "\
wait ms: how long a process waited for a request, on average, which is what people feel. Each program waits and thinks
here as it did when it was recorded, so one that is served sooner also asks sooner. docs/lab/README.md tells what was
compared with a live kernel, with papers and with a real drive, and how well it agrees.

Your own traffic, on a disk like yours (iopilot disk list):
  iopilot trace record /dev/sda -o my.parquet -- COMMAND     as root; installs nothing, leaves nothing behind
  iopilot compare my.parquet --disk hd-500-16 --report my.html
";

/// Runs the command and returns the text to print.
pub(super) fn run(args: &DemoArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--report", Some(&args.report))?;
    let machine = Machine::for_disk(DISK)?;
    let workload = {
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let path = folder.path().join("mixed.parquet");
        std::fs::write(&path, TRACE).with_context(|| format!("writing {}", path.display()))?;
        Workload::load(&path, &WorkloadOptions::default(), machine.device().capacity())?
    };
    context.note(
        "Six programs read and write at the same time: a source tree is read, zstd compiled, an SQLite database used,",
    );
    context.note(
        "an archive unpacked, a file read forwards, one backwards. Which scheduler serves them best on a desktop disk?\n",
    );
    let options = RunOptions { seed: 0, log: false, ..RunOptions::default() };
    let mut comparison = session::run(&machine, &workload, &SchedulerSpec::all(), &options, context)?;
    comparison.workload.name = NAME.to_owned();
    comparison.verdict = of_current_kernel(&comparison);
    session::write_report(Some(&args.report), &comparison, context)?;
    if args.json {
        return render::json(&comparison);
    }
    let table = render::comparison(&comparison, true, context.terminal);
    Ok(if context.quiet { table } else { format!("{table}\n{AFTERWORD}") })
}

/// The verdict on the schedulers of a current kernel: what an administrator can choose from. The others are shown beside them.
fn of_current_kernel(comparison: &Comparison) -> Verdict {
    let is_current =
        |run: &RunReport| SchedulerInfo::of(&run.scheduler).is_some_and(|info| info.lineage == Lineage::Linux6);
    let verdict = comparison.verdict_on(is_current);
    // The names of schedulers are in lower case, too.
    let (first, rest) = verdict.text.split_at(verdict.text.chars().next().map_or(0, char::len_utf8));
    let text = format!("Of the schedulers of a current kernel, {}{rest}", first.to_lowercase());
    Verdict { text, ..verdict }
}
