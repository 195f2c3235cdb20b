//! The page around the charts.

use super::emphasis::{self, Emphasis};
use super::{host, lines, redcap, seeks};
use crate::render::{Better, RunColumn, columns, ranking, spread_in_words};
use iopilot_compare::Comparison;
use iopilot_render::Terminal;
use iopilot_render::number::{bytes, percent, plain};
use iopilot_render::svg::escape;
use iopilot_sim::RunReport;
use std::fmt::Write;
use std::path::Path;

pub(super) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Processes beyond which the table of processes would be wider than a screen.
const PROCESSES: usize = 12;

/// The whole page. `command` is what made it.
pub(super) fn page(comparison: &Comparison, command: &str) -> String {
    page_of("I/O scheduler comparison", comparison, "", command)
}

/// The page of a comparison of some `kind`, with `first` above its tables and charts.
pub(super) fn page_of(kind: &str, comparison: &Comparison, first: &str, command: &str) -> String {
    let emphasis = emphasis::of(comparison);
    let file =
        Path::new(&comparison.workload.name).file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
    let title = format!("{file} on {}", comparison.machine.disk);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    );
    let _ = write!(out, "<header><p class=\"kind\">{kind}</p><h1>{}</h1>", escape(&title));
    if comparison.runs.len() > 1 {
        let _ = write!(out, "<p class=\"verdict\">{}</p>", escape(&comparison.verdict.text));
    }
    let _ = writeln!(out, "</header>\n{}{}{}", self_replays(comparison), facts(comparison), notes(comparison));
    out.push_str(first);
    let _ = writeln!(out, "<section><h2>All numbers</h2>{}</section>", table(comparison, &emphasis));
    let _ = writeln!(out, "{}", chips(comparison, &emphasis));
    let mut section = |title: &str, what: &str, body: &str| {
        let _ = writeln!(out, "<section><h2>{title}</h2><p class=\"what\">{what}</p>{body}</section>");
    };
    section(
        "Response time",
        "From arrival at the block layer to completion. Left: the share of requests that took no longer; further left is \
         better. Right: the share that took longer, which shows the slowest requests.",
        &format!(
            "<div class=\"pair\">{}{}</div>",
            lines::response(comparison, &emphasis),
            lines::tail(comparison, &emphasis)
        ),
    );
    section("Throughput", "Completed, in 10<sup>6</sup> bytes a second.", &lines::throughput(comparison, &emphasis));
    section(
        "Queue length",
        "Mean number of requests in the block layer and the device.",
        &lines::queue(comparison, &emphasis),
    );
    if let Some(body) = host::hosts(comparison) {
        section(
            "Host",
            "Where the time of the tasks went, the mean of all tasks. In false idle time no process can run, and one waits for a \
             request; false computation is the CPU time that such waits cost. Then the same of all CPUs over time, up to the end of all \
             writing, with the end of the last task (dashed) and dirty pages (line). Below: both ends; what the processes of each name \
             did with their time; mean response times by class of request, as guessed when issued; how long requests with a \
             time limit had, and how many were complete by then; the page cache.",
            &body,
        );
    }
    if let Some(body) = redcap::caches(comparison) {
        section(
            "REDCAP",
            "Above: when the cache was in use, and what each of its checks compared: the cost <span class=\"key read\">with the \
             cache</span> and <span class=\"key write\">without it</span>, in ms. Below: what became of its reads, one for each \
             segment, and of blocks of 4 KiB.",
            &body,
        );
    }
    section(
        "Seeks",
        "Where on the disk requests were dispatched, over time: <span class=\"key read\">reads</span> and \
         <span class=\"key write\">writes</span>; a sample where there are many. Best first, all on the same axes.",
        &format!("<div class=\"grid-of-seeks\">{}</div>", seeks::seeks(comparison, &emphasis)),
    );
    if let Some(body) = processes(comparison) {
        section("Processes", "Mean response time of each process, ms.", &body);
    }
    let _ = write!(
        out,
        "<footer>Made by iopilot {} with <code>{}</code></footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(command)
    );
    out
}

fn facts(comparison: &Comparison) -> String {
    let (machine, workload) = (&comparison.machine, &comparison.workload);
    let mut out = String::from("<dl class=\"facts\">");
    let mut fact = |name: &str, value: String| {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    };
    fact("Workload", workload.name.clone());
    fact("Kind", workload.kind.clone());
    if let Some(mode) = &workload.mode {
        fact("Replay", mode.clone());
    }
    if let Some(seed) = workload.seed {
        fact("Seed", seed.to_string());
    }
    if let Some(run) = comparison.runs.first() {
        let share = if run.requests == 0 { 0.0 } else { run.reads as f64 / run.requests as f64 };
        fact("Requests", format!("{}, {} reads", run.requests, percent(share)));
        fact("Transferred", bytes(run.bytes));
    }
    fact("Machine", machine.name.clone());
    fact("Disk", format!("{}, {}", machine.disk, bytes(machine.capacity_bytes)));
    fact("Device queue", format!("depth {}", machine.queue_depth));
    fact("CPUs", machine.cpus.to_string());
    out + "</dl>"
}

