//! Cuts lists and texts to a size, and says what was left out.

use std::fmt::{self, Display, Formatter};

/// Displays a number with a comma after every three digits: `1,204`.
#[derive(Debug, Clone, Copy)]
pub struct Thousands(pub usize);

/// Returns at most `limit` of the items; where some are left out, one more says how many.
pub fn list<T: Into<String>>(items: impl IntoIterator<Item = T>, limit: usize) -> Vec<String> {
    let mut items = items.into_iter();
    let mut kept: Vec<String> = items.by_ref().take(limit).map(Into::into).collect();
    let left_out = items.count();
    if left_out > 0 {
        kept.push(more(left_out));
    }
    kept
}

/// Returns the text without control characters, cut to at most `limit` bytes; where something is
/// left out, its end says so.
///
/// A control character would become six bytes in JSON, and mischief on a terminal.
pub fn text(text: &str, limit: usize) -> String {
    const ELLIPSIS: &str = "…";
    let text = text.replace(char::is_control, " ");
    if text.len() <= limit {
        return text;
    }
    let cut = text.floor_char_boundary(limit.saturating_sub(ELLIPSIS.len()));
    let mark = if limit < ELLIPSIS.len() { "" } else { ELLIPSIS };
    format!("{}{mark}", &text[..cut])
}

fn more(left_out: usize) -> String {
    format!("… and {} more", Thousands(left_out))
}

impl Display for Thousands {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                write!(formatter, ",")?;
            }
            write!(formatter, "{digit}")?;
        }
        Ok(())
    }
}
