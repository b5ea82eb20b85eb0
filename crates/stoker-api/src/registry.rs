//! Macros for closed sets of names: each name is spelled once, beside the text that explains it.
//!
//! The reference pages are made from what these macros record, so they can't age apart from the
//! code.

/// Declares an enum whose variants each stand for one name in the outside world.
///
/// The doc comment of a variant is also its text in the reference pages.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visible enum $name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $name {
            /// Every one of them, in the order of the reference pages.
            pub const ALL: &[Self] = &[ $( Self::$variant, )+ ];

            /// Returns the name as the outside world spells it.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }

            /// Returns the text that explains it to users.
            pub const fn describe(self) -> &'static str {
                match self { $( Self::$variant => concat!($($doc),+).trim_ascii(), )+ }
            }

            /// Returns the one that `text` spells.
            pub fn find(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "{:?}", self.as_str())
            }
        }
    };
}

/// A registry with a place in JSON: the name as a string, and a schema that lists the names.
macro_rules! registry_in_json {
    ( $(#[$meta:meta])* $visible:vis enum $name:ident { $($variants:tt)+ } ) => {
        $crate::registry::registry! { $(#[$meta])* $visible enum $name { $($variants)+ } }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                Self::find(&text).ok_or_else(|| {
                    let known = Self::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>();
                    serde::de::Error::custom(format_args!(
                        "{text:?} is none of {}",
                        known.join(", ")
                    ))
                })
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names = Self::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>();
                schemars::json_schema!({ "type": "string", "enum": names })
            }
        }
    };
}

/// Declares constants of one type together with the list that the reference pages print.
macro_rules! amounts {
    ($( $(#[$meta:meta])* $name:ident = $value:literal, $unit:literal; )+) => {
        $( $(#[$meta])* pub const $name: usize = $value; )+

        /// Every limit with its unit, for the reference pages.
        pub const ALL: &[(usize, &str)] = &[ $( ($name, $unit), )+ ];
    };
}

pub(crate) use {amounts, registry, registry_in_json};
