//! Files are removed once nothing is under way for them.

use super::Host;
use super::files::{StepContext, StepOutcome};
use crate::file_call::FileId;
use crate::file_op::FileOp;

impl Host {
    /// Goes on with the removal of `file`, or only of its data, whose pages before `from` have been looked at. Waits for requests
    /// under way, as the kernel's truncation does for a page that is being written: a block that is given out again must not get
    /// its old content behind its new one.
    pub(super) fn drop_pages(
        &mut self,
        file: FileId,
        keeps_name: bool,
        from: u64,
        at: &mut StepContext<'_>,
    ) -> StepOutcome {
        let Some(files) = &mut self.files else { return StepOutcome::Done };
        if let Some((from, place)) = files.under_way(file, from) {
            if let Some(op) = self.processes[at.p].plan.front_mut() {
                *op = FileOp::Drop { file, keeps_name, from };
            }
            return self.wait_until_still(place, at).map_or(StepOutcome::Again(0.0), StepOutcome::Wait);
        }
        let plan = &mut self.processes[at.p].plan;
        let freed = match files.drop_pages(file, keeps_name, plan, &mut self.requests) {
            Ok(freed) => freed,
            Err(error) => {
                plan.clear();
                self.fail(at.p, error.to_string());
                return StepOutcome::Done;
            }
        };
        if !freed.is_empty() {
            // Other calls on the file may be under way, and no step of theirs may use what is free now.
            let is_stale = |op: &FileOp| matches!(op, FileOp::Metadata(metadata) if freed.contains(&metadata.block));
            self.processes.iter_mut().for_each(|process| process.plan.retain(|op| !is_stale(op)));
        }
        StepOutcome::Done
    }
}
