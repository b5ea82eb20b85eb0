//! Rendering: walks the tree, within limits.

use super::error::Position;
use super::format;
use super::tree::{Binding, Block, Branch, Definitions, Node, Pipeline};
use super::value::{Text, Value};
use super::{Context, Limits, TemplateError};

/// How deep rendering may recurse through blocks, parentheses and templates that call themselves.
const MAX_DEPTH: usize = 200;

/// Text made on the way costs a step per this many bytes, so that steps bound time.
const BYTES_PER_STEP: usize = 64;

pub(super) struct Run<'a> {
    pub(super) context: &'a Context,
    definitions: &'a Definitions,
    limits: Limits,
    steps: u64,
    depth: usize,
    variables: Vec<(&'a str, Value<'a>)>,
    output: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

pub(super) fn render(
    main: &Block,
    definitions: &Definitions,
    context: &Context,
    limits: Limits,
) -> Result<String, TemplateError> {
    let variables = vec![("$", Value::Context)];
    let (steps, output) = (0, String::new());
    let mut run = Run { context, definitions, limits, steps, depth: 0, variables, output };
    run.block(main, &Value::Context)?;
    Ok(run.output)
}

impl<'a> Run<'a> {
    fn block(&mut self, block: &'a Block, dot: &Value<'a>) -> Result<Flow, TemplateError> {
        for node in &block.nodes {
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn node(&mut self, node: &'a Node, dot: &Value<'a>) -> Result<Flow, TemplateError> {
        match node {
            Node::Text(text) => self.write(text, Position::START).map(|()| Flow::On),
            Node::Action(pipeline) => self.action(pipeline, dot).map(|()| Flow::On),
            Node::If(branch) => self.scoped(branch, |run| {
                let truth = run.pipeline(&branch.pipeline, dot)?.is_true();
                run.block(if truth { &branch.body } else { &branch.otherwise }, dot)
            }),
            Node::With(branch) => self.scoped(branch, |run| {
                let value = run.pipeline(&branch.pipeline, dot)?;
                if value.is_true() {
                    return run.block(&branch.body, &value);
                }
                run.block(&branch.otherwise, dot)
            }),
            Node::Range(branch) => self.scoped(branch, |run| run.range(branch, dot)),
            Node::Call { name, argument, position } => {
                let value = match argument {
                    Some(pipeline) => self.pipeline(pipeline, dot)?,
                    None => Value::Nil,
                };
                self.call(name, &value, *position).map(|()| Flow::On)
            }
            Node::Break => Ok(Flow::Break),
            Node::Continue => Ok(Flow::Continue),
        }
    }

    fn action(&mut self, pipeline: &'a Pipeline, dot: &Value<'a>) -> Result<(), TemplateError> {
        let value = self.pipeline(pipeline, dot)?;
        if !pipeline.variables.is_empty() {
            return Ok(());
        }
        if let Value::Text(text) = &value {
            return self.write(text, pipeline.position);
        }
        let text = format::print_value(&value).map_err(|fault| pipeline.position.error(fault))?;
        self.write(&text, pipeline.position)
    }

    /// Runs a control structure; the variables declared in it end with it.
    fn scoped(
        &mut self,
        branch: &Branch,
        run: impl FnOnce(&mut Self) -> Result<Flow, TemplateError>,
    ) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        self.descend(branch.pipeline.position)?;
        let flow = run(self)?;
        self.depth -= 1;
        self.variables.truncate(scope);
        Ok(flow)
    }

    fn range(&mut self, branch: &'a Branch, dot: &Value<'a>) -> Result<Flow, TemplateError> {
        let position = branch.pipeline.position;
        let collection = self.pipeline(&branch.pipeline, dot)?;
        match collection {
            Value::Int(_) if branch.pipeline.variables.len() > 1 => {
                Err(position.error("a range over a number has one variable, not two"))
            }
            Value::Int(..=0) | Value::List([]) | Value::Nil => self.block(&branch.otherwise, dot),
            Value::Map(map) if map.is_empty() => self.block(&branch.otherwise, dot),
            Value::Int(count) => {
                self.rounds(branch, (0..count).map(|at| (Value::Int(at), Value::Int(at))))
            }
            Value::List(list) => {
                let items = list.iter().map(|text| Value::Text(Text::Borrowed(text)));
                self.rounds(branch, (0..).map(Value::Int).zip(items))
            }
            Value::Map(map) => {
                let text = |text: &'a String| Value::Text(Text::Borrowed(text));
                self.rounds(branch, map.iter().map(move |(key, item)| (text(key), text(item))))
            }
            other => Err(position.error(format!("a range can't go over {}", other.described()))),
        }
    }

    fn rounds(
        &mut self,
        branch: &'a Branch,
        items: impl Iterator<Item = (Value<'a>, Value<'a>)>,
    ) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        for (key, item) in items {
            self.step(branch.pipeline.position)?;
            match branch.pipeline.variables.as_slice() {
                [] => {}
                [one] => self.bind(&branch.pipeline, one, item.clone()),
                [first, second, ..] => {
                    self.bind(&branch.pipeline, first, key);
                    self.bind(&branch.pipeline, second, item.clone());
                }
            }
            let flow = self.block(&branch.body, &item)?;
            self.variables.truncate(scope);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn call(
        &mut self,
        name: &str,
        value: &Value<'a>,
        position: Position,
    ) -> Result<(), TemplateError> {
        let Some(body) = self.definitions.get(name) else {
            return Err(position.error(format!("the template {name:?} is not defined")));
        };
        self.descend(position)?;
        let outer = std::mem::replace(&mut self.variables, vec![("$", value.clone())]);
        self.block(body, value)?;
        self.variables = outer;
        self.depth -= 1;
        Ok(())
    }

    /// Evaluates a pipeline and gives its variables the result.
    pub(super) fn pipeline(
        &mut self,
        pipeline: &'a Pipeline,
        dot: &Value<'a>,
    ) -> Result<Value<'a>, TemplateError> {
        self.descend(pipeline.position)?;
        let mut value = None;
        for command in &pipeline.commands {
            value = Some(self.command(command, dot, value)?);
        }
        self.depth -= 1;
        let value = value.unwrap_or(Value::Nil);
        for name in &pipeline.variables {
            self.bind(pipeline, name, value.clone());
        }
        Ok(value)
    }

    fn bind(&mut self, pipeline: &'a Pipeline, name: &'a str, value: Value<'a>) {
        if pipeline.binding == Binding::Declare {
            self.variables.push((name, value));
        } else if let Some(known) = self.variables.iter_mut().rev().find(|(at, _)| *at == name) {
            known.1 = value;
        }
    }

    /// Returns the innermost variable of this name; the parser knows that there is one.
    pub(super) fn variable(&self, name: &str) -> Value<'a> {
        let found = self.variables.iter().rev().find(|(known, _)| *known == name);
        found.map_or(Value::Nil, |(_, value)| value.clone())
    }

