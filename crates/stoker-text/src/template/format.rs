//! `printf`, `print`, `println` and the output of an action, with Go's texts for what does not fit.

use super::value::Value;
use super::verb;

/// The widest field; Go has the same bound.
const MAX_WIDTH: usize = 1_000_000;

/// What stands between `%` and the verb.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "printf has five flags, each by itself")]
pub(super) struct Spec {
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

struct Formatter<'f, 'v> {
    rest: &'f str,
    values: &'f [Value<'v>],
    at: usize,
    /// Values were named by number, so that leftovers are no mistake.
    reordered: bool,
    output: String,
}

/// Formats values; the result is at most about `limit` bytes long.
pub(super) fn format(format: &str, values: &[Value<'_>], limit: usize) -> Result<String, String> {
    let output = String::with_capacity(format.len());
    let mut formatter = Formatter { rest: format, values, at: 0, reordered: false, output };
    while let Some(at) = formatter.rest.find('%') {
        let (text, rest) = formatter.rest.split_at(at);
        formatter.output.push_str(text);
        formatter.rest = rest.get(1..).unwrap_or_default();
        formatter.directive()?;
        if formatter.output.len() > limit {
            return Err(format!("the result is larger than {limit} bytes"));
        }
    }
    formatter.output.push_str(formatter.rest);
    formatter.leftovers()?;
    Ok(formatter.output)
}

impl Formatter<'_, '_> {
    fn directive(&mut self) -> Result<(), String> {
        let mut spec = self.flags();
        let named = self.number_of_value()?;
        if self.take('*') {
            self.star_width(&mut spec)?;
        } else {
            spec.width = self.digits()?;
            if named && spec.width.is_some() {
                return Err("a width can't follow [n] in a format".to_owned());
            }
        }
        if self.take('.') {
            self.number_of_value()?;
            if self.take('*') {
                self.star_precision(&mut spec)?;
            } else {
                spec.precision = Some(self.digits()?.unwrap_or(0));
            }
        }
        self.number_of_value()?;
        let Some(verb) = self.rest.chars().next() else {
            self.output.push_str("%!(NOVERB)");
            return Ok(());
        };
        self.rest = self.rest.get(verb.len_utf8()..).unwrap_or_default();
        if verb == '%' {
            self.output.push('%');
            return Ok(());
        }
        let text = match self.next() {
            Some(value) => verb::apply(value, verb, &spec)?,
            None => format!("%!{verb}(MISSING)"),
        };
        self.output.push_str(&text);
        Ok(())
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                '-' => spec.minus = true,
                '+' => spec.plus = true,
                '#' => spec.sharp = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                _ => break,
            }
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        spec
    }

    /// Reads `[n]`, which names the value to use next.
    fn number_of_value(&mut self) -> Result<bool, String> {
        if !self.take('[') {
            return Ok(false);
        }
        let number = self.digits()?.filter(|number| (1..=self.values.len()).contains(number));
        let number = number.ok_or("a format names a value that is not there")?;
        if !self.take(']') {
            return Err("a [ in a format is not closed".to_owned());
        }
        self.reordered = true;
        self.at = number - 1;
        Ok(true)
    }

    fn star_width(&mut self, spec: &mut Spec) -> Result<(), String> {
        match self.next() {
            Some(Value::Int(width)) => {
                spec.minus |= *width < 0;
                spec.width = Some(bounded(width.unsigned_abs())?);
            }
            _ => self.output.push_str("%!(BADWIDTH)"),
        }
        Ok(())
    }

    fn star_precision(&mut self, spec: &mut Spec) -> Result<(), String> {
        match self.next() {
            Some(Value::Int(precision @ 0..)) => {
                spec.precision = Some(bounded(precision.unsigned_abs())?);
            }
            _ => self.output.push_str("%!(BADPREC)"),
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<Option<usize>, String> {
        let length =
            self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if length == 0 {
            return Ok(None);
        }
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        bounded(digits.parse().unwrap_or(u64::MAX)).map(Some)
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<&Value<'_>> {
        let value = self.values.get(self.at);
        self.at += usize::from(value.is_some());
        value
    }

    fn leftovers(&mut self) -> Result<(), String> {
        let left = self.values.get(self.at..).unwrap_or_default();
        if self.reordered || left.is_empty() {
            return Ok(());
        }
        let left: Vec<_> = left.iter().map(verb::described).collect::<Result<_, _>>()?;
        self.output.extend(["%!(EXTRA ", &left.join(", "), ")"]);
        Ok(())
    }
}

fn bounded(number: u64) -> Result<usize, String> {
    usize::try_from(number)
        .ok()
        .filter(|number| *number <= MAX_WIDTH)
        .ok_or_else(|| format!("a width in a format is larger than {MAX_WIDTH}"))
}

pub(super) fn print_value(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::Nil => Err("there is no value to print".to_owned()),
        other => verb::apply(other, 'v', &Spec::default()),
    }
}

/// Prints values with a blank between two that are not strings.
pub(super) fn print(values: &[Value<'_>]) -> Result<String, String> {
    let mut text = String::new();
    let mut after_text = true;
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !after_text && !is_text {
            text.push(' ');
        }
        text.push_str(&verb::apply(value, 'v', &Spec::default())?);
        after_text = is_text;
    }
    Ok(text)
}

/// Prints values with blanks between them and a newline.
pub(super) fn println(values: &[Value<'_>]) -> Result<String, String> {
    let texts: Vec<_> = values
        .iter()
        .map(|value| verb::apply(value, 'v', &Spec::default()))
        .collect::<Result<_, _>>()?;
    Ok(texts.join(" ") + "\n")
}
