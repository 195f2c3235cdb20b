//! `docs/reference/schedulers.md` names every scheduler, and every tunable with its unit and default.

use iopilot_sched::{Prio, PrioTunables, SCHEDULERS};

#[test]
fn the_page_names_every_scheduler_and_tunable() {
    let page = include_str!("../../../docs/reference/schedulers.md");
    for scheduler in SCHEDULERS {
        let name = scheduler.name;
        assert!(page.contains(&format!("| `{name}` |")), "docs/reference/schedulers.md: no row `| `{name}` | … |`");
        let section = page.split(&format!("\n### `{name}`\n")).nth(1).unwrap_or_default();
        let section = section.split("\n### ").next().unwrap_or_default();
        let needed = !scheduler.tunables.is_empty();
        assert!(
            !needed || !section.is_empty(),
            "docs/reference/schedulers.md: no section \"### `{name}`\" for its tunables"
        );
        for t in scheduler.tunables {
            let row = format!("| `{}` | {} | {} |", t.name, t.unit, t.default);
            assert!(section.contains(&row), "docs/reference/schedulers.md, {name}: no row `{row}`");
        }
    }
}

#[test]
fn the_page_tells_what_goes_around_schedulers() {
    let page = include_str!("../../../docs/reference/schedulers.md");
    assert!(page.contains(&format!("| `prio(…)` | that of the scheduler inside | {} |", Prio::SUMMARY)));
    let section = page.split("\n### `prio`\n").nth(1).unwrap_or_default();
    for t in PrioTunables::SPECS {
        let row = format!("| `{}` | {} | {} |", t.name, t.unit, t.default);
        assert!(section.contains(&row), "docs/reference/schedulers.md, prio: no row `{row}`");
    }
}
