//! Tokens to pipelines: variables, commands and operands.

use super::TemplateError;
use super::function::Function;
use super::lex::{Kind, Token};
use super::literal;
use super::parse::{Parser, unexpected};
use super::tree::{Binding, Command, Operand, Pipeline, Term};

impl Parser<'_> {
    /// Parses a pipeline up to and including the token that ends it.
    pub(super) fn pipeline(&mut self, place: &str, end: Kind) -> Result<Pipeline, TemplateError> {
        let position = self.tokens.peek_beyond_space().position;
        let (variables, binding) = self.declarations(place)?;
        let mut commands: Vec<Command> = Vec::new();
        loop {
            let token = self.tokens.peek_beyond_space();
            if token.kind == end {
                self.tokens.next();
                break;
            }
            let command = self.command(place)?;
            if !commands.is_empty() && command.first.is_constant() {
                let message = "a value can only be piped into a function";
                return Err(command.first.position.error(message));
            }
            commands.push(command);
        }
        if commands.is_empty() {
            return Err(position.error(format!("a value is missing in {place}")));
        }
        Ok(Pipeline { position, variables, binding, commands })
    }

    /// Parses `$a :=`, `$a =` and, for a range, `$a, $b :=`.
    fn declarations(&mut self, place: &str) -> Result<(Vec<String>, Binding), TemplateError> {
        let start = self.tokens.mark();
        let mut names: Vec<Token<'_>> = Vec::new();
        loop {
            let name = self.tokens.peek_beyond_space();
            if name.kind != Kind::Variable {
                break;
            }
            self.tokens.next();
            names.push(name);
            match self.tokens.peek_beyond_space().kind {
                Kind::Comma if place == "range" && names.len() == 1 => {
                    self.tokens.next();
                }
                Kind::Declare => {
                    self.tokens.next();
                    names.iter().try_for_each(|name| self.declare(name))?;
                    return Ok((texts(&names), Binding::Declare));
                }
                Kind::Assign => {
                    self.tokens.next();
                    for name in &names {
                        self.known(*name)?;
                    }
                    return Ok((texts(&names), Binding::Assign));
                }
                _ => break,
            }
        }
        // No declaration after all: what was read is the beginning of a command.
        self.tokens.reset(start);
        Ok((Vec::new(), Binding::Declare))
    }

    fn known(&self, variable: Token<'_>) -> Result<(), TemplateError> {
        if self.variables.iter().any(|known| known == variable.text) {
            return Ok(());
        }
        let message = format!("the variable {} is not declared", variable.text);
        Err(variable.position.error(message))
    }

    fn command(&mut self, place: &str) -> Result<Command, TemplateError> {
        let first = self.operand(place)?;
        let mut arguments = Vec::new();
        loop {
            let token = self.tokens.peek();
            match token.kind {
                Kind::Close | Kind::RightParen => break,
                Kind::Pipe => {
                    self.tokens.next();
                    break;
                }
                Kind::Space => {
                    let ahead = self.tokens.peek_beyond_space().kind;
                    if !matches!(ahead, Kind::Close | Kind::RightParen | Kind::Pipe) {
                        arguments.push(self.operand(place)?);
                    }
                }
                _ => return Err(unexpected(token, place)),
            }
        }
        Ok(Command { first, arguments })
    }

    fn operand(&mut self, place: &str) -> Result<Operand, TemplateError> {
        let token = self.tokens.next_beyond_space();
        let (term, mut fields) = match token.kind {
            // `.a` is the dot with a field.
            Kind::Field => (Term::Dot, vec![field(token)]),
            _ => (self.term(token, place)?, Vec::new()),
        };
        let takes_fields = !fields.is_empty() || !term.is_constant();
        while self.tokens.peek().kind == Kind::Field {
            let next = self.tokens.next();
            if !takes_fields {
                return Err(unexpected(next, place));
            }
            fields.push(field(next));
        }
        Ok(Operand { position: token.position, term, fields })
    }

    fn term(&mut self, token: Token<'_>, place: &str) -> Result<Term, TemplateError> {
        let at = |fault: String| token.position.error(fault);
        match token.kind {
            Kind::Dot => Ok(Term::Dot),
            Kind::Word => word(token),
            Kind::Variable => {
                self.known(token)?;
                Ok(Term::Variable(token.text.to_owned()))
            }
            Kind::Number => literal::number(token.text).map_err(at),
            Kind::Char => literal::character(token.text).map_err(at),
            Kind::Quoted => literal::quoted(token.text).map(Term::Text).map_err(at),
            Kind::Raw => Ok(Term::Text(literal::raw(token.text))),
            Kind::LeftParen => {
                self.enter(token.position)?;
                let pipeline = self.pipeline("parentheses", Kind::RightParen)?;
                self.leave();
                Ok(Term::Pipeline(Box::new(pipeline)))
            }
            _ => Err(unexpected(token, place)),
        }
    }
}

impl Operand {
    fn is_constant(&self) -> bool {
        self.fields.is_empty() && self.term.is_constant()
    }
}

fn word(token: Token<'_>) -> Result<Term, TemplateError> {
    match token.text {
        "true" => Ok(Term::Bool(true)),
        "false" => Ok(Term::Bool(false)),
        "nil" => Ok(Term::Nil),
        name => Function::named(name)
            .map(Term::Function)
            .ok_or_else(|| token.position.error(format!("there is no function {name:?}"))),
    }
}

fn field(token: Token<'_>) -> String {
    token.text.trim_start_matches('.').to_owned()
}

fn texts(names: &[Token<'_>]) -> Vec<String> {
    names.iter().map(|name| name.text.to_owned()).collect()
}
