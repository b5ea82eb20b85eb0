//! Claims about the order of steps.

use super::*;
use crate::plan::Put;
use crate::source::ObjectId;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn put(text: &str) -> Put {
    Put {
        path: path(text),
        blob: ObjectId([0; 20]),
        placed: ObjectId([0; 20]),
        is_executable: false,
        size: 0,
        recipe: None,
        slot: (0, 0),
    }
}

fn flat(work: &Work) -> Vec<String> {
    let phrase = |step: &Step| {
        let name = format!("{step:?}");
        format!("{} {}", name.split(' ').next().unwrap(), step.path())
    };
    steps(work).iter().flatten().map(phrase).collect()
}

// R26
#[test]
fn payload_comes_before_its_manifest_and_goes_after_it() {
    let work = Work {
        puts: vec![put("p/v/resource.json"), put("p/v/view.json")],
        deletes: [path("p/old/resource.json"), path("p/old/data.bin"), path("p/v/gone.png")].into(),
        empties: vec![path("p/old")],
        ..Work::default()
    };
    assert_eq!(
        flat(&work),
        [
            "Delete p/old/resource.json",
            "Delete p/old/data.bin",
            "Place p/v/view.json",
            "Place p/v/resource.json",
            "Delete p/v/gone.png",
            "RemoveDir p/old",
        ]
    );
}

#[test]
fn what_is_in_the_way_goes_first() {
    let work = Work {
        puts: vec![put("p/was-dir"), put("p/was-file/x")],
        grafts: vec![path("p/was-file")],
        clears: vec![path("p/was-dir")],
        deletes: [path("p/was-dir/a/b"), path("p/was-dir-not"), path("p/was-file")].into(),
        ..Work::default()
    };
    assert_eq!(
        flat(&work),
        [
            "Delete p/was-dir/a/b",
            "Clear p/was-dir",
            "Delete p/was-file",
            "Graft p/was-file",
            "Place p/was-dir",
            "Delete p/was-dir-not",
        ]
    );
}

#[test]
fn steps_are_packed_and_unpacked() {
    let work = Work {
        puts: vec![put("a/b"), put("new/x")],
        grafts: vec![path("new")],
        clears: vec![path("c")],
        deletes: [path("d")].into(),
        chmods: vec![(path("e"), true), (path("f"), false)],
        empties: vec![path("g")],
        ..Work::default()
    };
    let steps = steps(&work);
    assert_eq!(unpack(&pack(&steps)), Some(steps));
}
