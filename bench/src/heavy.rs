//! A repository that is large in bytes.

use stoker_testkit::git::Tree;

const MIB: u64 = 1024 * 1024;

/// Returns about so many megabytes that do not compress, in tens: two big files, some of middle
/// size, many small ones.
pub fn tree(tens: u64) -> Tree {
    let mut tree = Tree::new();
    let sizes = [(2 * tens * MIB, 2), (4 * MIB, tens), (64 * 1024, 32 * tens)];
    let mut seed = 0;
    for (size, count) in sizes {
        for number in 0..count {
            let path = format!("projects/heavy/images/{size}/{number:05}.bin");
            tree = tree.noise(path, seed, size);
            seed += 1;
        }
    }
    tree.file("projects/heavy/project.json", "{}").file("config/resources/core/x.json", "{}")
}

/// Returns a number of bytes in mebibytes.
pub fn mebibytes(bytes: u64) -> f64 {
    let kibibytes = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
    f64::from(kibibytes) / 1024.0
}
