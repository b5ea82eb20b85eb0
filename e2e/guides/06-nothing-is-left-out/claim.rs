//! Every command of the documentation is run by a test, or listed with the reason why not.

use std::fs;

use stoker_testkit::page::{Page, pages, root};

use crate::{README, list};

/// The pages that the claims of this suite open; each follows all sections of its pages.
fn followed() -> Vec<String> {
    let mut followed = vec![README.to_owned()];
    let directory = root().join("e2e/guides");
    for entry in fs::read_dir(directory).unwrap() {
        let claim = fs::read_to_string(entry.unwrap().path().join("claim.rs"));
        let claim = claim.unwrap_or_default();
        let opened = claim.split("Guide::open(").skip(1).filter_map(|it| it.split('"').nth(1));
        followed.extend(opened.map(ToOwned::to_owned));
    }
    followed
}

#[test]
fn c06_every_command_is_run_or_listed() {
    let followed = followed();
    for page in pages() {
        for section in page.sections.iter().filter(|section| !section.script.is_empty()) {
            let title = &section.title;
            let places = [
                list::elsewhere(&page.path, title).is_some(),
                list::reason(&page.path, title).is_some(),
                followed.contains(&page.path),
            ];
            assert!(places.contains(&true), "{}: no test runs {title:?}", page.path);
            assert!(!(places[0] && places[1]), "{}: {title:?} is listed twice", page.path);
        }
    }
}

#[test]
fn c06_what_is_listed_exists() {
    let has_commands = |page: &str, title: &str| {
        let page = Page::read(page);
        assert!(!page.section(title).script.is_empty(), "{}: {title:?} has none", page.path);
    };
    for (page, titles, test) in list::ELSEWHERE {
        for title in *titles {
            has_commands(page, title);
        }
        let text = fs::read_to_string(root().join(test)).unwrap_or_default();
        let through_the_kit = page == &"docs/quickstart.md" && text.contains("quickstart.run(");
        assert!(text.contains(page) || through_the_kit, "{test} does not run {page}");
    }
    for (page, title, _) in list::NOT_RUN {
        has_commands(page, title);
    }
    let parts = list::PARTS.iter().map(|(page, title, _)| (page, title));
    for (page, title) in parts.chain(list::VALUES.iter().map(|(page, title)| (page, title))) {
        let page = Page::read(page);
        assert!(!page.section(title).manifests.is_empty(), "{}: {title:?} has none", page.path);
    }
}
