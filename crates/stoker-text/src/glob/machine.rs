//! The matcher: all positions a pattern can be in, carried over the path as bits.
//!
//! One pass over the path and a handful of word operations per character, whatever the pattern:
//! there is nothing to backtrack into, so no pattern is slow.

use std::ops::ControlFlow;

/// One element of a pattern without braces.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Char(char),
    /// Any one character but the slash.
    Any,
    /// One character of a set, never the slash.
    Class(Class),
    /// Any run of characters within a segment.
    Star,
    /// `**/`: any number of whole segments, each with its slash.
    Segments,
    /// `**` at the very end: whatever is left.
    Rest,
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) negated: bool,
    pub(super) ranges: Vec<(char, char)>,
}

/// One alternative of a pattern; nearly all fit one machine word.
// How it prints is part of the fingerprint of a profile, which the manifests of gateways hold.
#[derive(Clone, Debug)]
pub(super) enum Program {
    Small(Box<Machine<1>>),
    Large(Box<Machine<9>>),
}

/// A matcher, however many words its positions take.
pub(super) trait Matcher {
    fn matches(&self, path: &[u8]) -> bool;
    fn matches_all_below(&self, directory: &[u8]) -> bool;
    fn matches_ancestor(&self, path: &[u8]) -> bool;
    fn matches_path_or_ancestor(&self, path: &[u8]) -> bool;
}

/// A pattern as masks over its positions.
#[derive(Clone, Debug)]
pub(super) struct Machine<const W: usize> {
    tokens: Vec<Token>,
    /// For each ASCII character, the single-character tokens that accept it.
    ascii: Vec<Bits<W>>,
    star: Bits<W>,
    segments: Bits<W>,
    rest: Bits<W>,
    /// Positions from which the end of the path is a match.
    ends: Bits<W>,
}

/// Where a match can stand after some characters.
#[derive(Clone, Copy)]
struct States<const W: usize> {
    /// Tokens that would take the next character.
    next: Bits<W>,
    /// Stars and their like that have begun and may take more.
    inside: Bits<W>,
}

/// A character of a path, or a byte that is part of none.
#[derive(Clone, Copy, PartialEq)]
enum Symbol {
    Char(char),
    Byte,
}

impl Token {
    fn accepts(&self, symbol: Symbol) -> bool {
        match (self, symbol) {
            (Self::Char(wanted), Symbol::Char(char)) => *wanted == char,
            (Self::Any, symbol) => symbol != Symbol::Char('/'),
            (Self::Class(class), Symbol::Char(char)) => char != '/' && class.accepts(char),
            (Self::Class(class), Symbol::Byte) => class.negated,
            (Self::Char(_), Symbol::Byte) | (Self::Star | Self::Segments | Self::Rest, _) => false,
        }
    }
}

impl Class {
    fn accepts(&self, char: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&char)) != self.negated
    }
}

impl Program {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        if tokens.len() < 64 {
            Self::Small(Box::new(Machine::new(tokens)))
        } else {
            Self::Large(Box::new(Machine::new(tokens)))
        }
    }

    pub(super) fn matcher(&self) -> &dyn Matcher {
        match self {
            Self::Small(machine) => &**machine,
            Self::Large(machine) => &**machine,
        }
    }
}

impl<const W: usize> Matcher for Machine<W> {
    fn matches(&self, path: &[u8]) -> bool {
        self.run(path).is_some_and(|states| self.accepts(&states))
    }

    fn matches_all_below(&self, directory: &[u8]) -> bool {
        self.enter(directory).is_some_and(|states| {
            let states = self.closed(states);
            !is_empty(&and(&states.inside, &self.rest))
        })
    }

    fn matches_ancestor(&self, path: &[u8]) -> bool {
        self.read(path, |states| self.accepts(states)).is_break()
    }

    fn matches_path_or_ancestor(&self, path: &[u8]) -> bool {
        match self.read(path, |states| self.accepts(states)) {
            ControlFlow::Break(()) => true,
            ControlFlow::Continue(states) => states.is_some_and(|states| self.accepts(&states)),
        }
    }
}

impl<const W: usize> Machine<W> {
    fn new(tokens: Vec<Token>) -> Self {
        let mask = |wanted: &dyn Fn(&Token) -> bool| {
            let mut bits = [0; W];
            for at in (0..tokens.len()).filter(|at| wanted(&tokens[*at])) {
                insert(&mut bits, at);
            }
            bits
        };
        let ascii = (0..=127_u8)
            .map(|byte| mask(&|token| token.accepts(Symbol::Char(char::from(byte)))))
            .collect();
        let star = mask(&|token| matches!(token, Token::Star));
        let segments = mask(&|token| matches!(token, Token::Segments));
        let rest = mask(&|token| matches!(token, Token::Rest));
        let mut ends = [0; W];
        for at in (0..=tokens.len()).filter(|at| may_be_empty(&tokens[*at..])) {
            insert(&mut ends, at);
        }
        Self { tokens, ascii, star, segments, rest, ends }
    }

