use proptest::prelude::*;

use super::*;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const C: &str = "cccccccccccccccccccccccccccccccccccccccc";
const D: &str = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";

fn commit(text: &str) -> Commit {
    Commit::parse(text).unwrap()
}

fn wanted(text: &str) -> Wanted {
    Wanted::read(&RefName::parse(text).unwrap()).unwrap()
}

fn plain(name: &str, object: &str) -> AdvertisedRef {
    AdvertisedRef { name: name.into(), object: commit(object), peeled: None }
}

fn annotated(name: &str, object: &str, peeled: &str) -> AdvertisedRef {
    AdvertisedRef { name: name.into(), object: commit(object), peeled: Some(commit(peeled)) }
}

fn resolved(text: &str, advertised: &[AdvertisedRef]) -> (String, String, usize) {
    match resolve(&wanted(text), advertised) {
        Ok(Answer::Resolved(found)) => {
            (found.name.to_string(), found.commit.to_string(), found.warnings.len())
        }
        other => panic!("{text:?} gave {other:?}"),
    }
}

fn remote() -> Vec<AdvertisedRef> {
    vec![
        plain("refs/heads/main", A),
        plain("refs/heads/abcdefa", B),
        plain(&format!("refs/heads/{C}"), B),
        plain("refs/heads/both", A),
        plain("refs/pull/7/head", C),
        plain("refs/tags/both", B),
        plain("refs/tags/light", B),
        annotated("refs/tags/v1.0.0", D, A),
        annotated("refs/tags/v1.2", D, B),
        plain("refs/tags/v2.0.0-rc.1", A),
        plain("refs/tags/nightly", A),
    ]
}

// B6, F13: one order, the same for everyone who asks.
#[test]
fn refs_resolve_in_the_promised_order() {
    let cases = [
        ("refs/heads/main", "refs/heads/main", A, 0),
        ("refs/pull/7/head", "refs/pull/7/head", C, 0),
        ("main", "refs/heads/main", A, 0),
        ("both", "refs/heads/both", A, 1),
        ("light", "refs/tags/light", B, 0),
        ("v1.0.0", "refs/tags/v1.0.0", A, 0),
        ("refs/tags/v1.0.0", "refs/tags/v1.0.0", A, 0),
        ("abcdefa", "refs/heads/abcdefa", B, 0),
        (A, A, A, 0),
        (D, A, A, 0),
        ("semver:^1", "refs/tags/v1.2", B, 0),
        ("semver:1.0.x", "refs/tags/v1.0.0", A, 0),
        ("semver:>=2.0.0-0", "refs/tags/v2.0.0-rc.1", A, 0),
    ];
    for (text, name, commit, warnings) in cases {
        let expected = (name.to_owned(), commit.to_owned(), warnings);
        assert_eq!(resolved(text, &remote()), expected, "{text:?}");
    }
}

#[test]
fn upper_case_digits_are_the_same_commit() {
    assert_eq!(resolved(&A.to_uppercase(), &remote()).1, A);
}

// B6: the branch is reachable by its full name only.
#[test]
fn forty_digits_are_never_a_branch() {
    let answer = resolve(&wanted(C), &remote()).unwrap();
    assert_eq!(answer, Answer::NeedsHistory(HistoryQuery { digits: C.into() }));
    assert_eq!(resolved(&format!("refs/heads/{C}"), &remote()).1, B);
}

// B8, R56: a pull request's head is advertised, but anyone can open one.
#[test]
fn the_head_of_a_pull_request_does_not_make_a_commit_reachable() {
    let nothing = History { reachable: vec![] };
    let refused = resolve_in(&nothing, &wanted(C), Unreachable::Refused);
    assert_eq!(refused, Err(Error::Unreachable { wanted: RefName::parse(C).unwrap() }));
    let allowed = resolve_in(&nothing, &wanted(C), Unreachable::Allowed).unwrap();
    assert_eq!(allowed.commit, commit(C));
    assert_eq!(allowed.warnings, [Warning::Unreachable { commit: commit(C) }]);
}

#[test]
fn a_short_id_is_found_in_the_history_or_not_at_all() {
    let answer = resolve(&wanted("ABCDEF0"), &remote()).unwrap();
    assert_eq!(answer, Answer::NeedsHistory(HistoryQuery { digits: "abcdef0".into() }));
    let history = |found: &[&str]| History { reachable: found.iter().map(|c| commit(c)).collect() };
    let short = wanted("abcdefa1");
    let one = resolve_in(&history(&[D]), &short, Unreachable::Refused).unwrap();
    assert_eq!((&*one.name, one.commit.as_str()), (D, D));
    let none = resolve_in(&history(&[]), &short, Unreachable::Allowed).unwrap_err();
    assert!(matches!(none, Error::NotFound { .. }));
    let many = resolve_in(&history(&[A, B]), &short, Unreachable::Refused).unwrap_err();
    assert_eq!(many.to_string(), format!("\"abcdefa1\" is ambiguous: {A}, {B}"));
}

#[test]
fn six_digits_are_a_name_and_nothing_else() {
    let error = resolve(&wanted("abcdef"), &remote()).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
}

