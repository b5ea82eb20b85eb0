//! Reads a JSON body as it arrives, and keeps only the fields that a format needs.
//!
//! # Promises
//! A body is scanned before its sender is authenticated, so a body keeps at most [`BUDGET`] bytes,
//! whatever it holds. What is not JSON is refused, also at its end.

mod text;

use std::collections::BTreeMap;

use text::{Progress, Text};

/// How deep objects and lists may be nested.
const DEEPEST: usize = 64;
/// Bytes of a text that is kept. A longer one counts as absent.
const LONGEST: usize = 2048;
/// Bytes that one body may keep, paths and bookkeeping included. What comes later counts as absent.
const BUDGET: usize = 16 * 1024;
/// Bytes of bookkeeping per field that is kept.
const OVERHEAD: usize = 64;
/// Bytes of a key that is compared.
const LONGEST_KEY: usize = 128;
/// Entries of a list that are looked at.
pub(super) const LISTED: usize = 100;

/// The paths that formats look at; `*` stands for an index.
const PATHS: &[&str] = &[
    "action",
    "after",
    "app/metadata/annotations/git.ref",
    "at",
    "changes/*/ref/id",
    "changes/*/type",
    "deleted",
    "event_name",
    "eventType",
    "freight/commits/*/branch",
    "freight/commits/*/id",
    "freight/commits/*/tag",
    "involvedObject/kind",
    "metadata/kustomize.toolkit.fluxcd.io/revision",
    "metadata/revision",
    "metadata/source.toolkit.fluxcd.io/revision",
    "object_kind",
    "project/path_with_namespace",
    "publisherId",
    "push/changes/*/new/name",
    "push/changes/*/new/type",
    "ref",
    "ref_type",
    "release/draft",
    "release/prerelease",
    "release/published_at",
    "release/tag_name",
    "released_at",
    "reportingController",
    "repository",
    "repository/full_name",
    "repository/project/key",
    "repository/slug",
    "resource/refUpdates/*/name",
    "resource/refUpdates/*/newObjectId",
    "resource/repository/remoteUrl",
    "tag",
];

/// A body that is not JSON, or nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body is not JSON")]
pub struct NotJson;

/// A value without parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// A string.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// A number or `null`, which no format needs.
    Other,
}

/// The fields that were kept, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(BTreeMap<String, Scalar>);

/// Reads a body.
#[derive(Debug)]
pub struct Scanner {
    state: State,
    frames: Vec<Frame>,
    fields: Fields,
    text: Text,
    /// What is left of the budget.
    left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    /// After `[`: a value or the end.
    FirstElement,
    /// After `{`: a key or the end.
    FirstKey,
    Key,
    Colon,
    After,
    InKey,
    InText,
    InNumber,
    InWord {
        word: &'static [u8],
        at: usize,
    },
}

/// An object or a list that is open.
#[derive(Debug)]
struct Frame {
    step: Step,
    /// Whether a wanted path leads through it. Most of a large body does not.
    is_wanted: bool,
}

#[derive(Debug)]
enum Step {
    Object { key: String },
    List { index: usize },
}

impl Fields {
    /// Returns a field.
    pub fn get(&self, path: &str) -> Option<&Scalar> {
        self.0.get(path)
    }

    /// Returns a field that is a string.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            Scalar::Text(text) => Some(text),
            Scalar::Bool(_) | Scalar::Other => None,
        }
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            state: State::Value,
            frames: Vec::new(),
            fields: Fields::default(),
            text: Text::default(),
            left: BUDGET,
        }
    }
}