    fn start() -> States<W> {
        let mut next = [0; W];
        insert(&mut next, 0);
        States { next, inside: [0; W] }
    }

    /// Reads the path; nothing means that no position was left on the way.
    fn run(&self, path: &[u8]) -> Option<States<W>> {
        self.read(path, |_| false).continue_value().flatten()
    }

    /// Reads the path, and asks before each slash (but a leading one) whether that is enough.
    fn read(
        &self,
        path: &[u8],
        enough: impl Fn(&States<W>) -> bool,
    ) -> ControlFlow<(), Option<States<W>>> {
        let mut states = Self::start();
        let mut at = 0;
        while at < path.len() {
            if self.waits_for_slash(&states) {
                let Some(name) = path[at..].iter().position(|byte| *byte == b'/') else { break };
                at += name;
            }
            let (symbol, length) = symbol(&path[at..]);
            if symbol == Symbol::Char('/') && at > 0 && enough(&states) {
                return ControlFlow::Break(());
            }
            states = self.step(states, symbol);
            if states.is_dead() {
                return ControlFlow::Continue(None);
            }
            at += length;
        }
        ControlFlow::Continue(Some(states))
    }

    /// Returns whether nothing can change before the next slash: most of most paths is skipped.
    fn waits_for_slash(&self, states: &States<W>) -> bool {
        is_empty(&states.next) && is_empty(&and(&states.inside, &self.star))
    }

    /// Reads the directory and the slash that stands before everything below it.
    fn enter(&self, directory: &[u8]) -> Option<States<W>> {
        let states = self.run(directory)?;
        if directory.is_empty() {
            return Some(states);
        }
        Some(self.step(states, Symbol::Char('/')))
    }

    fn accepts(&self, states: &States<W>) -> bool {
        !is_empty(&and(&states.next, &self.ends)) || !is_empty(&and(&states.inside, &self.rest))
    }

    /// Lets stars begin, and be skipped.
    ///
    /// Only done when a character follows: at the end of a path `ends` decides, because there
    /// `**/*` must not shrink to nothing.
    fn closed(&self, states: States<W>) -> States<W> {
        let skippable = or(&self.star, &self.segments);
        let mut next = states.next;
        let mut begun = and(&next, &skippable);
        while !is_empty(&begun) {
            let further = shifted(&begun);
            next = or(&next, &further);
            begun = and(&further, &skippable);
        }
        let inside = or(&states.inside, &and(&next, &or(&skippable, &self.rest)));
        States { next, inside }
    }

    fn step(&self, states: States<W>, symbol: Symbol) -> States<W> {
        let states = self.closed(states);
        let taken = and(&states.next, &self.accepting(symbol));
        let across = or(&self.segments, &self.rest);
        let (finished, inside) = if symbol == Symbol::Char('/') {
            (and(&states.inside, &self.segments), and(&states.inside, &across))
        } else {
            (and(&states.inside, &self.star), states.inside)
        };
        States { next: shifted(&or(&taken, &finished)), inside }
    }

    fn accepting(&self, symbol: Symbol) -> Bits<W> {
        if let Symbol::Char(char) = symbol
            && let Some(bits) = self.ascii.get(char as usize)
        {
            return *bits;
        }
        let mut bits = [0; W];
        for at in (0..self.tokens.len()).filter(|at| self.tokens[*at].accepts(symbol)) {
            insert(&mut bits, at);
        }
        bits
    }
}

impl<const W: usize> States<W> {
    fn is_dead(&self) -> bool {
        is_empty(&self.next) && is_empty(&self.inside)
    }
}

/// The endings that the end of a path satisfies: `a/**` and `a/**/` match `a`.
fn may_be_empty(tail: &[Token]) -> bool {
    matches!(
        tail,
        [] | [Token::Star | Token::Rest | Token::Segments]
            | [Token::Char('/'), Token::Rest | Token::Segments]
    )
}

/// Returns the first character of what is left of a path, and its length.
fn symbol(rest: &[u8]) -> (Symbol, usize) {
    if rest[0].is_ascii() {
        return (Symbol::Char(char::from(rest[0])), 1);
    }
    let longest = &rest[..rest.len().min(4)];
    let first = longest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.map_or((Symbol::Byte, 1), |char| (Symbol::Char(char), char.len_utf8()))
}

/// A set of positions; the position behind the last token means that everything was matched.
type Bits<const W: usize> = [u64; W];

fn insert<const W: usize>(bits: &mut Bits<W>, at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

fn is_empty<const W: usize>(bits: &Bits<W>) -> bool {
    bits.iter().all(|word| *word == 0)
}

fn and<const W: usize>(left: &Bits<W>, right: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| left[word] & right[word])
}

fn or<const W: usize>(left: &Bits<W>, right: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| left[word] | right[word])
}

/// Moves every position one further.
fn shifted<const W: usize>(bits: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| {
        let carry = if word == 0 { 0 } else { bits[word - 1] >> 63 };
        bits[word] << 1 | carry
    })
}
