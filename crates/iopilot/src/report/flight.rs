//! The timeline of a flight: the scheduler in use, the best one, and each decision.

use iopilot_dads::SchedulerCheck;
use iopilot_render::Scale;
use iopilot_render::number::tick;
use iopilot_render::svg::{Frame, escape, px};
use std::fmt::Write;

/// Height of one candidate's row, px.
const ROW: f64 = 22.0;

/// The section above the comparison.
pub(super) fn section(checks: &[SchedulerCheck]) -> String {
    if checks.is_empty() {
        return String::from(
            "<section><h2>Decisions</h2><p class=\"what\">The workload ended before the first check.</p></section>",
        );
    }
    let rows: String = checks
        .iter()
        .filter(|c| c.acts())
        .map(|c| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                tick(c.at_s),
                escape(&c.scheduler),
                escape(&c.decision),
                escape(&c.why)
            )
        })
        .collect();
    let table = match rows.is_empty() {
        true => "<p class=\"what\">No check changed the scheduler.</p>".to_owned(),
        false => format!(
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">at s</th><th scope=\"col\">from</th>\
             <th scope=\"col\">to</th><th scope=\"col\">why</th></tr></thead><tbody>{rows}</tbody></table></div>"
        ),
    };
    format!(
        "<section><h2>Decisions</h2><p class=\"what\">Bars: the scheduler in use. Dots: the candidate that would have \
         cost least in the seconds before each check.</p>{}{table}</section>\n",
        timeline(checks)
    )
}

fn timeline(checks: &[SchedulerCheck]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for check in checks {
        for candidate in &check.candidates {
            if !names.contains(&candidate.scheduler.as_str()) {
                names.push(&candidate.scheduler);
            }
        }
        if !names.contains(&check.scheduler.as_str()) {
            names.push(&check.scheduler);
        }
    }
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
    let height = ROW * names.len() as f64;
    let frame = Frame::new((1160.0, height + 52.0), (12.0 + 6.6 * longest).min(420.0), 8.0, 16.0, 40.0);
    let end = checks.last().map_or(1.0, |c| c.at_s);
    let x = Scale::linear((0.0, end), frame.x_range());
    let top = |name: &str| 8.0 + ROW * names.iter().position(|n| *n == name).unwrap_or(0) as f64;
    let mut out = frame.open("The scheduler in use, and the best candidate of each check, over time");
    out += &frame.x_axis(&x, 8, |v| format!("{} s", tick(v)));
    for name in &names {
        let _ = write!(
            out,
            "<text class=\"tick y\" x=\"{}\" y=\"{}\">{}</text>",
            px(frame.plot.0 - 6.0),
            px(top(name) + ROW * 0.7),
            escape(name)
        );
    }
    let mut from = 0.0;
    for check in checks {
        let (left, right) = (x.at(from), x.at(check.at_s));
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"var(--c0)\"><title>{}</title></rect>",
            px(left),
            px(top(&check.scheduler) + 5.0),
            px((right - left).max(0.5)),
            px(ROW - 10.0),
            escape(&format!("{} s: {}", tick(check.at_s), check.why))
        );
        if let Some(best) = check.candidates.iter().min_by(|a, b| a.cost.total_cmp(&b.cost)) {
            let _ = write!(
                out,
                "<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"var(--c1)\"/>",
                px(right),
                px(top(&best.scheduler) + ROW / 2.0)
            );
        }
        from = check.at_s;
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_dads::{CandidateCost, DecisionReason};

    #[test]
    fn every_check_has_its_bar_and_its_dot() {
        let check = |at_s: f64, scheduler: &str, decision: &str| SchedulerCheck {
            at_s,
            requests: 10,
            tried: 10,
            scheduler: scheduler.to_owned(),
            candidates: ["none", "bfq<"]
                .map(|s| CandidateCost { scheduler: s.to_owned(), cost: 1.0, judged: 1.0 })
                .to_vec(),
            measured_cost: None,
            model_error_percent: None,
            change_estimate_s: 0.0,
            predicted_gain_percent: None,
            measured_gain_percent: None,
            decision: decision.to_owned(),
            reason: DecisionReason::Best,
            why: "because & so".to_owned(),
        };
        let page = section(&[check(5.0, "none", "none"), check(10.0, "none", "bfq<"), check(15.0, "bfq<", "bfq<")]);
        assert_eq!((page.matches("<rect").count(), page.matches("<circle").count()), (3, 3));
        assert_eq!(page.matches("<tr><td>").count(), 1, "one change");
        assert!(page.contains("bfq&lt;") && page.contains("because &amp; so") && !page.contains("bfq<<"));
    }
}