impl Scanner {
    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), NotJson> {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            // Inside of a string that is not kept, most of a large body passes here.
            if matches!(self.state, State::InText | State::InKey) {
                let plain = self.text.skip_plain(rest);
                if plain > 0 {
                    rest = &rest[plain..];
                    continue;
                }
            }
            self.step(*byte)?;
            rest = after;
        }
        Ok(())
    }

    /// Returns the fields, if what was read is one whole value.
    pub fn finish(mut self) -> Result<Fields, NotJson> {
        if self.state == State::InNumber {
            self.end_value();
        }
        let is_whole = self.state == State::After && self.frames.is_empty();
        if is_whole { Ok(self.fields) } else { Err(NotJson) }
    }

    fn step(&mut self, byte: u8) -> Result<(), NotJson> {
        match self.state {
            State::InKey | State::InText => return self.string(byte),
            State::InNumber => {
                if matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') {
                    return Ok(());
                }
                self.end_value();
            }
            State::InWord { word, at } => return self.word(word, at, byte),
            _ => {}
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        match (self.state, byte) {
            (State::FirstElement, b']') | (State::FirstKey, b'}') => self.close(),
            (State::Value | State::FirstElement, _) => return self.begin(byte),
            (State::FirstKey | State::Key, b'"') => {
                let is_wanted = self.frames.last().is_some_and(|frame| frame.is_wanted);
                self.text.begin(if is_wanted { LONGEST_KEY } else { 0 });
                self.state = State::InKey;
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::After, _) => return self.after(byte),
            _ => return Err(NotJson),
        }
        Ok(())
    }

    fn begin(&mut self, byte: u8) -> Result<(), NotJson> {
        let word: &'static [u8] = match byte {
            b'{' | b'[' if self.frames.len() >= DEEPEST => return Err(NotJson),
            b'{' => {
                self.open(Step::Object { key: String::new() });
                self.state = State::FirstKey;
                return Ok(());
            }
            b'[' => {
                self.open(Step::List { index: 0 });
                self.state = State::FirstElement;
                return Ok(());
            }
            b'"' => {
                let most = if self.path().is_some() { LONGEST.min(self.left) } else { 0 };
                self.text.begin(most);
                self.state = State::InText;
                return Ok(());
            }
            b'-' | b'0'..=b'9' => {
                self.state = State::InNumber;
                return Ok(());
            }
            b't' => b"true",
            b'f' => b"false",
            b'n' => b"null",
            _ => return Err(NotJson),
        };
        self.state = State::InWord { word, at: 1 };
        Ok(())
    }

    fn after(&mut self, byte: u8) -> Result<(), NotJson> {
        match (self.frames.last_mut().map(|frame| &mut frame.step), byte) {
            (Some(Step::Object { .. }), b',') => self.state = State::Key,
            (Some(Step::List { index }), b',') => {
                *index += 1;
                self.state = State::Value;
            }
            (Some(Step::Object { .. }), b'}') | (Some(Step::List { .. }), b']') => self.close(),
            _ => return Err(NotJson),
        }
        Ok(())
    }

    fn string(&mut self, byte: u8) -> Result<(), NotJson> {
        let text = match self.text.feed(byte).map_err(|_| NotJson)? {
            Progress::More => return Ok(()),
            Progress::Kept(text) => Some(text),
            Progress::Dropped => None,
        };
        if self.state == State::InKey {
            if let Some(Frame { step: Step::Object { key }, .. }) = self.frames.last_mut() {
                *key = text.unwrap_or_default();
            }
            self.state = State::Colon;
            return Ok(());
        }
        if let (Some(path), Some(text)) = (self.path(), text) {
            self.keep(path, Scalar::Text(text));
        }
        self.end_value();
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], at: usize, byte: u8) -> Result<(), NotJson> {
        if word.get(at) != Some(&byte) {
            return Err(NotJson);
        }
        if at + 1 < word.len() {
            self.state = State::InWord { word, at: at + 1 };
            return Ok(());
        }
        if let Some(path) = self.path() {
            let scalar = match word {
                b"true" => Scalar::Bool(true),
                b"false" => Scalar::Bool(false),
                _ => Scalar::Other,
            };
            self.keep(path, scalar);
        }
        self.end_value();
        Ok(())
    }

    fn open(&mut self, step: Step) {
        let leads_on =
            |wanted: &&'static str| self.rest(wanted).is_some_and(|it| it.starts_with('/'));
        let is_wanted = match self.frames.last() {
            None => true,
            Some(parent) => parent.is_wanted && PATHS.iter().any(leads_on),
        };
        self.frames.push(Frame { step, is_wanted });
    }

    fn close(&mut self) {
        self.frames.pop();
        self.end_value();
    }

    fn end_value(&mut self) {
        self.state = State::After;
    }

    fn keep(&mut self, path: String, scalar: Scalar) {
        let length = if let Scalar::Text(text) = &scalar { text.len() } else { 0 };
        if let Some(left) = self.left.checked_sub(OVERHEAD + path.len() + length) {
            self.left = left;
            self.fields.0.insert(path, scalar);
        }
    }

    /// Returns the path of the value that begins here, if a format looks at it.
    fn path(&self) -> Option<String> {
        self.frames.last().filter(|frame| frame.is_wanted)?;
        PATHS.iter().find(|wanted| self.rest(wanted) == Some(""))?;
        let parts = self.frames.iter().map(|frame| match &frame.step {
            Step::Object { key } => key.clone(),
            Step::List { index } => index.to_string(),
        });
        Some(parts.collect::<Vec<_>>().join("/"))
    }

    /// Returns what is left of a wanted path behind the place that was reached.
    fn rest(&self, wanted: &'static str) -> Option<&'static str> {
        let mut rest = wanted;
        for (depth, frame) in self.frames.iter().enumerate() {
            let begun = if depth == 0 { rest } else { rest.strip_prefix('/')? };
            rest = match &frame.step {
                Step::Object { key } if key.is_empty() => return None,
                Step::Object { key } => begun.strip_prefix(key.as_str())?,
                Step::List { index } if *index < LISTED => begun.strip_prefix('*')?,
                Step::List { .. } => return None,
            };
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests;
