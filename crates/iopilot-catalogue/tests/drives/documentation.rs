//! Tables and pictures in the documentation agree with the models.

use iopilot_catalogue::Catalogue;
use iopilot_testing::assert_documented;

#[test]
fn the_table_in_the_documentation_is_what_the_models_do() {
    // `iopilot disk list --markdown` prints it.
    assert_documented("docs/reference/disks.md", "catalogue", &Catalogue::markdown().expect("sound descriptions"));
}
