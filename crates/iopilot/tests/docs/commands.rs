//! Every `iopilot` command in the README, the tutorials and the how-to pages is one that the real parser takes, and
//! the files of this project that it names exist. Compiled into the binary's unit tests, where that parser is.

#![allow(clippy::unwrap_used)]

#[path = "markdown.rs"]
mod markdown;

use crate::args::Cli;
use clap::Parser as _;
use clap::error::ErrorKind;
use markdown::{Page, guides, root};

/// A command, and where it stands.
struct Command {
    place: String,
    words: Vec<String>,
    /// Named in a sentence, where its arguments may be left out.
    in_prose: bool,
}

#[test]
fn commands_of_the_guides_are_commands() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for command in guides().iter().flat_map(commands) {
        count += 1;
        if let Some(e) = refused(&command) {
            wrong.push(format!("{}: {}\n{e}", command.place, command.words.join(" ")));
        }
        for word in &command.words {
            // Words that the shell expands are not known here.
            let ours = ["examples/", "docs/", "contrib/"].iter().any(|folder| word.starts_with(folder));
            if ours && !word.contains('$') && !root().join(word).exists() {
                wrong.push(format!("{}: {word} does not exist", command.place));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "{count}");
}

/// The parser's error for a command, if any.
fn refused(command: &Command) -> Option<clap::Error> {
    let error = Cli::try_parse_from(&command.words).err()?;
    let allowed = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => command.in_prose,
        _ => false,
    };
    (!allowed).then_some(error)
}

#[test]
fn what_is_no_command_is_found() {
    let line = "echo x | iopilot compare a --disc b && sudo iopilot disk list > $(iopilot demo) # iopilot no";
    let found = in_shell(line);
    assert_eq!(
        found,
        [vec!["iopilot", "compare", "a", "--disc", "b"], vec!["iopilot", "disk", "list"], vec!["iopilot", "demo"]]
    );
    assert!(Cli::try_parse_from(&found[0]).is_err());
    assert!(Cli::try_parse_from(["iopilot", "compare"]).is_err());
}

/// The commands of a page.
fn commands(page: &Page) -> Vec<Command> {
    let mut found = Vec::new();
    for block in page.blocks().iter().filter(|b| ["", "sh", "console"].contains(&b.language.as_str())) {
        for line in block.text.replace("\\\n", " ").lines() {
            let place = format!("{}:{}", page.path, block.line);
            found.extend(in_shell(line).into_iter().map(|words| Command {
                place: place.clone(),
                words,
                in_prose: false,
            }));
        }
    }
    for (number, line) in page.lines() {
        for code in line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("iopilot ")) {
            let place = format!("{}:{number}", page.path);
            found.extend(in_shell(code).into_iter().map(|words| Command {
                place: place.clone(),
                words,
                in_prose: true,
            }));
        }
    }
    found
}

/// The `iopilot` commands in a line of shell.
fn in_shell(line: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    let mut expected = true;
    for word in words(line) {
        match word {
            Word::End => (inside, expected) = (false, true),
            Word::Plain(word) if expected && word == "iopilot" => {
                (inside, expected) = (true, false);
                found.push(vec![word]);
            }
            Word::Plain(word) if inside => found.last_mut().unwrap().push(word),
            Word::Plain(word) => expected = expected && ["sudo", "time", "$"].contains(&word.as_str()),
        }
    }
    found
}

enum Word {
    Plain(String),
    /// An operator behind which another command begins, or a redirection.
    End,
}

/// A line of shell as words: quotes taken off, comments left out.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '$') if chars.peek() == Some(&'(') => {
                chars.next();
                word = None;
                words.push(Word::End);
            }
            (None, '|' | ';' | '&' | '>' | ')') => {
                words.extend(word.take().map(Word::Plain));
                words.push(Word::End);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take().map(Word::Plain)),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(Word::Plain));
    words
}
