//! Which addresses the controller may ask on behalf of a GatewaySync.
//!
//! Whoever may write a GatewaySync chooses a URL, and the controller's place in the network is
//! better than theirs. Link-local and cloud-metadata addresses are refused always, loopback unless
//! it is allowed, and further networks as the administrator says.
//!
//! # Promises
//! A name is resolved once, every address is checked, and git gets exactly those: a name that
//! changes its address between check and use changes nothing, nor does a redirect to another host.
//! Behind a proxy only the proxy and literal addresses can be checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use stoker_api::condition::Reason;
use stoker_api::word::{HttpUrl, Transport};
use stoker_core::reconcile::Failure;
use stoker_git::Access;
use stoker_git::access::port_of;

use super::arguments::{Cidr, Settings};

const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// Metadata services that are not link-local.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

/// What may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    allow_loopback: bool,
    denied: Vec<Cidr>,
}

impl Policy {
    /// Takes the policy from the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            allow_loopback: settings.allow_loopback_git,
            denied: settings.git_deny_cidrs.clone(),
        }
    }

    /// Checks where a query would go, and ties it to the addresses that were checked.
    pub(crate) async fn check(&self, access: &mut Access) -> Result<(), Failure> {
        let is_web = matches!(access.url.transport(), Transport::Https | Transport::Http);
        if let Some(proxy) = access.proxy.as_ref().filter(|_| is_web) {
            access.addresses = self.check_web(proxy, "spec.git.proxy").await?;
            if let Some(address) = access.url.host().and_then(|host| host.parse().ok()) {
                self.judge(address, "spec.git.repo")?;
            }
            return Ok(());
        }
        let (Some(host), Some(port)) = (access.url.host(), port_of(&access.url)) else {
            return Ok(());
        };
        access.addresses = self.resolve(host, port, "spec.git.repo").await?;
        Ok(())
    }

    /// Checks where requests to an API would go, and returns the addresses that are connected to.
    pub(crate) async fn check_api(
        &self,
        api: &HttpUrl,
        proxy: Option<&HttpUrl>,
        field: &str,
    ) -> Result<Vec<IpAddr>, Failure> {
        let Some(proxy) = proxy else { return self.check_web(api, field).await };
        // The proxy resolves names; a literal address is known here.
        if let Ok(address) = host_and_port(api).0.parse() {
            self.judge(address, field)?;
        }
        self.check_web(proxy, "spec.git.proxy").await
    }

    /// Checks where a web request would go, and returns the addresses.
    async fn check_web(&self, url: &HttpUrl, field: &str) -> Result<Vec<IpAddr>, Failure> {
        let (host, port) = host_and_port(url);
        self.resolve(host, port, field).await
    }

    async fn resolve(&self, host: &str, port: u16, field: &str) -> Result<Vec<IpAddr>, Failure> {
        let unreachable = |detail: &str| Failure {
            reason: Reason::RemoteUnreachable,
            message: format!("failed to resolve the host {host:?} of {field}: {detail}"),
        };
        let lookup = tokio::time::timeout(RESOLVE_WITHIN, tokio::net::lookup_host((host, port)));
        let found = match lookup.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Err(unreachable(&error.to_string())),
            Err(_) => return Err(unreachable("no answer in time")),
        };
        let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        addresses.dedup();
        if addresses.is_empty() {
            return Err(unreachable("it has no address"));
        }
        addresses.iter().try_for_each(|address| self.judge(*address, field))?;
        Ok(addresses)
    }

    fn judge(&self, address: IpAddr, field: &str) -> Result<(), Failure> {
        let Some(kind) = self.fault_of(address.to_canonical()) else { return Ok(()) };
        Err(Failure {
            reason: Reason::RefResolutionFailed,
            message: format!("{field} leads to {address}, which is {kind} and not allowed"),
        })
    }

    fn fault_of(&self, address: IpAddr) -> Option<&'static str> {
        let is_link_local = match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        if is_link_local {
            Some("a link-local address")
        } else if METADATA.contains(&address) {
            Some("the address of a metadata service")
        } else if address.is_unspecified() || address.is_multicast() {
            Some("not the address of a host")
        } else if address.is_loopback() && !self.allow_loopback {
            Some("a loopback address (see --allow-loopback-git)")
        } else if self.denied.iter().any(|network| network.holds(address)) {
            Some("in a network of --git-deny-cidrs")
        } else {
            None
        }
    }
}