#[test]
fn a_missing_ref_names_one_that_looks_like_it() {
    for (text, nearest) in
        [("Main", "refs/heads/main"), ("master", "refs/heads/main"), ("LIGHT", "refs/tags/light")]
    {
        let error = resolve(&wanted(text), &remote()).unwrap_err();
        assert!(error.to_string().ends_with(&format!("did you mean {nearest:?}?")), "{error}");
    }
    let error = resolve(&wanted("refs/heads/x"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "ref \"refs/heads/x\" is not on the remote");
}

#[test]
fn the_newest_version_wins_by_number_not_by_text() {
    let tags = [plain("refs/tags/v1.9.0", A), plain("refs/tags/v1.10.0", B)];
    assert_eq!(resolved("semver:^1", &tags).1, B);
    let error = resolve(&wanted("semver:^3"), &tags).unwrap_err();
    assert!(matches!(error, Error::NoVersion { versions: 2, .. }));
}

#[test]
fn two_names_of_one_version_warn_only_if_their_commits_differ() {
    let same = [plain("refs/tags/v1.0.0", A), annotated("refs/tags/1.0", D, A)];
    assert_eq!(resolved("semver:1", &same), ("refs/tags/1.0".into(), A.into(), 0));
    let differ = [plain("refs/tags/v1.0.0", A), plain("refs/tags/1.0", B)];
    assert_eq!(resolved("semver:1", &differ), ("refs/tags/1.0".into(), B.into(), 1));
}

#[test]
fn only_what_is_needed_is_listed() {
    let cases = [
        ("main", Scope::BranchesAndTags),
        (A, Scope::BranchesAndTags),
        ("refs/heads/main", Scope::Branches),
        ("refs/tags/x", Scope::Tags),
        ("refs/pull/1/head", Scope::All),
        ("semver:^1", Scope::Tags),
    ];
    for (text, scope) in cases {
        assert_eq!(wanted(text).scope(), scope, "{text:?}");
    }
}

#[test]
fn a_range_that_can_not_be_read_says_why() {
    let error = Wanted::read(&RefName::parse("semver:1.2.3.4").unwrap()).unwrap_err();
    assert!(matches!(error, Error::Range { .. }));
}

proptest! {
    // Whatever is asked and advertised, an answer is one of the advertised commits.
    #[test]
    fn an_answer_was_advertised(text in "[a-f0-9v./]{1,12}", names in prop::collection::vec("(heads|tags|pull)/[a-f0-9v.]{1,9}", 0..8)) {
        let Ok(name) = RefName::parse(&text) else { return Ok(()) };
        let refs: Vec<_> = names.iter().map(|name| plain(&format!("refs/{name}"), A)).collect();
        if let Ok(Answer::Resolved(found)) = resolve(&Wanted::read(&name).unwrap(), &refs) {
            prop_assert_eq!(found.commit, commit(A));
            prop_assert!(refs.iter().any(|known| known.name == found.name));
        }
    }

    // The order in which a remote lists its refs must not matter.
    #[test]
    fn the_order_of_the_listing_changes_nothing(seed in any::<u64>(), text in "(main|both|light|v1[.]0[.]0|semver:[*]|semver:\\^1)") {
        let mut shuffled = remote();
        let len = shuffled.len();
        for i in 0..len {
            shuffled.swap(i, usize::try_from(seed.rotate_left(u32::try_from(i).unwrap() * 5) % len as u64).unwrap());
        }
        prop_assert_eq!(resolved(&text, &shuffled), resolved(&text, &remote()));
    }
}

#[test]
fn head_is_what_the_remote_calls_so() {
    let wanted = Wanted::read(&RefName::parse("HEAD").unwrap()).unwrap();
    assert_eq!(wanted.scope(), Scope::All);
    let id = Commit::parse(&"a".repeat(40)).unwrap();
    let named = |name: &str| AdvertisedRef { name: name.into(), object: id.clone(), peeled: None };
    let answer = resolve(&wanted, &[named("HEAD"), named("refs/heads/trunk")]);
    let Ok(Answer::Resolved(resolution)) = answer else { panic!("{answer:?}") };
    assert_eq!((&*resolution.name, &resolution.commit), ("HEAD", &id));
    assert!(matches!(resolve(&wanted, &[named("refs/heads/trunk")]), Err(Error::NotFound { .. })));
}

#[test]
fn an_empty_repository_and_an_id_that_is_too_short_are_told_as_that() {
    let read = |text: &str| Wanted::read(&RefName::parse(text).unwrap()).unwrap();
    for text in ["main", "HEAD", "refs/pull/1/head", "abcdef1", &"a".repeat(40)] {
        assert!(matches!(resolve(&read(text), &[]), Err(Error::Empty { .. })), "{text}");
    }
    let object = Commit::parse(&"a".repeat(40)).unwrap();
    let main = [AdvertisedRef { name: "refs/heads/main".into(), object, peeled: None }];
    for (text, is_short) in [("abc123", true), ("1a2b", true), ("beef", false), ("1ab", false)] {
        let refused = resolve(&read(text), &main);
        assert_eq!(matches!(refused, Err(Error::TooShort { .. })), is_short, "{text}");
    }
}
