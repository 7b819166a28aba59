//! What the README says is what the program has.

#[test]
fn the_table_of_options_is_the_programs() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("a README");
    assert!(
        readme.contains(glance::uci::options::markdown().trim_end()),
        "the table is not what `glance options` prints"
    );
}
