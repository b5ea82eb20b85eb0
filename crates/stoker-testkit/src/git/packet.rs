//! Git's framing of lines and packs: four hex digits of length, then the bytes.

/// The most bytes that one packet can carry.
pub(super) const MOST: usize = 65_516;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Packet {
    /// `0000`, `0001` or `0002`: marks without content.
    Mark(u8),
    /// Content.
    Data(Vec<u8>),
}

/// Returns the packets of a whole answer, or `None` if it is something else.
pub(super) fn parse(mut bytes: &[u8]) -> Option<Vec<Packet>> {
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let (digits, rest) = bytes.split_at_checked(4)?;
        let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        if length < 4 {
            packets.push(Packet::Mark(u8::try_from(length).ok()?));
            bytes = rest;
            continue;
        }
        let (data, rest) = rest.split_at_checked(length - 4)?;
        packets.push(Packet::Data(data.to_vec()));
        bytes = rest;
    }
    Some(packets)
}

impl Packet {
    /// Returns what a sideband packet carries on a channel (1 pack, 2 progress, 3 error).
    pub(super) fn on(&self, channel: u8) -> Option<&[u8]> {
        match self {
            Self::Data(data) if data.first() == Some(&channel) => Some(&data[1..]),
            Self::Data(_) | Self::Mark(_) => None,
        }
    }

    /// Says whether this is a sideband packet of any channel; no line of text begins like one.
    pub(super) fn is_sideband(&self) -> bool {
        (1..=3).any(|channel| self.on(channel).is_some())
    }

    /// Appends the frame.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Mark(mark) => out.extend_from_slice(format!("{mark:04x}").as_bytes()),
            Self::Data(data) => {
                out.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
                out.extend_from_slice(data);
            }
        }
    }
}

/// Returns a packet with one line of text.
pub(super) fn line(text: &str) -> Packet {
    Packet::Data(text.as_bytes().to_vec())
}

/// Returns sideband packets that carry all bytes on one channel.
pub(super) fn sideband(channel: u8, bytes: &[u8]) -> Vec<Packet> {
    let packet = |chunk: &[u8]| Packet::Data([&[channel], chunk].concat());
    bytes.chunks(MOST - 1).map(packet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_are_written() {
        let mut packets = vec![line("packfile\n")];
        packets.extend(sideband(1, &vec![7; 100_000]));
        packets.push(Packet::Mark(0));
        let mut bytes = Vec::new();
        for packet in &packets {
            packet.write(&mut bytes);
        }
        assert_eq!(parse(&bytes), Some(packets));
    }

    #[test]
    fn other_bytes_are_no_packets() {
        assert_eq!(parse(b"<html>"), None);
        assert_eq!(parse(b"0009ab"), None);
        assert_eq!(parse(b"0"), None);
    }
}
