//! One JSON string, byte by byte.

/// A string that is not valid.
#[derive(Debug)]
pub(super) struct Invalid;

/// How far a string has come.
#[derive(Debug)]
pub(super) enum Progress {
    /// It goes on.
    More,
    /// It has ended, and this is it.
    Kept(String),
    /// It has ended. It was too long, is not UTF-8, or was not to be kept.
    Dropped,
}

/// The string that is being read.
#[derive(Debug, Default)]
pub(super) struct Text {
    kept: Vec<u8>,
    most: usize,
    is_cut: bool,
    escape: Escape,
    /// The first half of a pair of surrogates.
    high: Option<u32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    Unicode {
        digits: u8,
        code: u32,
    },
}

impl Text {
    /// Begins a string of which at most this many bytes are kept.
    pub(super) fn begin(&mut self, most: usize) {
        self.kept.clear();
        self.most = most;
        self.is_cut = false;
        self.escape = Escape::None;
        self.high = None;
    }

    /// Returns how many bytes of `rest` are plain characters of a string that is not kept.
    pub(super) fn skip_plain(&self, rest: &[u8]) -> usize {
        if self.most > 0 && !self.is_cut || self.escape != Escape::None {
            return 0;
        }
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        rest.iter().position(is_special).unwrap_or(rest.len())
    }

    /// Reads a byte.
    pub(super) fn feed(&mut self, byte: u8) -> Result<Progress, Invalid> {
        match self.escape {
            Escape::None => match byte {
                b'"' => return Ok(self.finish()),
                b'\\' => self.escape = Escape::Begun,
                0..=0x1f => return Err(Invalid),
                _ => self.push(&[byte]),
            },
            Escape::Begun => self.escaped(byte)?,
            Escape::Unicode { digits, code } => self.unicode(digits, code, byte)?,
        }
        Ok(Progress::More)
    }

    fn escaped(&mut self, byte: u8) -> Result<(), Invalid> {
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.escape = Escape::Unicode { digits: 0, code: 0 };
                return Ok(());
            }
            _ => return Err(Invalid),
        };
        self.escape = Escape::None;
        self.push(&[plain]);
        Ok(())
    }

    fn unicode(&mut self, digits: u8, code: u32, byte: u8) -> Result<(), Invalid> {
        let digit = char::from(byte).to_digit(16).ok_or(Invalid)?;
        let code = code * 16 + digit;
        if digits < 3 {
            self.escape = Escape::Unicode { digits: digits + 1, code };
            return Ok(());
        }
        self.escape = Escape::None;
        let whole = match (self.high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(code);
                return Ok(());
            }
            (Some(high), 0xdc00..=0xdfff) => 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00),
            (_, code) => code,
        };
        let character = char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.push(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.kept.len() + bytes.len() > self.most {
            self.is_cut = true;
            self.kept.clear();
        }
        if !self.is_cut {
            self.kept.extend_from_slice(bytes);
        }
    }

    fn finish(&mut self) -> Progress {
        if self.is_cut {
            return Progress::Dropped;
        }
        let kept = String::from_utf8(std::mem::take(&mut self.kept));
        kept.map_or(Progress::Dropped, Progress::Kept)
    }
}