/// How well the model predicts the recordings under their own schedulers.
fn self_replays(comparison: &Comparison) -> String {
    let terminal = Terminal { width: usize::MAX, colour: false };
    let text = crate::render::self_replays(comparison, terminal);
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("<p class=\"self-replay\">{}</p>", escape(line))).collect()
}

fn notes(comparison: &Comparison) -> String {
    if comparison.workload.notes.is_empty() {
        return String::new();
    }
    let items: String = comparison.workload.notes.iter().map(|n| format!("<li>{}</li>", escape(n))).collect();
    format!("<ul class=\"notes\">{items}</ul>")
}

/// The buttons that choose which schedulers are in colour; best first.
fn chips(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let buttons: String = ranking(comparison)
        .into_iter()
        .map(|i| {
            let role = emphasis[i].role.map_or(String::new(), |r| format!(" <em>{r}</em>"));
            format!(
                "<button {} aria-pressed=\"{}\">{}{role}</button>",
                lines::identity("chip", i, &emphasis[i]),
                emphasis[i].colour.is_some(),
                escape(&comparison.runs[i].scheduler)
            )
        })
        .collect();
    format!("<nav aria-label=\"Schedulers shown in colour\">{buttons}</nav>")
}

fn table(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">scheduler</th>");
    for c in columns(comparison) {
        let title =
            if c.group.is_empty() { c.title.to_owned() } else { format!("<small>{}</small> {}", c.group, c.title) };
        let _ = write!(out, "<th scope=\"col\" title=\"{}\">{title}</th>", escape(c.help));
    }
    out.push_str("</tr></thead><tbody>");
    for i in ranking(comparison) {
        let run = &comparison.runs[i];
        let role = emphasis[i].role.map_or(String::new(), |r| format!(" <em>{r}</em>"));
        let name = escape(&run.scheduler);
        let _ = write!(out, "<tr {}><th scope=\"row\">{name}{role}</th>", lines::identity("row", i, &emphasis[i]));
        for c in columns(comparison) {
            let value = (c.value)(run);
            let class = if is_best(comparison, c, value) { " class=\"best\"" } else { "" };
            let _ = write!(out, "<td{class} data-v=\"{value}\">{}</td>", (c.format)(value));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    if let Some(words) = spread_in_words(comparison) {
        let _ = write!(out, "<p class=\"what\">{}</p>", escape(&words));
    }
    out
}

/// Whether no run is better in this column, and some run is worse.
fn is_best(comparison: &Comparison, column: &RunColumn, value: f64) -> bool {
    let beats = |other: f64| match column.better {
        Better::Less => other < value,
        Better::More => other > value,
        Better::Neither => true,
    };
    let values = || comparison.runs.iter().map(column.value);
    !values().any(beats) && values().any(|v| v != value)
}

fn processes(comparison: &Comparison) -> Option<String> {
    let first = comparison.runs.first()?;
    if !(2..=PROCESSES).contains(&first.processes.len()) {
        return None;
    }
    let ids: Vec<u32> = first.processes.iter().map(|p| p.process).collect();
    let heads: String = ids.iter().map(|id| format!("<th scope=\"col\">{id}</th>")).collect();
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">scheduler</th>{heads}</tr></thead><tbody>"
    );
    let cell = |run: &RunReport, id: u32| match run.processes.iter().find(|p| p.process == id) {
        Some(p) => format!("<td data-v=\"{}\">{}</td>", p.response_mean_ms, plain(p.response_mean_ms)),
        None => "<td></td>".to_owned(),
    };
    for i in ranking(comparison) {
        let run = &comparison.runs[i];
        let cells: String = ids.iter().map(|&id| cell(run, id)).collect();
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&run.scheduler));
    }
    Some(out + "</tbody></table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;

    #[test]
    fn names_from_a_trace_cannot_inject_markup() {
        let page = page(&sample_comparison(2), "iopilot compare \"<read>\"");
        assert!(page.contains("tree &lt;read&gt; &amp;") && !page.contains("<read>"));
    }

    #[test]
    fn every_scheduler_is_in_every_part() {
        let comparison = sample_comparison(17);
        let page = page(&comparison, "iopilot");
        for i in 0..17 {
            // CDF, tail, throughput and queue: a line and a label each; a chip, a row, a seek plot.
            assert_eq!(page.matches(&format!("data-run=\"{i}\"")).count(), 11, "run {i}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }

    #[test]
    fn nothing_is_fetched_from_a_network() {
        let page = page(&sample_comparison(17), "iopilot");
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn an_empty_run_still_makes_a_page() {
        let mut comparison = sample_comparison(1);
        comparison.runs[0].series = iopilot_sim::Series::default();
        comparison.runs[0].elapsed_s = 0.0;
        assert!(page(&comparison, "iopilot").ends_with("</html>\n"));
    }
}
