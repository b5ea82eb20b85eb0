//! Strings with a meaning: parsed once at the edge, then carried as a type.
//!
//! A value of one of these types is proof that the text was checked; nothing downstream checks
//! again. `Debug` prints the quoted text, except for a [`Secret`], which never prints at all.
//! The schema's CEL rules accept exactly what these parsers accept, and a test holds them together.

pub mod glob;
mod interval;
mod name;
mod ref_name;
mod rel_path;
mod secret;
pub mod template;
mod url;

pub use interval::{Interval, IntervalError};
pub use name::{Commit, CommitError, GatewayName, NameError, ProfileName, is_identifier};
pub use ref_name::{RefName, RefNameError};
pub use rel_path::{RelPath, RelPathError};
pub use secret::Secret;
pub use url::{HttpUrl, RepoUrl, SafeUrl, Transport, UrlError};

/// Declares a checked string: how it prints, compares, and goes through JSON.
///
/// The type brings `fn check(text: &str) -> Result<Cow<str>, Error>`, which returns the text as it
/// is kept.
macro_rules! word {
    ($(#[$meta:meta])* $name:ident, $error:ty) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Parses `text`, or says what is wrong with it.
            pub fn parse(text: &str) -> Result<Self, $error> {
                Ok(Self(Self::check(text)?.into()))
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "{:?}", &*self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use word;

#[cfg(test)]
mod tests;
