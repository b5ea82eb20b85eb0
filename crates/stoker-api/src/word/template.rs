//! Whether the braces of a template are balanced; rendering it is another crate's work.
//!
//! A template is text with actions between `{{` and `}}`. Inside an action, quoted strings and
//! comments may hold any braces. A `}}` outside of an action is ordinary text to Go, so JSON such
//! as `{"a":{"b":1}}` is a fine value.

/// An action was opened and never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("\"{{{{\" is never closed: add \"}}}}\"")]
pub struct Unclosed;

/// Checks that every `{{` is closed.
pub fn check(text: &str) -> Result<(), Unclosed> {
    let mut rest = text;
    while let Some((_, action)) = rest.split_once("{{") {
        rest = after_action(action).ok_or(Unclosed)?;
    }
    Ok(())
}

/// Returns what follows the `}}` that ends this action.
fn after_action(action: &str) -> Option<&str> {
    let trimmed = action.strip_prefix("- ").unwrap_or(action);
    if let Some(comment) = trimmed.strip_prefix("/*") {
        let (_, after) = comment.split_once("*/")?;
        return after.strip_prefix("}}").or_else(|| after.strip_prefix(" -}}"));
    }
    let mut quote = None;
    let mut characters = action.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (None, '"' | '`' | '\'') => quote = Some(character),
            (Some('"' | '\''), '\\') => drop(characters.next()),
            (Some(open), close) if open == close => quote = None,
            (None, '}') if action[at..].starts_with("}}") => return Some(&action[at + 2..]),
            _ => {}
        }
    }
    None
}
