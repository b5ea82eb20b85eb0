//! The verbs of `printf`, applied to one value.

use super::escape;
use super::format::Spec;
use super::value::Value;

/// Formats a value; a verb that does not fit gives Go's `%!d(string=x)`.
pub(super) fn apply(value: &Value<'_>, verb: char, spec: &Spec) -> Result<String, String> {
    if matches!(value, Value::Context) {
        return Err("the whole context can't be printed; name a field".to_owned());
    }
    if verb == 'T' {
        return Ok(pad(type_name(value), spec));
    }
    match value {
        Value::Nil if verb == 'v' => Ok(pad("<nil>", spec)),
        Value::Nil => Ok(format!("%!{verb}(<nil>)")),
        Value::Bool(truth) if matches!(verb, 't' | 'v') => {
            Ok(pad(if *truth { "true" } else { "false" }, spec))
        }
        Value::Int(number) => int(*number, verb, spec).map_or_else(|| unfit(value, verb, spec), Ok),
        Value::Float(number) => {
            float(*number, verb, spec)?.map_or_else(|| unfit(value, verb, spec), Ok)
        }
        Value::Text(string) => {
            text(string, verb, spec).map_or_else(|| unfit(value, verb, spec), Ok)
        }
        Value::List(_) | Value::Map(_) if verb == 'p' => {
            Err("%p has no meaning in a template".to_owned())
        }
        Value::List(list) => {
            let items: Vec<_> = list.iter().map(|item| item_text(item, verb, spec)).collect();
            Ok(if is_source(verb, spec) {
                format!("[]string{{{}}}", items.join(", "))
            } else {
                format!("[{}]", items.join(" "))
            })
        }
        Value::Map(map) => {
            let item = |text: &String| item_text(text, verb, spec);
            let items: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", item(key), item(value))).collect();
            Ok(if is_source(verb, spec) {
                format!("map[string]string{{{}}}", items.join(", "))
            } else {
                format!("map[{}]", items.join(" "))
            })
        }
        Value::Bool(_) | Value::Context => unfit(value, verb, spec),
    }
}

/// Describes a value with its type, for what a format left over.
pub(super) fn described(value: &Value<'_>) -> Result<String, String> {
    if matches!(value, Value::Nil) {
        return Ok("<nil>".to_owned());
    }
    Ok(format!("{}={}", type_name(value), apply(value, 'v', &Spec::default())?))
}

fn type_name(value: &Value<'_>) -> &'static str {
    if matches!(value, Value::Nil) { "<nil>" } else { value.type_name() }
}

fn unfit(value: &Value<'_>, verb: char, spec: &Spec) -> Result<String, String> {
    Ok(format!("%!{verb}({}={})", value.type_name(), apply(value, 'v', spec)?))
}

fn item_text(item: &str, verb: char, spec: &Spec) -> String {
    text(item, verb, spec).unwrap_or_else(|| {
        format!("%!{verb}(string={})", text(item, 'v', spec).unwrap_or_default())
    })
}

/// `%#v` prints Go source.
fn is_source(verb: char, spec: &Spec) -> bool {
    verb == 'v' && spec.sharp
}

fn text(text: &str, verb: char, spec: &Spec) -> Option<String> {
    let shortened = || match spec.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text.to_owned(),
    };
    match verb {
        'v' if spec.sharp => Some(pad(&escape::quoted(&shortened(), '"', false), spec)),
        'v' | 's' => Some(pad(&shortened(), spec)),
        'q' if spec.sharp && can_backquote(&shortened()) => {
            Some(pad(&format!("`{}`", shortened()), spec))
        }
        'q' => Some(pad(&escape::quoted(&shortened(), '"', spec.plus), spec)),
        'x' | 'X' => Some(pad(&hex(text, verb, spec), spec)),
        _ => None,
    }
}

fn can_backquote(text: &str) -> bool {
    !text.contains(|char: char| {
        (char < ' ' && char != '\t') || matches!(char, '`' | '\x7f' | '\u{feff}')
    })
}

fn hex(text: &str, verb: char, spec: &Spec) -> String {
    let prefix = match (spec.sharp, verb) {
        (false, _) => "",
        (true, 'x') => "0x",
        (true, _) => "0X",
    };
    let digits: Vec<_> = text
        .bytes()
        .take(spec.precision.unwrap_or(usize::MAX))
        .map(|byte| if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })
        .collect();
    if digits.is_empty() {
        return String::new();
    }
    if spec.space {
        return format!("{prefix}{}", digits.join(&format!(" {prefix}")));
    }
    format!("{prefix}{}", digits.concat())
}

