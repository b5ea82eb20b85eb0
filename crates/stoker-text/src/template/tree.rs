//! The syntax tree of a template.

use std::collections::BTreeMap;

use super::error::Position;

/// The templates that `define` and `block` name.
pub(super) type Definitions = BTreeMap<String, Block>;

/// A run of text and actions.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(String),
    Action(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    Call { name: String, argument: Option<Pipeline>, position: Position },
    Break,
    Continue,
}

/// `if`, `with` or `range`: a pipeline, what follows, and what follows otherwise.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) pipeline: Pipeline,
    pub(super) body: Block,
    pub(super) otherwise: Block,
}

/// Commands joined by `|`, and the variables that take the result.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub(super) position: Position,
    pub(super) variables: Vec<String>,
    pub(super) binding: Binding,
    pub(super) commands: Vec<Command>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Declare,
    Assign,
}

/// An operand, or a function and its arguments.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) first: Operand,
    pub(super) arguments: Vec<Operand>,
}

#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) position: Position,
    pub(super) term: Term,
    /// Names after dots: `.Vars.region` is the dot with two of them.
    pub(super) fields: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Variable(String),
    Function(super::function::Function),
    Pipeline(Box<Pipeline>),
}

impl Node {
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Block {
    /// Returns whether the block holds nothing but blanks.
    pub(super) fn is_blank(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
    }
}

impl Term {
    /// Returns whether a value piped into this could be used: only a call takes one.
    pub(super) fn is_constant(&self) -> bool {
        matches!(
            self,
            Self::Dot | Self::Nil | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Text(_)
        )
    }
}
