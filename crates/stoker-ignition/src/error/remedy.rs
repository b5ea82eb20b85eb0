//! What a user can do about an error, one remedy per reason.
//!
//! Long: a registry, and every entry has the same shape.

use stoker_api::remedy::Remedy;

use super::{Error, Reason};

impl Error {
    /// Returns what a user can do about it.
    #[expect(clippy::too_many_lines, reason = "a registry: one sentence per reason")]
    pub fn remedy(&self) -> Remedy {
        let words = match self.reason() {
            Reason::GatewayTimedOut => return Remedy::AllowGatewayMoreTime,
            Reason::GatewayCertificateUntrusted => return Remedy::GiveGatewayCa,
            Reason::ScanLockHeld => return Remedy::WaitForScanLock,
            Reason::GatewayAddressInvalid => {
                "give the gateway's address as http://host:8088 or https://host:8043"
            }
            Reason::GatewayCertificatesUnusable => {
                "give a PEM file with the certificate of the authority that signed the gateway's"
            }
            Reason::GatewayKeyMissing => {
                "create an API key on the gateway (Platform > Security > API Keys) and put name:secret into a file that this user can read"
            }
            Reason::GatewayKeyUnusable => {
                "put the whole token, name:secret, on the only line of the file"
            }
            Reason::GatewayConnectionRefused => {
                "check that the gateway is up and that the port is its HTTP port (8088) or its HTTPS port (8043)"
            }
            Reason::GatewayUnreachable => {
                "check the gateway's host name and the network between here and there"
            }
            Reason::GatewayConnectionLost => {
                "check the gateway's wrapper.log for why the connection was closed, and check whether the port expects https://"
            }
            Reason::GatewayTlsMismatch => {
                "use https:// with the HTTPS port (8043) and http:// with the HTTP port (8088)"
            }
            Reason::GatewayUnauthorized => {
                "check that this key exists on the gateway and that the file holds the full name:secret; a key that was created again has a new secret"
            }
            Reason::GatewayForbidden => {
                "give one of the key's security levels Access, Read and Write permission in the gateway's security properties; if the key requires a secure channel, use https://"
            }
            Reason::GatewayRouteNotFound => {
                "check the gateway's version: its API exists from Ignition 8.3 on; and that no path in front of it is missing from the address"
            }
            Reason::GatewayNeedsCommissioning => {
                "commission the gateway in a browser, or by its environment; the scan is made up for afterwards"
            }
            Reason::GatewayRedirected => {
                "give the address that the gateway redirects to; redirects are not followed, so that the key is not sent elsewhere"
            }
            Reason::GatewayTooManyRequests => {
                "wait; a server in front of the gateway limits requests"
            }
            Reason::GatewayStarting => {
                "wait until the gateway is running; the scan is made up for then"
            }
            Reason::GatewayServerFault => {
                "check the gateway's logs (Platform > Diagnostics > Logs) for what failed"
            }
            Reason::GatewayUnexpectedAnswer => {
                "check that the address is a gateway's and not that of a proxy or a log-in page"
            }
            Reason::GatewayAnswerTooLarge => {
                "check that the address is a gateway's: none of its responses to Stoker is that large"
            }
            Reason::ScanTimedOut => {
                "check the gateway's logs for the scan; the next run requests it again"
            }
            Reason::DesignerSessionActive => {
                "close the designer sessions, or set the designer session policy to proceed"
            }
            Reason::DesignerStateUnknown => {
                "let the key read designers, or set the designer session policy to proceed"
            }
            Reason::Cancelled => "run it again when it is convenient; nothing is left half done",
            _ => "check the limits of this process (threads, open files)",
        };
        Remedy::step(words)
    }
}
