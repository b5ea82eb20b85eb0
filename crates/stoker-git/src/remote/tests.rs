use proptest::prelude::*;

use super::*;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

#[test]
fn a_listing_is_read_with_its_peeled_tags() {
    let listing = format!("{A}\trefs/heads/main\n{B}\trefs/tags/v1\n{A}\trefs/tags/v1^{{}}\n");
    let refs = parse(listing.as_bytes()).unwrap();
    let commit = |text: &str| Commit::parse(text).unwrap();
    let tag =
        AdvertisedRef { name: "refs/tags/v1".into(), object: commit(B), peeled: Some(commit(A)) };
    assert_eq!(refs.len(), 2);
    assert_eq!(refs[1], tag);
}

#[test]
fn names_that_are_no_text_are_left_out_and_garbage_is_refused() {
    let listing =
        [A.as_bytes(), b"\trefs/heads/\xff\n", A.as_bytes(), b"\trefs/heads/x\n"].concat();
    assert_eq!(parse(&listing).unwrap().len(), 1);
    assert_eq!(parse(b"garbage\n"), Err(Fault::Damaged));
    assert_eq!(parse(b"1234\trefs/heads/x\n"), Err(Fault::Damaged));
    assert_eq!(parse(b""), Ok(vec![]));
}

#[test]
fn ids_of_64_digits_are_told_from_garbage() {
    let listing = format!("{A}{}\trefs/heads/main\n", &B[..24]);
    assert_eq!(parse(listing.as_bytes()), Err(Fault::ObjectFormat));
    assert_eq!(parse(listing.replace('a', "x").as_bytes()), Err(Fault::Damaged));
}

proptest! {
    #[test]
    fn no_listing_makes_it_panic(listing in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(parse(&listing));
    }
}
