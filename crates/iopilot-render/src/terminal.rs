//! The width of standard output, and whether it takes colour.

use std::io::IsTerminal;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Columns a line may take.
    pub width: usize,
    /// Whether escape sequences may be printed.
    pub colour: bool,
}

/// The width where standard output is not a terminal.
const PLAIN_WIDTH: usize = 120;

impl Terminal {
    /// Reads the environment: `NO_COLOR`, `TERM`, `COLUMNS` and the terminal itself.
    pub fn detect(no_colour: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let columns = std::env::var("COLUMNS").ok().and_then(|v| v.parse().ok());
        let size = || terminal_size::terminal_size().map(|(w, _)| usize::from(w.0));
        Self {
            width: columns.or_else(size).unwrap_or(PLAIN_WIDTH),
            colour: !no_colour && !set("NO_COLOR") && !dumb && std::io::stdout().is_terminal(),
        }
    }

    /// `text` in bold green: the best.
    pub fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// `text` in bold: a title.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` in faint, for an aside.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
