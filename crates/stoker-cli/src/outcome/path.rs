//! A path in a result: text where it is text, else its bytes; never raw on a terminal.

use std::fmt::{self, Display, Formatter};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Serialize, Serializer};
use stoker_run::{Quoted, RelPath};

/// A path as bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputPath(pub(crate) Vec<u8>);

impl From<&RelPath> for OutputPath {
    fn from(path: &RelPath) -> Self {
        Self(path.as_bytes().to_vec())
    }
}

impl Display for OutputPath {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Quoted(&self.0).fmt(formatter)
    }
}

impl Serialize for OutputPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Bytes {
            bytes: String,
        }
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Bytes { bytes: BASE64_STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_other_bytes_are_encoded() {
        let json = |bytes: &[u8]| serde_json::to_string(&OutputPath(bytes.to_vec())).unwrap();
        assert_eq!(json("projects/é\n".as_bytes()), r#""projects/é\n""#);
        assert_eq!(json(b"a\xff"), r#"{"bytes":"Yf8="}"#);
    }
}
