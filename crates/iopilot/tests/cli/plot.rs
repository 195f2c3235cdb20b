//! `iopilot disk plot`.

use crate::Sandbox;

#[test]
fn a_disk_with_an_arm_has_three_pictures_the_same_each_time() {
    let s = Sandbox::new();
    let told = s.ok("disk plot hp-c2247 -o pictures");
    assert_eq!(told.lines().count(), 3, "{told}");
    let first: Vec<String> = told.lines().map(|path| std::fs::read_to_string(s.path().join(path)).unwrap()).collect();
    assert!(first.iter().all(|svg| svg.starts_with("<svg ") && svg.ends_with("</svg>\n")));
    s.ok("disk plot hp-c2247 -o pictures");
    let again: Vec<String> = told.lines().map(|path| std::fs::read_to_string(s.path().join(path)).unwrap()).collect();
    assert_eq!(first, again);
}

#[test]
fn one_without_has_its_service_times_only() {
    let s = Sandbox::new();
    let told = s.ok("disk plot ssd-64-simple -o pictures");
    assert_eq!(told.trim(), "pictures/ssd-64-simple-service.svg");
}

#[test]
fn a_solid_state_drive_has_its_write_cliff() {
    let s = Sandbox::new();
    let told = s.ok("disk plot micron-7600-max-6t4 -o pictures");
    let paths: Vec<&str> = told.lines().collect();
    assert_eq!(paths, ["pictures/micron-7600-max-6t4-service.svg", "pictures/micron-7600-max-6t4-cliff.svg"]);
    let svg = std::fs::read_to_string(s.path().join(paths[1])).unwrap();
    // The curve falls, so its y coordinates grow.
    let line = svg.split("<path class=\"line writes\" d=\"M").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let heights: Vec<f64> =
        line.split('L').map(|point| point.split_whitespace().nth(1).unwrap().parse().unwrap()).collect();
    assert!(heights.len() > 20 && heights[heights.len() - 1] > heights[2] + 50.0, "{heights:?}");
}
