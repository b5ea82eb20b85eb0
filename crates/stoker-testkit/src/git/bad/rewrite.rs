//! Changes to a true answer of `upload-pack`. Pure: bytes in, bytes out.

use crate::git::Oid;
use crate::git::noise::Noise;
use crate::git::packet::{self, Packet};

/// An answer that carries a pack: the lines before it, and its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackAnswer {
    lines: Vec<Packet>,
    pack: Vec<u8>,
}

impl PackAnswer {
    /// Reads an answer; `None` if no pack is in it.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let packets = packet::parse(body)?;
        let pack: Vec<u8> =
            packets.iter().filter_map(|packet| packet.on(1)).flatten().copied().collect();
        if pack.is_empty() {
            return None;
        }
        let lines = packets.into_iter().take_while(|packet| !packet.is_sideband()).collect();
        Some(Self { lines, pack })
    }

    /// Flips one bit of the checksum at the end of the pack.
    pub(super) fn with_wrong_checksum(mut self) -> Self {
        if let Some(last) = self.pack.last_mut() {
            *last ^= 1;
        }
        self
    }

    /// Ends the pack in its middle, and the answer in good order.
    pub(super) fn truncated(mut self) -> Self {
        self.pack.truncate(self.pack.len() / 2);
        self
    }

    /// Keeps the pack's head and replaces everything behind it.
    pub(super) fn with_garbage(mut self) -> Self {
        let head = self.pack.len().min(12);
        Noise::new(1).fill(&mut self.pack[head..]);
        self
    }

    /// Sends another pack instead.
    pub(super) fn with_pack(mut self, pack: Vec<u8>) -> Self {
        self.pack = pack;
        self
    }

    /// Returns the answer up to where the pack begins.
    pub(super) fn head(&self) -> Vec<u8> {
        joined(&self.lines)
    }

    /// Returns the pack to the end of the answer.
    pub(super) fn tail(&self) -> Vec<u8> {
        let mut packets = packet::sideband(1, &self.pack);
        packets.push(Packet::Mark(0));
        joined(&packets)
    }

    /// Returns the whole answer.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [self.head(), self.tail()].concat()
    }
}

/// Splits a list of refs before its end, where more refs can follow; `None` if it is no such list.
pub(super) fn open_ref_list(body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let packets = packet::parse(body)?;
    let is_list =
        packets.iter().any(|packet| matches!(packet, Packet::Data(data) if names_a_ref(data)));
    let end = body.strip_suffix(b"0000")?;
    is_list.then(|| (end.to_vec(), b"0000".to_vec()))
}

/// Returns the line for the n-th of many invented refs.
pub(super) fn invented_ref(number: u64, target: &Oid) -> Vec<u8> {
    joined(&[packet::line(&format!("{target} refs/heads/invented/{number:010}\n"))])
}

/// Replaces an id wherever its text stands.
pub(super) fn replace_id(body: &[u8], from: &Oid, to: &Oid) -> Vec<u8> {
    let (from, to) = (from.as_str().as_bytes(), to.as_str().as_bytes());
    let mut changed = body.to_vec();
    let mut at = 0;
    while let Some(window) = changed.get_mut(at..at + from.len()) {
        if window == from {
            window.copy_from_slice(to);
        }
        at += 1;
    }
    changed
}

fn names_a_ref(line: &[u8]) -> bool {
    line.get(40) == Some(&b' ') && line[..40].iter().all(u8::is_ascii_hexdigit)
}

fn joined(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        packet.write(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Vec<u8> {
        let mut packets = vec![packet::line("packfile\n")];
        packets.extend(packet::sideband(2, b"Counting objects\n"));
        packets.extend(packet::sideband(1, b"PACK\0\0\0\x02\0\0\0\x01objects and checksum"));
        packets.push(Packet::Mark(0));
        joined(&packets)
    }

    #[test]
    fn a_pack_is_found_behind_its_lines_and_between_progress() {
        let parsed = PackAnswer::parse(&answer()).unwrap();
        assert_eq!(parsed.lines, [packet::line("packfile\n")]);
        assert!(parsed.pack.starts_with(b"PACK") && parsed.pack.ends_with(b"checksum"));
    }

    #[test]
    fn each_change_leaves_an_answer_that_can_be_read() {
        let read = |body: Vec<u8>| PackAnswer::parse(&body).unwrap().pack;
        let parse = || PackAnswer::parse(&answer()).unwrap();
        let good = parse().pack;
        let flipped = read(parse().with_wrong_checksum().to_bytes());
        assert_eq!(flipped[..good.len() - 1], good[..good.len() - 1]);
        assert_ne!(flipped.last(), good.last());
        assert_eq!(read(parse().truncated().to_bytes()), good[..good.len() / 2]);
        let garbage = read(parse().with_garbage().to_bytes());
        assert_eq!((garbage.len(), &garbage[..12]), (good.len(), &good[..12]));
        assert_ne!(garbage, good);
        assert_eq!(read(parse().with_pack(b"other".to_vec()).to_bytes()), b"other");
    }

    #[test]
    fn only_ref_lists_take_more_refs() {
        let id = Oid::unknown(1);
        let list = joined(&[packet::line(&format!("{id} refs/heads/main\n")), Packet::Mark(0)]);
        let (mut open, end) = open_ref_list(&list).unwrap();
        open.extend(invented_ref(7, &id));
        open.extend(end);
        assert_eq!(packet::parse(&open).unwrap().len(), 3);
        assert_eq!(open_ref_list(&joined(&[packet::line("version 2\n"), Packet::Mark(0)])), None);
        assert_eq!(open_ref_list(&answer()), None);
    }

    #[test]
    fn ids_are_replaced_wherever_they_stand() {
        let (from, to) = (Oid::unknown(1), Oid::unknown(2));
        let changed = replace_id(format!("{from} a\n{from} b").as_bytes(), &from, &to);
        assert_eq!(changed, format!("{to} a\n{to} b").into_bytes());
    }
}
