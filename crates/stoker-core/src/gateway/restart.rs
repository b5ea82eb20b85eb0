//! Whether a pod has to be restarted before a change takes effect there.

use stoker_api::GatewaySync;
use stoker_api::names::Annotation;

use super::{Gateway, Pod};
use crate::admission::{Placement, Settings};

/// What the webhook gave a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The image of its agent.
    pub image: String,
    /// Where its agent has the data; none where the pod would not get an agent any more.
    pub placement: Option<Placement>,
}

/// Says why the pod of a gateway has to be restarted; `None` where nothing would change.
pub fn restart_reason(
    gateway: &Gateway,
    sync: &GatewaySync,
    settings: &Settings,
) -> Option<String> {
    if gateway.legacy.is_some() {
        return Some("the pod runs the agent of the Go operator".to_owned());
    }
    outdated(&gateway.pod, sync, settings)
}

/// Says whether a restart would bring a pod an agent, or another one.
pub fn needs_restart(pod: &Pod, sync: &GatewaySync, settings: &Settings) -> bool {
    let is_missed = !pod.has_agent && pod.asks_for_agent();
    is_missed || pod.may_have_legacy_agent() || outdated(pod, sync, settings).is_some()
}

fn outdated(pod: &Pod, sync: &GatewaySync, settings: &Settings) -> Option<String> {
    let injected = pod.injected.as_deref()?;
    let stamped = pod.annotation(Annotation::InjectedHash)?;
    let asked = pod.annotation(Annotation::AgentImage);
    let expected = injected.placement.as_ref()?.expected(asked, sync, settings)?;
    if expected.hash == stamped {
        return None;
    }
    Some(if expected.image == injected.image {
        "the Secrets that spec names are not those that the agent mounts".to_owned()
    } else {
        format!("the agent has image {}, {} is wanted", injected.image, expected.image)
    })
}

#[cfg(test)]
mod tests {
    use crate::admission::{Placement, Pod as View, Settings};
    use crate::testing::{plant, pod, stored};

    use super::*;

    fn settings(image: &str) -> Settings {
        Settings {
            default_image: image.parse().unwrap(),
            allowed_repositories: Vec::new(),
            pull_secrets: Vec::new(),
        }
    }

    #[test]
    fn a_pod_is_restarted_for_another_image_or_secret_and_for_nothing_else() {
        let view: View<'_> = serde_json::from_str(
            r#"{"spec":{"containers":[{"name":"gateway","volumeMounts":[
                {"name":"data","mountPath":"/usr/local/bin/ignition/data"}]}]}}"#,
        )
        .unwrap();
        let placement = Placement::of(&view).unwrap();
        let (one, two) = (settings("registry.example.com/agent:1"), settings("r.example.com/a:2"));
        let sync = stored(plant());
        let hash = placement.expected(None, &sync, &one).unwrap().hash;
        let image = "registry.example.com/agent:1".to_owned();
        let mut pod = pod("ignition-0").annotated(Annotation::InjectedHash, &hash);
        pod.injected = Some(Box::new(Injected { image, placement: Some(placement) }));
        assert_eq!(outdated(&pod, &sync, &one), None);
        assert_eq!(
            outdated(&pod, &sync, &two).unwrap(),
            "the agent has image registry.example.com/agent:1, r.example.com/a:2 is wanted"
        );
        let private = stored(plant().token("git"));
        assert!(outdated(&pod, &private, &one).unwrap().contains("Secrets"));
        let quiet = stored(plant().polling("5m"));
        assert_eq!(outdated(&pod, &quiet, &one), None);
    }
}
