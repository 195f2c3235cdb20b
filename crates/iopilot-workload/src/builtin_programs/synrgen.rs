//! SynRGen: programmers who edit, compile and debug, with pauses to think (Ganger 5.2, after Ebling 1994).

use super::file_system_builder::{FileSystemBuilder, FilledFileSystem};
use super::script_builder::ScriptBuilder;
use iopilot_block::Nanos;
use iopilot_host::{FileCall, FileError, FileId, TaskSpec};
use rand::Rng;

/// Sources and headers of a programmer, and their mean size in bytes.
const SOURCES: usize = 30;
const HEADERS: usize = 25;
/// The size of an object over that of its source.
const OBJECT: u64 = 3;
const SOURCE: u64 = 20_000;
const HEADER: u64 = 6_000;
const SIGMA: f64 = 0.9;
/// The default number of tasks of all programmers together.
const TASKS: u32 = 192;
/// Think time between two tasks, in seconds.
const THINK: std::ops::Range<f64> = 12.0..18.0;
/// Computation for each page read or written, in milliseconds. Compilations also sleep (Ganger 5.2).
const PAGE_MS: f64 = 3.0;
const AGED: f64 = 0.3;

/// The files of a programmer.
struct Project {
    directory: FileId,
    sources: Vec<Source>,
    headers: Vec<(FileId, u64)>,
}

struct Source {
    file: FileId,
    bytes: u64,
    object: Option<FileId>,
}

/// `users` programmers, each of whom does `tasks` tasks.
pub(super) fn users(
    users: u32,
    tasks: Option<u32>,
    aged: Option<f64>,
    mut layout: FileSystemBuilder,
) -> Result<(Vec<TaskSpec>, FilledFileSystem), FileError> {
    let tasks = tasks.unwrap_or(TASKS.div_ceil(users));
    layout.age(aged.unwrap_or(AGED));
    let home = layout.directory(FileId::ROOT)?;
    let mut all = Vec::new();
    for user in 0..users {
        let mut project = Project::new(home, &mut layout)?;
        let mut lines = ScriptBuilder::default();
        for number in 0..tasks {
            let think = layout.random.random_range(THINK);
            // The programmers do not all begin at the same time.
            lines.nap(if number == 0 { think * f64::from(user + 1) / f64::from(users) } else { think });
            let mut command = ScriptBuilder::default();
            let name = match layout.random.random_range(0..5) {
                0 | 1 => project.edit(&mut command, &mut layout),
                2 | 3 => project.compile(&mut command, &mut layout),
                _ => project.debug(&mut command, &mut layout),
            };
            lines.run(u64::from(number), name, command);
        }
        all.push(lines);
    }
    let start = Nanos::ZERO;
    let spec =
        |lines: ScriptBuilder| TaskSpec { name: "user".into(), program: lines.script().into(), start, is_task: false };
    Ok((all.into_iter().map(spec).collect(), layout.fill()))
}

impl Project {
    fn new(home: FileId, layout: &mut FileSystemBuilder) -> Result<Self, FileError> {
        let directory = layout.directory(home)?;
        let mut sources = Vec::new();
        for bytes in layout.sizes(SOURCES, SOURCE * SOURCES as u64, SIGMA) {
            sources.push(Source { file: layout.file(directory, bytes)?, bytes, object: None });
        }
        let mut headers = Vec::new();
        for bytes in layout.sizes(HEADERS, HEADER * HEADERS as u64, SIGMA) {
            headers.push((layout.file(directory, bytes)?, bytes));
        }
        Ok(Self { directory, sources, headers })
    }

    fn any_source(&self, layout: &mut FileSystemBuilder) -> usize {
        layout.random.random_range(0..self.sources.len())
    }

    /// Reads a source, and replaces it by a new version. Meanwhile the editor keeps a file of changes.
    fn edit(&mut self, lines: &mut ScriptBuilder, layout: &mut FileSystemBuilder) -> &'static str {
        let at = self.any_source(layout);
        let Source { file, bytes, .. } = self.sources[at];
        lines.open(file);
        lines.read_all(file, bytes, PAGE_MS);
        let (changes, new) = (layout.name(), layout.name());
        lines.create(self.directory, changes);
        lines.write(changes, 0, 2000);
        lines.nap(layout.random.random_range(1.5..3.5));
        lines.create(self.directory, new);
        lines.write_all(new, bytes, PAGE_MS);
        lines.remove(file);
        lines.remove(changes);
        self.sources[at].file = new;
        "edit"
    }

    /// Reads a source and headers, makes and removes two intermediate files, and replaces the object.
    fn compile(&mut self, lines: &mut ScriptBuilder, layout: &mut FileSystemBuilder) -> &'static str {
        let at = self.any_source(layout);
        let Source { file, bytes, object } = self.sources[at];
        lines.open(file);
        lines.read_all(file, bytes, PAGE_MS);
        for _ in 0..layout.random.random_range(4..12) {
            let (header, bytes) = self.headers[layout.random.random_range(0..self.headers.len())];
            lines.open(header);
            lines.read_all(header, bytes, PAGE_MS / 2.0);
        }
        let (expanded, assembly, new) = (layout.name(), layout.name(), layout.name());
        lines.create(self.directory, expanded);
        lines.write_all(expanded, 2 * bytes, PAGE_MS);
        lines.read_all(expanded, 2 * bytes, PAGE_MS);
        lines.nap(layout.random.random_range(1.5..4.5));
        lines.create(self.directory, assembly);
        lines.write_all(assembly, 2 * bytes, PAGE_MS);
        lines.remove(expanded);
        lines.read_all(assembly, 2 * bytes, PAGE_MS);
        if let Some(object) = object {
            lines.remove(object);
        }
        lines.create(self.directory, new);
        lines.write_all(new, OBJECT * bytes, PAGE_MS);
        lines.remove(assembly);
        self.sources[at].object = Some(new);
        "compile"
    }

    /// Links objects to a program, which runs, writes, and is removed.
    fn debug(&mut self, lines: &mut ScriptBuilder, layout: &mut FileSystemBuilder) -> &'static str {
        let program = layout.name();
        lines.file(FileCall::ReadDir(self.directory));
        lines.create(self.directory, program);
        let mut offset = 0;
        for _ in 0..3 {
            let Source { file, bytes, object } = self.sources[self.any_source(layout)];
            let (read, bytes) = object.map_or((file, bytes), |object| (object, OBJECT * bytes));
            lines.open(read);
            lines.read_all(read, bytes, PAGE_MS);
            lines.write(program, offset, bytes);
            offset += bytes;
        }
        let output = layout.name();
        lines.create(self.directory, output);
        lines.nap(layout.random.random_range(1.5..3.5));
        lines.write_all(output, SOURCE, PAGE_MS);
        lines.remove(output);
        lines.remove(program);
        "debug"
    }
}
