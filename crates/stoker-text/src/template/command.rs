//! Commands and operands to values.

use super::TemplateError;
use super::error::Position;
use super::eval::Run;
use super::function::Function;
use super::tree::{Command, Operand, Term};
use super::value::{Text, Value};

enum Arguments<'a> {
    /// One of them settles the result.
    Decided(Value<'a>),
    All(Vec<Value<'a>>),
}

impl<'a> Run<'a> {
    /// Evaluates a command; `piped` is the value from the left of the `|`.
    pub(super) fn command(
        &mut self,
        command: &'a Command,
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Result<Value<'a>, TemplateError> {
        let Command { first, arguments } = command;
        if let Term::Function(function) = first.term {
            let value = match self.arguments(function, command, dot)? {
                Arguments::Decided(value) => value,
                Arguments::All(mut values) => {
                    values.extend(piped);
                    self.call_function(function, &values, first.position)?
                }
            };
            return self.fields(value, first);
        }
        if piped.is_some() || !arguments.is_empty() {
            let message = "only a function takes arguments, and this is none";
            return Err(first.position.error(message));
        }
        if matches!(first.term, Term::Nil) {
            return Err(first.position.error("nil can't be used alone"));
        }
        self.operand(first, dot)
    }

    fn arguments(
        &mut self,
        function: Function,
        command: &'a Command,
        dot: &Value<'a>,
    ) -> Result<Arguments<'a>, TemplateError> {
        let mut values = Vec::with_capacity(command.arguments.len() + 1);
        for argument in &command.arguments {
            let value = self.operand(argument, dot)?;
            // `and` and `or` know their answer before the last argument, and must not go on.
            if function.is_decided_by(&value) {
                return Ok(Arguments::Decided(value));
            }
            values.push(value);
        }
        Ok(Arguments::All(values))
    }

    fn call_function(
        &mut self,
        function: Function,
        values: &[Value<'a>],
        position: Position,
    ) -> Result<Value<'a>, TemplateError> {
        self.spend(values.iter().map(size).sum(), position)?;
        let value = function.call(values, self.text_limit());
        let value = value.map_err(|fault| position.error(fault))?;
        self.spend(size(&value), position)?;
        Ok(value)
    }

    fn operand(
        &mut self,
        operand: &'a Operand,
        dot: &Value<'a>,
    ) -> Result<Value<'a>, TemplateError> {
        self.step(operand.position)?;
        let value = match &operand.term {
            Term::Dot => dot.clone(),
            Term::Nil => Value::Nil,
            Term::Bool(value) => Value::Bool(*value),
            Term::Int(value) => Value::Int(*value),
            Term::Float(value) => Value::Float(*value),
            Term::Text(text) => Value::Text(Text::Borrowed(text)),
            Term::Variable(name) => self.variable(name),
            Term::Pipeline(pipeline) => self.pipeline(pipeline, dot)?,
            Term::Function(function) => self.call_function(*function, &[], operand.position)?,
        };
        self.fields(value, operand)
    }

    fn fields(&self, value: Value<'a>, operand: &Operand) -> Result<Value<'a>, TemplateError> {
        operand.fields.iter().try_fold(value, |value, name| {
            let member = match value {
                Value::Context => self.context.field(name),
                other => other.member(name),
            };
            member.map_err(|fault| {
                let missing = Some(format!(".{}", operand.fields.join(".")));
                TemplateError { missing, ..operand.position.error(fault) }
            })
        })
    }
}

/// What it costs to look at a value.
fn size(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.iter().map(String::len).sum(),
        Value::Map(map) => map.iter().map(|(key, value)| key.len() + value.len()).sum(),
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Context => 0,
    }
}
