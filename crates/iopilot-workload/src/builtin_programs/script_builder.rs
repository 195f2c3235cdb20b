//! [`ScriptBuilder`]: the events of a program, added one by one.

use iopilot_block::Nanos;
use iopilot_host::{BLOCK_BYTES, Call, Child, FileCall, FileId, FileKind, ProgramEvent, Script};

/// The events of a program, with computation between them.
#[derive(Default)]
pub(super) struct ScriptBuilder {
    events: Vec<ProgramEvent>,
    /// Computation before the next event.
    compute: Nanos,
}

impl ScriptBuilder {
    /// Adds computation, in milliseconds.
    pub(super) fn compute(&mut self, ms: f64) {
        self.compute += Nanos::from_millis_f64(ms);
    }

    pub(super) fn call(&mut self, call: Call) {
        self.events.push(ProgramEvent::after(std::mem::take(&mut self.compute), call));
    }

    pub(super) fn file(&mut self, call: FileCall) {
        self.call(Call::File(call));
    }

    pub(super) fn open(&mut self, file: FileId) {
        self.file(FileCall::Open(file));
    }

    pub(super) fn create(&mut self, parent: FileId, file: FileId) {
        self.file(FileCall::Create { parent, file, kind: FileKind::Regular });
    }

    pub(super) fn make_directory(&mut self, parent: FileId, file: FileId) {
        self.file(FileCall::Create { parent, file, kind: FileKind::Directory });
    }

    /// Reads the page of a file that begins at `offset`.
    pub(super) fn read(&mut self, file: FileId, offset: u64) {
        self.file(FileCall::Read { file, offset, bytes: BLOCK_BYTES });
    }

    pub(super) fn write(&mut self, file: FileId, offset: u64, bytes: u64) {
        self.file(FileCall::Write { file, offset, bytes });
    }

    /// Reads all of a file of `bytes`, page by page, with `ms` of computation after each.
    pub(super) fn read_all(&mut self, file: FileId, bytes: u64, ms: f64) {
        for page in 0..bytes.div_ceil(BLOCK_BYTES) {
            self.read(file, page * BLOCK_BYTES);
            self.compute(ms);
        }
    }

    /// Writes `bytes` into a new file, page by page, with `ms` of computation before each.
    pub(super) fn write_all(&mut self, file: FileId, bytes: u64, ms: f64) {
        for offset in (0..bytes).step_by(BLOCK_BYTES as usize) {
            self.compute(ms);
            self.write(file, offset, BLOCK_BYTES.min(bytes - offset));
        }
    }

    pub(super) fn remove(&mut self, file: FileId) {
        self.file(FileCall::Remove(file));
    }

    pub(super) fn nap(&mut self, seconds: f64) {
        self.call(Call::Nap(Nanos::from_millis_f64(seconds * 1e3)));
    }

    /// Runs a command as a task, and waits for it.
    pub(super) fn run(&mut self, number: u64, name: &str, command: ScriptBuilder) {
        self.call(Call::Fork(Child {
            number,
            name: name.into(),
            program: command.script().into(),
            first: true,
            holds_parent: false,
            is_task: true,
        }));
        self.call(Call::Wait(Some(number)));
    }

    pub(super) fn script(mut self) -> Script {
        self.call(Call::Exit);
        Script::new(self.events)
    }
}
