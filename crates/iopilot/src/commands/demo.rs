//! `iopilot demo`: the main job on a recorded workload that comes with iopilot.
use crate::args::Demo;
use crate::commands::Context;
pub(super) fn run(_: &Demo, _: &Context) -> anyhow::Result<String> {
    Ok(String::new())
}
