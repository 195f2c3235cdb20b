//! Tables and pictures in the documentation are what the models do.

use iopilot_device::Catalogue;
use std::path::Path;

/// Checks that `page` holds `text` between its marks `<!-- mark -->` and `<!-- /mark -->`.
///
/// # Panics
/// Where it does not, with the text to paste.
pub(crate) fn assert_documented(page: &str, mark: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let whole = std::fs::read_to_string(&path).expect("the page");
    let (_, rest) = whole.split_once(&format!("<!-- {mark} -->\n")).expect("the first mark");
    let (written, _) = rest.split_once(&format!("<!-- /{mark} -->")).expect("the second mark");
    assert!(written == text, "between the marks `{mark}` of {page} there should be:\n\n{text}");
}

#[test]
fn the_table_in_the_documentation_is_what_the_models_do() {
    // `iopilot disk list --markdown` prints it.
    assert_documented("docs/reference/disks.md", "catalogue", &Catalogue::markdown().expect("sound descriptions"));
}