    pub(super) fn step(&mut self, position: Position) -> Result<(), TemplateError> {
        self.spend(0, position)
    }

    /// Checks and counts a text that was made on the way.
    pub(super) fn spend(&mut self, bytes: usize, position: Position) -> Result<(), TemplateError> {
        if bytes > self.limits.output_bytes {
            return Err(position.error(self.too_much()));
        }
        self.steps += 1 + (bytes / BYTES_PER_STEP) as u64;
        if self.steps > self.limits.steps {
            let steps = self.limits.steps;
            return Err(
                position.error(format!("stopped after {steps} steps; is a range too long?"))
            );
        }
        Ok(())
    }

    /// Returns how long a text may be that is made on the way.
    pub(super) fn text_limit(&self) -> usize {
        self.limits.output_bytes
    }

    fn write(&mut self, text: &str, position: Position) -> Result<(), TemplateError> {
        if self.output.len() + text.len() > self.limits.output_bytes {
            return Err(position.error(self.too_much()));
        }
        self.step(position)?;
        self.output.push_str(text);
        Ok(())
    }

    fn too_much(&self) -> String {
        format!("the result is larger than {} bytes", self.limits.output_bytes)
    }

    fn descend(&mut self, position: Position) -> Result<(), TemplateError> {
        self.step(position)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(position.error("nested too deep; does a template call itself?"));
        }
        Ok(())
    }
}
