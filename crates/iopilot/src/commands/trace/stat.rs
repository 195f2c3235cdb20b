//! `iopilot trace stat`.
use crate::args::Stat;
use crate::commands::Context;
pub(super) fn run(_: &Stat, _: &Context) -> anyhow::Result<String> {
    Ok(String::new())
}
