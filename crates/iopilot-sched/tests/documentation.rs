//! `docs/schedulers.md` names every scheduler, and every tunable with its unit and default.

use iopilot_sched::SCHEDULERS;

#[test]
fn the_page_names_every_scheduler_and_tunable() {
    let page = include_str!("../../../docs/schedulers.md");
    for scheduler in SCHEDULERS {
        assert!(page.contains(&format!("| `{}` |", scheduler.name)), "{} is missing", scheduler.name);
        let section = page.split(&format!("\n### `{}`\n", scheduler.name)).nth(1).unwrap_or_default();
        let section = section.split("\n### ").next().unwrap_or_default();
        for t in scheduler.tunables {
            let row = format!("| `{}` | {} | {} |", t.name, t.unit, t.default);
            assert!(section.contains(&row), "{}: no row `{row}`", scheduler.name);
        }
    }
}