fn int(number: i64, verb: char, spec: &Spec) -> Option<String> {
    let size = number.unsigned_abs();
    let (digits, prefix) = match verb {
        'v' | 'd' => (size.to_string(), ""),
        'b' => (format!("{size:b}"), "0b"),
        'o' => (format!("{size:o}"), "0"),
        'O' => (format!("{size:o}"), "0o"),
        'x' => (format!("{size:x}"), "0x"),
        'X' => (format!("{size:X}"), "0X"),
        'c' => return Some(pad(&character(number).to_string(), spec)),
        'q' => {
            let text = character(number).to_string();
            return Some(pad(&escape::quoted(&text, '\'', spec.plus), spec));
        }
        'U' => return Some(pad(&code_point(number, spec), &Spec { zero: false, ..*spec })),
        _ => return None,
    };
    let sign = sign(number < 0, verb, spec);
    if spec.precision == Some(0) && number == 0 {
        return Some(" ".repeat(spec.width.unwrap_or(0)));
    }
    let zeros = match (spec.precision, spec.width) {
        (Some(least), _) => least,
        (None, Some(width)) if spec.zero && !spec.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    let digits = format!("{digits:0>zeros$}");
    let prefix = match verb {
        'O' => prefix,
        'o' if digits.starts_with('0') => "",
        'b' | 'o' | 'x' | 'X' if spec.sharp => prefix,
        _ => "",
    };
    Some(pad(&format!("{sign}{prefix}{digits}"), &Spec { zero: false, ..*spec }))
}

fn sign(is_negative: bool, verb: char, spec: &Spec) -> &'static str {
    match (is_negative, spec.space) {
        (true, _) => "-",
        // `%+v` asks for field names, not for a sign.
        _ if spec.plus && verb != 'v' => "+",
        (false, true) => " ",
        (false, false) => "",
    }
}

fn character(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn code_point(number: i64, spec: &Spec) -> String {
    let code = format!("U+{:0>1$X}", number, spec.precision.unwrap_or(0).max(4));
    if spec.sharp { format!("{code} '{}'", character(number)) } else { code }
}

fn float(number: f64, verb: char, spec: &Spec) -> Result<Option<String>, String> {
    if matches!(verb, 'b' | 'x' | 'X') || (spec.sharp && "vgGeEfF".contains(verb)) {
        return Err(format!("%{verb} of a fraction is not supported with these flags"));
    }
    let size = number.abs();
    let digits = match verb {
        'f' | 'F' => format!("{:.*}", spec.precision.unwrap_or(6), size),
        'e' | 'E' => exponent(&format!("{:.*e}", spec.precision.unwrap_or(6), size)),
        'v' | 'g' | 'G' => general(size, spec.precision),
        _ => return Ok(None),
    };
    let digits = if verb.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
    let sign = sign(number.is_sign_negative(), verb, spec);
    if let Some(width) = spec.width.filter(|_| spec.zero && !spec.minus) {
        return Ok(Some(format!("{sign}{digits:0>0$}", width.saturating_sub(sign.len()))));
    }
    Ok(Some(pad(&format!("{sign}{digits}"), spec)))
}

/// `1.5e3` to `1.5e+03`.
fn exponent(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The shorter of both notations, as `%g`.
fn general(size: f64, precision: Option<usize>) -> String {
    let digits = precision.map(|most| most.max(1));
    let scientific = match digits {
        Some(most) => format!("{:.*e}", most - 1, size),
        None => format!("{size:e}"),
    };
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let mantissa = trimmed(mantissa);
    let significant = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let wide = digits.map_or(Ok(6), i32::try_from).unwrap_or(i32::MAX);
    if power < -4 || power >= wide {
        return exponent(&format!("{mantissa}e{power}"));
    }
    let decimals = i32::try_from(significant).unwrap_or(i32::MAX) - 1 - power;
    format!("{:.*}", usize::try_from(decimals).unwrap_or(0), size)
}

fn trimmed(mantissa: &str) -> &str {
    if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    }
}

/// Brings a text to the width, counted in characters.
fn pad(text: &str, spec: &Spec) -> String {
    let missing = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    match (spec.minus, spec.zero) {
        (true, _) => format!("{text}{}", " ".repeat(missing)),
        (false, true) => format!("{}{text}", "0".repeat(missing)),
        (false, false) => format!("{}{text}", " ".repeat(missing)),
    }
}
