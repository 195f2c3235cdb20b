//! The page of a validation: the distributions of measured and modelled times.

use super::html::STYLE;
use iopilot_block::Op;
use iopilot_calibrate::{PartValidation, Replayed, Validation};
use iopilot_render::Scale;
use iopilot_render::number::{percent, tick, time_tick};
use iopilot_render::svg::{Frame, escape, line};
use std::fmt::Write;

/// The whole page. `command` is what made it.
pub(super) fn page(title: &str, validation: &Validation, replayed: &[Replayed], command: &str) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header><p class=\"kind\">Validation of a drive's model</p><h1>{0}</h1></header>\n",
        escape(title)
    );
    out.push_str(&facts(validation));
    let _ = write!(
        out,
        "<section><h2>Service times</h2><p class=\"what\">The share of requests that took no longer: \
         <span class=\"key read\">measured</span> and <span class=\"key write\">modelled</span>. The demerit figure is the \
         root of the mean squared horizontal distance between the two.</p>{}",
        chart("all requests", replayed, |_| true)
    );
    out.push_str("<div class=\"pair\">");
    for (name, part, op) in [("reads", &validation.reads, Op::Read), ("writes", &validation.writes, Op::Write)] {
        let Some(part) = part else { continue };
        let _ = write!(
            out,
            "<figure><figcaption><b>{name}</b><span>{}</span></figcaption>{}</figure>",
            demerit(part),
            chart(name, replayed, |r| r.op == op)
        );
    }
    let _ = write!(
        out,
        "</div></section>\n<footer>Made by iopilot {} with <code>{}</code></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(command)
    );
    out
}

fn demerit(part: &PartValidation) -> String {
    format!("demerit {:.3} ms, {:.2} % of the mean", part.demerit_ms, part.demerit_percent)
}

fn facts(v: &Validation) -> String {
    let mut out = String::from("<dl class=\"facts\">");
    let mut fact = |name: &str, value: String| {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    };
    fact("Requests", v.requests.to_string());
    fact("Measured mean", format!("{:.3} ms", v.mean_measured_ms));
    fact("Modelled mean", format!("{:.3} ms", v.mean_model_ms));
    fact("Demerit", format!("{:.3} ms, {:.2} %", v.demerit_ms, v.demerit_percent));
    fact("Median error", format!("{:.3} ms", v.errors.median_ms));
    fact("Within 0.5 ms", percent(v.errors.within_half_ms));
    fact("Off by over half a rotation", percent(v.errors.off_half_rotation));
    out + "</dl>"
}

/// Both cumulative distributions of some of the requests.
fn chart(name: &str, replayed: &[Replayed], of: impl Fn(&&Replayed) -> bool) -> String {
    let frame = Frame::new((860.0, 360.0), 52.0, 12.0, 16.0, 40.0);
    let sorted = |value: fn(&Replayed) -> f64| {
        let mut times: Vec<f64> = replayed.iter().filter(&of).map(value).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (measured, model) = (sorted(|r| r.measured_ms), sorted(|r| r.model_ms));
    let ends = |f: fn(&Vec<f64>) -> Option<&f64>| [f(&measured), f(&model)].into_iter().flatten().copied();
    let low = ends(|v| v.first()).fold(f64::INFINITY, f64::min).max(0.01);
    let high = ends(|v| v.last()).fold(low, f64::max);
    let x = Scale::log((low, high), frame.x_range());
    let y = Scale::linear((0.0, 1.0), frame.y_range());
    let curve = |times: &[f64], class: &str| {
        let n = times.len() as f64;
        let points = times.iter().enumerate().map(|(i, &t)| (x.at(t), y.at((i + 1) as f64 / n)));
        format!("<path fill=\"none\" stroke=\"var(--{class})\" stroke-width=\"2\" d=\"{}\"/>", line(points))
    };
    let axes = frame.x_axis(&x, 6, time_tick) + &frame.y_axis(&y, 5, |v| format!("{} %", tick(v * 100.0)));
    let label = format!("Cumulative distributions of the service times of {name}");
    format!("{}{axes}{}{}</svg>", frame.open(&label), curve(&measured, "read"), curve(&model, "write"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_calibrate::compare;

    #[test]
    fn both_curves_of_all_reads_and_writes_are_drawn() {
        let replayed: Vec<Replayed> = (1..100)
            .map(|i| Replayed {
                op: if i % 3 == 0 { Op::Write } else { Op::Read },
                measured_ms: f64::from(i),
                model_ms: f64::from(i) + 0.5,
            })
            .collect();
        let page = page("a <b>", &compare(&replayed, 10.0).unwrap(), &replayed, "iopilot");
        assert_eq!(page.matches("stroke=\"var(--read)\"").count(), 3);
        assert_eq!(page.matches("stroke=\"var(--write)\"").count(), 3);
        assert!(page.contains("a &lt;b&gt;") && !page.contains("NaN") && page.ends_with("</html>\n"));
        // The page loads nothing.
        assert!(!["http:", "https:", "src="].iter().any(|word| page.contains(word)));
    }
}
