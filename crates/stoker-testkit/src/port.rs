//! Ports that behave as a test needs them.

/// A port on which nobody listens, and nobody else can, as long as it lives.
#[derive(Debug)]
pub struct DeadPort {
    socket: tokio::net::TcpSocket,
}

impl DeadPort {
    /// Takes a free port on loopback.
    pub fn take() -> std::io::Result<Self> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        Ok(Self { socket })
    }

    /// Returns its number.
    pub fn number(&self) -> std::io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }
}
