//! Removal of files, once no request for them is in flight.

use super::Host;
use super::files::{StepContext, StepOutcome};
use crate::file_call::FileId;
use crate::file_op::FileOp;

impl Host {
    /// Continues the removal of `file`, or only of its data; its pages before `from` have been checked. Waits for requests in
    /// flight, as the kernel's truncation does for pages under write-back. Otherwise the old content of a reused block could
    /// overwrite its new content.
    pub(super) fn drop_pages(
        &mut self,
        file: FileId,
        keeps_name: bool,
        from: u64,
        at: &mut StepContext<'_>,
    ) -> StepOutcome {
        let Some(files) = &mut self.files else { return StepOutcome::Done };
        if let Some((from, place)) = files.find_in_flight(file, from) {
            if let Some(op) = self.processes[at.p].plan.front_mut() {
                *op = FileOp::Drop { file, keeps_name, from };
            }
            return self.wait_for_flight(place, at).map_or(StepOutcome::Again(0.0), StepOutcome::Wait);
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
            // Other calls on the file may be in progress. None of their steps may use a freed block.
            let is_stale = |op: &FileOp| matches!(op, FileOp::Metadata(metadata) if freed.contains(&metadata.block));
            self.processes.iter_mut().for_each(|process| process.plan.retain(|op| !is_stale(op)));
        }
        StepOutcome::Done
    }
}
