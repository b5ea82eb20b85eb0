//! A stand-in for cert-manager: its kinds, the Secret that it fills, and the CA that it writes.

use rcgen::generate_simple_self_signed;

use super::{World, piped};

const SERVICE: &str = "stoker-operator-webhook-service.stoker-system.svc";

/// The kinds of cert-manager. Only their names count here.
const KINDS: &str = include_str!("cert-manager.yaml");

impl World {
    /// Makes the kinds of cert-manager known to the API server.
    pub(super) fn install_cert_manager(&self) {
        self.apply(KINDS);
        let kinds = ["crd/certificates.cert-manager.io", "crd/issuers.cert-manager.io"];
        self.operator(&[&["wait", "--for=condition=Established"][..], &kinds].concat());
    }

    /// Does what cert-manager does for a Certificate of a self-signed Issuer.
    pub(super) fn fill_certificate(&self) {
        let issued = generate_simple_self_signed([SERVICE.to_owned()]).unwrap();
        let (certificate, key) = (issued.cert.pem(), issued.signing_key.serialize_pem());
        let indent = |pem: &str| pem.replace('\n', "\n    ");
        let secret = format!(
            "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\n\
             metadata: {{name: stoker-operator-webhook-cert, namespace: stoker-system}}\n\
             stringData:\n  tls.crt: |\n    {}\n  tls.key: |\n    {}\n",
            indent(&certificate),
            indent(&key)
        );
        let mut kubectl = self.node().cluster().kubectl();
        piped(
            kubectl.args(["apply", "--server-side", "--force-conflicts", "--filename=-"]),
            &secret,
        );
        self.trust(&certificate);
    }

    /// Writes the CA into the webhook configurations that ask cert-manager for it.
    fn trust(&self, certificate: &str) {
        let bundle = piped(std::process::Command::new("base64").arg("--wrap=0"), certificate);
        let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
        let path = "--output=jsonpath={range .items[?(@.metadata.annotations.cert-manager\\.io/inject-ca-from)]}\
                    {.kind}/{.metadata.name}{\"\\n\"}{end}";
        for name in self.operator(&["get", kinds, path]).lines() {
            let added = format!(
                r#"[{{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "{bundle}"}}]"#
            );
            self.operator(&["patch", name, "--type=json", "--patch", &added]);
        }
    }
}