fn host_and_port(url: &HttpUrl) -> (&str, u16) {
    let (scheme, rest) = url.as_str().split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let usual = if scheme == "https" { 443 } else { 80 };
    (host, port.and_then(|port| port.parse().ok()).unwrap_or(usual))
}

#[cfg(test)]
mod tests {
    use stoker_api::word::RepoUrl;

    use super::*;

    fn policy(allow_loopback: bool) -> Policy {
        Policy { allow_loopback, denied: vec!["10.0.0.0/8".parse().unwrap()] }
    }

    // F4, with every spelling that others forgot.
    #[test]
    fn addresses_that_lead_inside_are_refused_in_every_spelling() {
        for text in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "127.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "0.0.0.0",
            "::",
            "10.1.2.3",
            "::ffff:10.1.2.3",
        ] {
            assert!(policy(false).judge(text.parse().unwrap(), "url").is_err(), "{text}");
        }
        for text in ["192.0.2.1", "2001:db8::1", "192.168.1.1", "fd00::1"] {
            assert!(policy(false).judge(text.parse().unwrap(), "url").is_ok(), "{text}");
        }
        assert!(policy(true).judge("127.0.0.1".parse().unwrap(), "url").is_ok());
    }

    #[tokio::test]
    async fn names_are_resolved_and_git_is_tied_to_what_was_checked() {
        let url = |text| RepoUrl::parse(text).unwrap();
        let mut access = Access::public(url("https://localhost/plant.git"), "helper");
        let failure = policy(false).check(&mut access).await.unwrap_err();
        assert!(failure.message.contains("loopback"), "{}", failure.message);
        policy(true).check(&mut access).await.unwrap();
        assert!(access.addresses.iter().all(IpAddr::is_loopback) && !access.addresses.is_empty());
    }

    #[tokio::test]
    async fn behind_a_proxy_the_proxy_and_literal_addresses_are_checked() {
        let url = RepoUrl::parse("https://169.254.169.254/latest").unwrap();
        let mut access = Access::public(url, "helper");
        access.proxy = Some(HttpUrl::parse("http://127.0.0.1:3128").unwrap());
        let failure = policy(false).check(&mut access).await.unwrap_err();
        assert!(failure.message.starts_with("spec.git.proxy"), "{}", failure.message);
        let failure = policy(true).check(&mut access).await.unwrap_err();
        assert!(failure.message.starts_with("spec.git.repo"), "{}", failure.message);
    }

    // F4
    #[tokio::test]
    async fn a_proxy_does_not_hide_a_literal_address_of_an_api() {
        let url = |text| HttpUrl::parse(text).unwrap();
        let proxy = url("http://192.0.2.1:3128");
        let check = async |api| policy(false).check_api(&url(api), Some(&proxy), "api").await;
        for api in ["http://169.254.169.254/latest", "https://[fd00:ec2::254]:8443/x"] {
            let failure = check(api).await.unwrap_err();
            assert!(failure.message.starts_with("api leads to"), "{}", failure.message);
        }
        let addresses = check("https://api.example.com").await.unwrap();
        assert_eq!(addresses, [IpAddr::from([192, 0, 2, 1])], "its name is resolved by the proxy");
    }

    #[tokio::test]
    async fn behind_a_proxy_git_is_tied_to_the_addresses_of_the_proxy() {
        let url = RepoUrl::parse("https://git.example.com/plant.git").unwrap();
        let mut access = Access::public(url, "helper");
        access.proxy = Some(HttpUrl::parse("http://localhost:3128").unwrap());
        policy(true).check(&mut access).await.unwrap();
        assert!(access.addresses.iter().all(IpAddr::is_loopback) && !access.addresses.is_empty());
    }

    #[tokio::test]
    async fn a_proxy_does_not_hide_what_goes_past_it() {
        for url in ["ssh://git@localhost/plant.git", "git@localhost:plant.git"] {
            let mut access = Access::public(RepoUrl::parse(url).unwrap(), "helper");
            access.proxy = Some(HttpUrl::parse("http://192.0.2.1:3128").unwrap());
            let failure = policy(false).check(&mut access).await.unwrap_err();
            assert!(failure.message.starts_with("spec.git.repo leads to"), "{}", failure.message);
        }
    }
}
