//! Tokens to the tree: text, control structures and definitions.

use super::TemplateError;
use super::error::Position;
use super::lex::{self, Kind, Token};
use super::literal;
use super::tree::{Block, Branch, Definitions, Node};

/// How deep blocks and parentheses may be nested; a parser that recurses needs a floor.
const MAX_NESTING: usize = 100;

/// How many variables may be in scope; each use looks through them.
const MAX_VARIABLES: usize = 1_000;

const KEYWORDS: [&str; 10] =
    ["if", "with", "range", "end", "else", "define", "block", "template", "break", "continue"];

pub(super) struct Parser<'t> {
    pub(super) tokens: Cursor<'t>,
    /// The variables in scope, innermost last; `$` is always there.
    pub(super) variables: Vec<String>,
    ranges: usize,
    nesting: usize,
    definitions: Definitions,
}

/// The tokens, and how far the parser has come.
pub(super) struct Cursor<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

enum Ending<'t> {
    EndOfText,
    End(Token<'t>),
    Else(Token<'t>),
}

/// What an action means for the block that it stands in.
enum Step<'t> {
    Node(Node),
    Nothing,
    Ending(Ending<'t>),
}

#[derive(Clone, Copy, PartialEq)]
enum Control {
    If,
    With,
    Range,
}

pub(super) fn template(text: &str) -> Result<(Block, Definitions), TemplateError> {
    let mut parser = Parser {
        tokens: Cursor::new(lex::tokens(text)?),
        variables: vec!["$".to_owned()],
        ranges: 0,
        nesting: 0,
        definitions: Definitions::new(),
    };
    let (main, ending) = parser.block()?;
    match ending {
        Ending::EndOfText => Ok((main, parser.definitions)),
        Ending::End(token) => Err(token.position.error("this {{end}} ends nothing")),
        Ending::Else(token) => Err(token.position.error("this {{else}} belongs to nothing")),
    }
}

impl<'t> Parser<'t> {
    /// Parses up to the `end` or `else` that belongs to someone else.
    fn block(&mut self) -> Result<(Block, Ending<'t>), TemplateError> {
        let mut nodes = Vec::new();
        loop {
            let token = self.tokens.next();
            match token.kind {
                Kind::End => return Ok((Block { nodes }, Ending::EndOfText)),
                Kind::Text => nodes.push(Node::Text(token.text.to_owned())),
                _ => match self.action(token.position)? {
                    Step::Node(node) => nodes.push(node),
                    Step::Nothing => {}
                    Step::Ending(ending) => return Ok((Block { nodes }, ending)),
                },
            }
        }
    }

    /// Parses what stands behind `{{`.
    fn action(&mut self, opened: Position) -> Result<Step<'t>, TemplateError> {
        let token = self.tokens.peek_beyond_space();
        let word = if token.kind == Kind::Word { token.text } else { "" };
        if KEYWORDS.contains(&word) {
            self.tokens.next_beyond_space();
        }
        Ok(match word {
            "if" => Step::Node(self.control(Control::If, opened)?),
            "with" => Step::Node(self.control(Control::With, opened)?),
            "range" => Step::Node(self.control(Control::Range, opened)?),
            "end" => {
                self.close("end")?;
                Step::Ending(Ending::End(token))
            }
            "else" => Step::Ending(Ending::Else(token)),
            "define" => {
                self.define(opened)?;
                Step::Nothing
            }
            "block" => Step::Node(self.named_block(opened)?),
            "template" => Step::Node(self.call(token.position)?),
            "break" => Step::Node(self.jump(token, Node::Break)?),
            "continue" => Step::Node(self.jump(token, Node::Continue)?),
            _ => Step::Node(Node::Action(self.pipeline("an action", Kind::Close)?)),
        })
    }

    fn control(&mut self, control: Control, opened: Position) -> Result<Node, TemplateError> {
        self.enter(opened)?;
        let scope = self.variables.len();
        let pipeline = self.pipeline(control.word(), Kind::Close)?;
        self.ranges += usize::from(control == Control::Range);
        let (body, ending) = self.block()?;
        self.ranges -= usize::from(control == Control::Range);
        let otherwise = match ending {
            Ending::End(_) => Block::default(),
            Ending::Else(_) => self.otherwise(control, opened)?,
            Ending::EndOfText => return Err(unterminated(control.word(), opened)),
        };
        self.variables.truncate(scope);
        self.nesting -= 1;
        let branch = Branch { pipeline, body, otherwise };
        Ok(match control {
            Control::If => Node::If(branch),
            Control::With => Node::With(branch),
            Control::Range => Node::Range(branch),
        })
    }

    /// Parses what follows `else`; `else if` and `else with` share the `end` of the first.
    fn otherwise(&mut self, control: Control, opened: Position) -> Result<Block, TemplateError> {
        let next = self.tokens.peek_beyond_space();
        if next.kind == Kind::Word && next.text == control.word() && control != Control::Range {
            self.tokens.next_beyond_space();
            return Ok(Block { nodes: vec![self.control(control, next.position)?] });
        }
        self.close("else")?;
        match self.block()? {
            (block, Ending::End(_)) => Ok(block),
            (_, Ending::Else(token)) => {
                Err(token.position.error("there is an {{else}} before this one"))
            }
            (_, Ending::EndOfText) => Err(unterminated(control.word(), opened)),
        }
    }

    fn define(&mut self, opened: Position) -> Result<(), TemplateError> {
        if self.nesting > 0 {
            return Err(opened.error("{{define}} is not allowed within another block"));
        }
        let name = self.name("define")?;
        self.close("define")?;
        self.body(name, "define", opened)
    }

    fn named_block(&mut self, opened: Position) -> Result<Node, TemplateError> {
        let name = self.name("block")?;
        let argument = Some(self.pipeline("block", Kind::Close)?);
        self.body(name.clone(), "block", opened)?;
        Ok(Node::Call { name, argument, position: opened })
    }

    /// Parses the body of a named template: it sees its own variables only.
    fn body(&mut self, name: String, word: &str, opened: Position) -> Result<(), TemplateError> {
        self.enter(opened)?;
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (block, ending) = self.block()?;
        self.variables = outer;
        self.ranges = ranges;
        self.nesting -= 1;
        match ending {
            Ending::End(_) => {}
            Ending::Else(token) => {
                return Err(token.position.error("this {{else}} belongs to nothing"));
            }
            Ending::EndOfText => return Err(unterminated(word, opened)),
        }
        match self.definitions.get(&name) {
            Some(known) if !known.is_blank() && !block.is_blank() => {
                return Err(opened.error(format!("the template {name:?} is defined twice")));
            }
            Some(_) if block.is_blank() => {}
            _ => {
                self.definitions.insert(name, block);
            }
        }
        Ok(())
    }

    fn call(&mut self, position: Position) -> Result<Node, TemplateError> {
        let name = self.name("template")?;
        if self.tokens.peek_beyond_space().kind == Kind::Close {
            self.tokens.next_beyond_space();
            return Ok(Node::Call { name, argument: None, position });
        }
        let argument = Some(self.pipeline("template", Kind::Close)?);
        Ok(Node::Call { name, argument, position })
    }

    fn jump(&mut self, token: Token<'_>, node: Node) -> Result<Node, TemplateError> {
        if self.ranges == 0 {
            let message = format!("{{{{{}}}}} is outside a range", token.text);
            return Err(token.position.error(message));
        }
        self.close(token.text)?;
        Ok(node)
    }

    fn name(&mut self, word: &str) -> Result<String, TemplateError> {
        let token = self.tokens.next_beyond_space();
        match token.kind {
            Kind::Quoted => {
                literal::quoted(token.text).map_err(|fault| token.position.error(fault))
            }
            Kind::Raw => Ok(literal::raw(token.text)),
            _ => Err(token.position.error(format!("{{{{{word}}}}} needs a name in quotes"))),
        }
    }

    fn close(&mut self, word: &str) -> Result<(), TemplateError> {
        let token = self.tokens.next_beyond_space();
        if token.kind == Kind::Close {
            return Ok(());
        }
        Err(unexpected(token, &format!("{{{{{word}}}}}")))
    }

    pub(super) fn declare(&mut self, name: &Token<'_>) -> Result<(), TemplateError> {
        if self.variables.len() >= MAX_VARIABLES {
            return Err(name.position.error(format!("more than {MAX_VARIABLES} variables")));
        }
        self.variables.push(name.text.to_owned());
        Ok(())
    }

    pub(super) fn enter(&mut self, position: Position) -> Result<(), TemplateError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(position.error(format!("more than {MAX_NESTING} blocks within each other")));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }
}

impl<'t> Cursor<'t> {
    fn new(tokens: Vec<Token<'t>>) -> Self {
        Self { tokens, at: 0 }
    }

    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn peek(&self) -> Token<'t> {
        // The last token is `End`, and it is never left behind.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn peek_beyond_space(&mut self) -> Token<'t> {
        while self.peek().kind == Kind::Space {
            self.at += 1;
        }
        self.peek()
    }

    pub(super) fn next_beyond_space(&mut self) -> Token<'t> {
        self.peek_beyond_space();
        self.next()
    }
}

impl Control {
    fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::With => "with",
            Self::Range => "range",
        }
    }
}

fn unterminated(word: &str, opened: Position) -> TemplateError {
    opened.error(format!("this {{{{{word}}}}} has no {{{{end}}}}"))
}

pub(super) fn unexpected(token: Token<'_>, place: &str) -> TemplateError {
    let found = match token.kind {
        Kind::Close | Kind::End => "the end of the action".to_owned(),
        _ => format!("{:?}", token.text),
    };
    token.position.error(format!("{found} is not expected in {place}"))
}
