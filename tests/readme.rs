//! What the README says is what the program has, and what the pages link to is there.

use std::path::{Path, PathBuf};

/// The folders that have pages.
const FOLDERS: [&str; 5] = ["", "benches", "tablebases", "trainer", "weights"];

fn here(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// All pages of the project.
fn pages() -> impl Iterator<Item = PathBuf> {
    let files = FOLDERS.into_iter().flat_map(|folder| std::fs::read_dir(here(folder)).expect(folder));
    files.map(|file| file.expect("readable").path()).filter(|path| path.extension().is_some_and(|end| end == "md"))
}

/// What follows `](` up to `)`, of every link that does not leave the project.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://"))
}

/// What a link to a heading of a page ends with: lower case, hyphens for blanks, nothing but those, letters, digits and underscores.
fn headings(text: &str) -> Vec<String> {
    let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let slug = |title: &str| {
        let kept = title.chars().filter(|&c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
    };
    titles.map(slug).collect()
}

#[test]
fn the_table_of_options_is_the_programs() {
    assert!(
        read(&here("README.md")).contains(glance::uci::options::markdown().trim_end()),
        "the table is not what `glance options` prints"
    );
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut followed = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let name = page.display();
            assert!(target.exists(), "{name}: {link}");
            if let Some(heading) = heading {
                assert!(headings(&read(&target)).iter().any(|title| title == heading), "{name}: no heading for {link}");
            }
            followed += 1;
        }
    }
    assert!(followed > 40, "{followed} links");
}
