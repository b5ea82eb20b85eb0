//! What a pod's annotations ask for, as parsed words.

use stoker_api::limit;
use stoker_api::names::{Annotation, Label};
use stoker_api::word::{GatewayName, ProfileName, RefName, RelPath};

use super::pod::Pod;
use super::warning::Findings;

/// What the annotations ask for. What could not be parsed is absent, and was found fault with.
#[derive(Debug, Default)]
pub(super) struct Asked<'a> {
    pub(super) sync: Option<&'a str>,
    pub(super) has_invalid_sync: bool,
    pub(super) profile: Option<&'a str>,
    pub(super) sync_profile: Option<&'a str>,
    pub(super) service_path: Option<&'a str>,
    pub(super) gateway_name: Option<&'a str>,
    pub(super) image: Option<&'a str>,
    pub(super) sync_period: Option<u16>,
    pub(super) is_first: bool,
    pub(super) data_volume: Option<&'a str>,
    pub(super) gateway_port: Option<u16>,
    pub(super) gateway_tls: Option<bool>,
}

struct Reader<'a, 'f> {
    pod: &'a Pod<'a>,
    findings: &'f mut Findings,
}

impl<'a> Asked<'a> {
    /// Reads the annotations of a pod.
    pub(super) fn read(pod: &'a Pod<'a>, findings: &mut Findings) -> Self {
        let mut reader = Reader { pod, findings };
        let given_sync = reader.get(Annotation::CrName);
        let sync = reader.check(Annotation::CrName, "the name of a GatewaySync", is_sync_name);
        let label = pod.label(Label::AppName.as_str());
        let label = label.filter(|text| GatewayName::parse(text).is_ok());
        let gateway_name = reader
            .check(Annotation::GatewayName, "the name of a gateway", |text| {
                GatewayName::parse(text).is_ok()
            })
            .or(label);
        reader.check(Annotation::RefOverride, "a ref", |text| RefName::parse(text).is_ok());
        Self {
            sync,
            has_invalid_sync: given_sync.is_some() && sync.is_none(),
            profile: reader.check(Annotation::Profile, "the name of a profile", |text| {
                ProfileName::parse(text).is_ok()
            }),
            sync_profile: reader.check(
                Annotation::SyncProfile,
                "the name of a SyncProfile",
                is_object_name,
            ),
            service_path: reader.check(
                Annotation::ServicePath,
                "a path in the repository",
                |text| RelPath::parse(text).is_ok(),
            ),
            gateway_name,
            image: reader.get(Annotation::AgentImage),
            sync_period: reader.number(
                Annotation::SyncPeriod,
                limit::SYNC_PERIOD_MIN,
                limit::SYNC_PERIOD_MAX,
            ),
            is_first: reader
                .check(Annotation::InitOrder, "\"first\"", |text| text == "first")
                .is_some(),
            data_volume: reader.get(Annotation::DataVolume),
            gateway_port: reader.number(Annotation::GatewayPort, 1, usize::from(u16::MAX)),
            gateway_tls: reader
                .check(Annotation::GatewayTls, "\"true\" or \"false\"", |text| {
                    text == "true" || text == "false"
                })
                .map(|text| text == "true"),
        }
    }
}

impl<'a> Reader<'a, '_> {
    fn get(&self, annotation: Annotation) -> Option<&'a str> {
        self.pod.annotation(annotation.as_str()).filter(|text| !text.is_empty())
    }

    fn check(
        &mut self,
        annotation: Annotation,
        expected: &str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let text = self.get(annotation)?;
        if is_valid(text) {
            return Some(text);
        }
        let shown = text.chars().take(60).collect::<String>();
        self.findings.fault(format!("{annotation} {shown:?} is not {expected}, and is ignored"));
        None
    }

    fn number(&mut self, annotation: Annotation, least: usize, most: usize) -> Option<u16> {
        let parse = |text: &str| {
            let number = text.parse::<u16>().ok();
            number.filter(|number| (least..=most).contains(&usize::from(*number)))
        };
        let expected = format!("a number from {least} to {most}");
        let text = self.check(annotation, &expected, |text| parse(text).is_some())?;
        parse(text)
    }
}

fn is_sync_name(text: &str) -> bool {
    text.len() <= limit::CR_NAME && is_object_name(text)
}

/// The grammar of object names: labels of lower-case letters, digits and `-`, separated by dots.
fn is_object_name(text: &str) -> bool {
    let is_edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(is_edge)
            && bytes.last().copied().is_some_and(is_edge)
            && bytes.iter().all(|byte| is_edge(*byte) || *byte == b'-')
    };
    text.len() <= limit::OBJECT_NAME && text.split('.').all(is_label)
}
