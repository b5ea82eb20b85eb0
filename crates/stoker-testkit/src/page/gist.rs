//! Whether output is what a page shows, apart from what differs in every run.

/// Returns the first of the shown lines that the output does not have behind the lines before it.
pub(super) fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let output = plain(output);
    let mut rest = &*output;
    shown.iter().map(String::as_str).find(|line| {
        let mut parts = line.split('…').map(plain);
        !parts.all(|part| match rest.split_once(&part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    })
}

/// The words, with a mark for each that differs in every run.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let bare = word.trim_matches([',', '.', ';', ':', '(', ')']);
        let varies = !bare.is_empty() && (is_commit(bare) || is_time(bare));
        if varies { word.replace(bare, "#") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_commit(word: &str) -> bool {
    let is_hex = word.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it));
    (7..=40).contains(&word.len()) && is_hex
}

/// An age or a duration (`8s`, `3m20s`, `1.5`), or a moment (`2026-01-01T10:00:00Z`).
fn is_time(word: &str) -> bool {
    let of_durations = |it: char| it.is_ascii_digit() || ".smhd".contains(it);
    let of_moments = |it: char| it.is_ascii_digit() || "-:.TZ".contains(it);
    let is_moment = word.len() >= 20 && word.chars().all(of_moments);
    let is_duration = word.starts_with(|it: char| it.is_ascii_digit())
        && word.ends_with(['s', 'm', 'h', 'd'])
        && word.chars().all(of_durations);
    is_moment || is_duration
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_of(shown: &[&str], output: &str) -> Option<String> {
        let shown: Vec<String> = shown.iter().map(|&line| line.to_owned()).collect();
        missing(&shown, output).map(ToOwned::to_owned)
    }

    #[test]
    fn commits_ages_and_blanks_may_differ() {
        let output = "NAME    READY   AGE\nplant   True    3m20s\nat 0fd84dc, was 56b1b6d\n";
        assert_eq!(missing_of(&["NAME  READY  AGE", "plant  True  8s"], output), None);
        assert_eq!(missing_of(&["at f257c4f, was 49f9166"], output), None);
        assert_eq!(missing_of(&["plant … 8s"], output), None);
        assert_eq!(missing_of(&["plant  False  8s"], output), Some("plant  False  8s".to_owned()));
    }

    #[test]
    fn lines_come_in_their_order() {
        assert_eq!(missing_of(&["one", "two"], "one\nthree\ntwo"), None);
        assert_eq!(missing_of(&["one", "two"], "two one"), Some("two".to_owned()));
        assert_eq!(missing_of(&["one", "one"], "one"), Some("one".to_owned()));
    }
}
