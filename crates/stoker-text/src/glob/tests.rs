use proptest::prelude::*;

use super::*;

fn glob(pattern: &str) -> Glob {
    Glob::parse(pattern).unwrap()
}
