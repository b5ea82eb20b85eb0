use super::*;

const MIB: u64 = 1024 * 1024;

/// A store with packs of these sizes, which hold nothing.
fn store_of(sizes: &[u64]) -> (tempfile::TempDir, RepoUrl) {
    let root = tempfile::tempdir().unwrap();
    let url = RepoUrl::parse("https://git.example/plant.git").unwrap();
    repair(root.path(), &url).unwrap();
    for (number, size) in sizes.iter().enumerate() {
        for (end, size) in [("pack", *size), ("idx", 1)] {
            let name = format!("{REPOSITORY}/objects/pack/pack-{number}.{end}");
            fs::File::create(root.path().join(name)).unwrap().set_len(size).unwrap();
        }
    }
    (root, url)
}

#[test]
fn a_store_is_crowded_by_many_packs_or_by_bytes_that_its_largest_pack_does_not_explain() {
    for (sizes, is_crowded) in [
        (vec![MIB; 60], false),
        (vec![1; 61], true),
        // One large commit, and what changed since.
        ([vec![900 * MIB], vec![40 * MIB; 50]].concat(), false),
        (vec![40 * MIB; 16], false),
        // Nothing of the first is left after a while.
        (vec![40 * MIB; 17], true),
        (vec![3 * MIB; 21], false),
        (vec![3 * MIB; 22], true),
    ] {
        let (root, url) = store_of(&sizes);
        let found = if is_crowded { Found::Crowded } else { Found::Kept };
        assert_eq!(repair(root.path(), &url).unwrap(), found, "{} packs", sizes.len());
        assert!(has_packs(root.path()), "what is there may be what is wanted");
    }
}

#[test]
fn an_emptied_store_is_one_that_is_kept() {
    let (root, url) = store_of(&[MIB]);
    write(&root.path().join(KNOWN), b"1234567 1").unwrap();
    fs::write(root.path().join(HISTORY).join("objects/pack/tmp_pack_x"), "half").unwrap();
    empty(root.path(), &url).unwrap();
    assert!(!has_packs(root.path()));
    assert!(root.path().join(KNOWN).exists());
    assert_eq!(repair(root.path(), &url).unwrap(), Found::Kept);
}
