//! Go's `text/template` with `missingkey=error`: mapping paths, file contents and patch values.
//!
//! Written here because no library passed the vectors that users meet (an optional variable by
//! `index`, unterminated blocks as errors) with bounds and positions. A template reaches its
//! [`Context`] and nothing else: there is no function for files, environment or commands.
//!
//! Promises: the same template and context give the same text; a missing key, an unknown field or
//! a fault in the syntax is an error with line and column; time and memory are bounded by
//! [`Limits`] whatever the template says (B14).

mod command;
mod compare;
mod context;
mod error;
mod escape;
mod eval;
mod format;
mod function;
mod lex;
mod literal;
mod parse;
mod pipeline;
#[cfg(test)]
mod tests;
mod tree;
mod value;
mod verb;

pub use context::{Context, ContextValue};
pub use error::TemplateError;

use tree::{Block, Definitions};

/// The most that one rendering may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of output, and of any one text on the way there.
    pub output_bytes: usize,
    /// Actions, operands, rounds of a range, and every 64 bytes of text made on the way.
    ///
    /// Steps stand in for time, so that a template that is too slow is too slow everywhere.
    pub steps: u64,
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    main: Block,
    definitions: Definitions,
}

impl Default for Limits {
    fn default() -> Self {
        Self { output_bytes: 10 << 20, steps: 1_000_000 }
    }
}

impl Template {
    /// Parses a template, or says where and why it is wrong.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (main, definitions) = parse::template(text)?;
        Ok(Self { main, definitions })
    }

    /// Renders the template.
    pub fn render(&self, context: &Context, limits: Limits) -> Result<String, TemplateError> {
        eval::render(&self.main, &self.definitions, context, limits)
    }

    /// Returns whether there is nothing to render: the text has no action at all.
    pub fn is_plain(&self) -> bool {
        self.definitions.is_empty() && self.main.nodes.iter().all(tree::Node::is_text)
    }
}
