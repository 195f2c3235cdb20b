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
    let told = s.ok("disk plot ssd-64 -o pictures");
    assert_eq!(told.trim(), "pictures/ssd-64-service.svg");
}
