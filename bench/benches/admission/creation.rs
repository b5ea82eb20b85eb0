//! Pods through the real API server: what the webhook adds, and whether it is called at all.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::pair::Series;
use stoker_bench::program::run;
use stoker_testkit::object::gateway_pod;

use crate::World;

const LIMIT: f64 = 1.6;
const UNASKED: usize = 100;

/// The creation of a pod that is injected, to that of the same pod with its agent, elsewhere.
pub(crate) async fn overhead(world: &World) -> anyhow::Result<Vec<Finding>> {
    let served: Api<Pod> = Api::namespaced(world.client.clone(), world.served.name());
    let other: Api<Pod> = Api::namespaced(world.client.clone(), world.other.name());
    let mut series = Series::default();
    let mut given = gateway_pod("warm").seeded().fs_group(2003).build();
    let (_, mut injected) = create(&served, &given).await?;
    ensure!(has_agent(&injected), "the webhook does not inject");
    for turn in 0..world.turns {
        given.metadata.name = Some(format!("g-{turn}"));
        injected = Pod {
            metadata: kube::api::ObjectMeta {
                name: Some(format!("g-{turn}")),
                annotations: injected.metadata.annotations,
                labels: injected.metadata.labels,
                ..kube::api::ObjectMeta::default()
            },
            spec: injected.spec,
            status: None,
        };
        // Who begins alternates.
        for side in [turn % 2, (turn + 1) % 2] {
            if side == 0 {
                let (took, pod) = create(&served, &given).await?;
                ensure!(has_agent(&pod), "the webhook missed a pod");
                series.ours.push(took.as_secs_f64());
            } else {
                let (took, _) = create(&other, &injected).await?;
                series.reference.push(took.as_secs_f64());
            }
        }
    }
    let claim = "creation of a pod that is injected, to the same pod without webhook";
    Ok(vec![Bar::ratio("creation", claim, LIMIT).judge_ratio(series)])
}

/// P16: pods that do not ask, counted at the API server.
pub(crate) async fn calls(world: &World) -> anyhow::Result<Vec<Finding>> {
    let served: Api<Pod> = Api::namespaced(world.client.clone(), world.served.name());
    let asked = gateway_pod("asks").fs_group(2003);
    create(&served, &asked.build()).await?;
    let before = requests(world)?;
    ensure!(before > 0.0, "the API server does not count calls of the webhook");
    for number in 0..UNASKED {
        let pod = gateway_pod(&format!("plain-{number}"));
        let pod = pod.annotation(stoker_api::names::Annotation::Inject, "false").build();
        create(&served, &pod).await?;
    }
    let calls = requests(world)? - before;
    let claim = format!("calls for {UNASKED} pods without the annotation");
    let bar = Bar { id: "P16", claim, limit: 0.0, unit: Unit::Count };
    Ok(vec![bar.judge(calls, "counted by the API server".to_owned())])
}

/// Creates a pod, and deletes it again once the time was taken.
async fn create(api: &Api<Pod>, pod: &Pod) -> anyhow::Result<(Duration, Pod)> {
    let begun = Instant::now();
    let created = api.create(&PostParams::default(), pod).await.context("a pod was refused")?;
    let took = begun.elapsed();
    api.delete(&created.name_any(), &DeleteParams::default().grace_period(0)).await?;
    Ok((took, created))
}

fn has_agent(pod: &Pod) -> bool {
    let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    containers.into_iter().any(|it| it.name == stoker_api::names::AGENT_CONTAINER)
}

/// How often the API server has called the webhook.
fn requests(world: &World) -> anyhow::Result<f64> {
    let metrics = run(world.served.kubectl().args(["get", "--raw", "/metrics"]))?.stdout;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    let counts = metrics.lines().filter(|line| {
        line.starts_with("apiserver_admission_webhook_request_total{")
            && line.contains("bench.pod-inject.stoker.io")
    });
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    Ok(counts.sum())
}
