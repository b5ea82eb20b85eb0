//! The worker: watches the announcement, syncs, reports.
//!
//! # Flow
//! One loop on one thread. Everything that happens changes the [`State`]; then the state decides
//! what is to be done. Runs are on a thread of their own, one at a time.

mod state;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stoker_api::chain::Chain;
use stoker_runtime::listener::{self, BindAddress};
use stoker_runtime::{Shutdown, admin::Admin, client, telemetry};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::announce::Metrics;
use crate::announcement::{self, Announcement};
use crate::args::{self, Environment, Options};
use crate::deliver::{self, Parcel};
use crate::goal;
use crate::link::Message;
use crate::memory;
use crate::pod::PodReader;
use crate::run::{self, Ended, Job, Writing};
use crate::startup::Startup;
use state::{Running, Start, State};

/// How often the supervisor hears of us, and the pod's annotations are checked for changes.
const BEAT: Duration = Duration::from_secs(15);
/// How long the last report may take to be delivered at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// The pause between two attempts to find a way to the API server.
const CONNECT: Duration = Duration::from_secs(5);
/// Stacks of the threads that runs are on.
const STACK: usize = 1 << 20;

/// Works until SIGTERM.
pub(crate) fn run(options: &Options) -> ExitCode {
    memory::prepare();
    let filter = std::env::var("STOKER_LOG_LEVEL").ok().and_then(|text| text.parse().ok());
    telemetry::init(telemetry::Format::Json, &filter.unwrap_or_default()).ok();
    let environment = match Environment::read(&args::variable) {
        Ok(environment) => environment,
        Err(error) => {
            // Nothing can be synced, so there is nothing that the gateway could wait for.
            Message::Started.send();
            return args::refuse(&error);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .max_blocking_threads(4)
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work(Arc::new(environment), options)),
        Err(error) => args::refuse(&error),
    }
}

async fn work(environment: Arc<Environment>, options: &Options) -> ExitCode {
    let at = Instant::now().checked_sub(options.age).unwrap_or_else(Instant::now);
    let shutdown = match Shutdown::on_signals() {
        Ok(shutdown) => shutdown,
        Err(error) => return args::refuse(&error),
    };
    let (metrics, registry) = Metrics::new();
    serve_metrics(&environment, Admin::default().with_metrics(registry), &shutdown);
    let message = "not asked yet".to_owned();
    let (announcing, announced) = watch::channel(Announcement::Unknown { message });
    let (posting, posted) = watch::channel(None);
    let (delivering, delivered) = watch::channel(None);
    let (pacing, period) = watch::channel(goal::USUAL_PERIOD);
    let line = Line { announcing, posted, delivering, period };
    let outgoing = Outgoing { posting, pacing };
    tokio::spawn(connect(Arc::clone(&environment), line));
    let mut pods = PodReader::new(&options.pod_info);
    let pod = pods.read(&environment);
    // In a pod that is not ours nothing is written, whatever was begun there.
    if goal::check_identity(&pod, &environment).is_ok() {
        finish(&environment, &shutdown).await;
    }
    let (found, store_limit) = (run::inspect(&environment), options.store_limit);
    let state = State::new(Start { environment, metrics, pod, found, store_limit, at });
    let mut worker = Worker { state, pods, handle: None, told: None };
    worker.attend(announced, &outgoing, &shutdown).await;
    let sent = outgoing.posting.borrow().clone();
    farewell(sent, delivered).await;
    ExitCode::SUCCESS
}

fn serve_metrics(environment: &Environment, admin: Admin, shutdown: &Shutdown) {
    match listener::bind(BindAddress::Any(environment.metrics_port)) {
        Ok(Some(listener)) => {
            tokio::spawn(admin.serve(listener, shutdown.clone()));
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(error = %Chain(&error), "metrics are not served"),
    }
}

/// The ends of the channels that the API server's side holds.
struct Line {
    announcing: watch::Sender<Announcement>,
    posted: watch::Receiver<Option<Parcel>>,
    delivering: watch::Sender<Option<Parcel>>,
    period: watch::Receiver<Duration>,
}

/// What the worker sends to the API server's side.
struct Outgoing {
    posting: watch::Sender<Option<Parcel>>,
    /// How often the announcement is read where it can't be watched.
    pacing: watch::Sender<Duration>,
}

/// Finds a way to the API server, then watches and delivers.
async fn connect(environment: Arc<Environment>, line: Line) {
    let client = loop {
        match client::connect(client::Retry::STANDARD).await {
            Ok(client) => break client,
            Err(error) => {
                let message = Chain(&error).to_string();
                tracing::warn!(error = message, "no way to the API server");
                line.announcing.send_replace(Announcement::Absent { message });
                tokio::time::sleep(CONNECT).await;
            }
        }
    };
    let Line { announcing, posted, delivering, period } = line;
    tokio::join!(
        announcement::watch(client.clone(), Arc::clone(&environment), announcing, period),
        deliver::deliver(client, environment, posted, delivering),
    );
}

/// Waits until the last report is delivered, but not for long.
async fn farewell(sent: Option<Parcel>, mut delivered: watch::Receiver<Option<Parcel>>) {
    let arrived = delivered.wait_for(|parcel| *parcel == sent);
    tokio::time::timeout(FAREWELL, arrived).await.ok();
}

struct Worker {
    state: State,
    pods: PodReader,
    handle: Option<JoinHandle<Ended>>,
    told: Option<Startup>,
}

/// What woke the worker.
enum Woken {
    Announced(Announcement),
    Ended(Box<Result<Ended, tokio::task::JoinError>>),
    Beat,
    Time,
    Shutdown,
}

impl Worker {
    async fn attend(
        &mut self,
        mut announced: watch::Receiver<Announcement>,
        outgoing: &Outgoing,
        shutdown: &Shutdown,
    ) {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let next = self.consider(outgoing);
            let woken = tokio::select! {
                biased;
                () = shutdown.requested() => Woken::Shutdown,
                ended = finished(&mut self.handle) => Woken::Ended(Box::new(ended)),
                Ok(()) = announced.changed() => {
                    Woken::Announced(announced.borrow_and_update().clone())
                }
                _ = beat.tick() => Woken::Beat,
                () = sleep_until(next) => Woken::Time,
            };
            match woken {
                Woken::Shutdown => return self.end(outgoing).await,
                Woken::Ended(ended) => self.take(*ended),
                Woken::Announced(announcement) => self.state.announcement = announcement,
                Woken::Beat => self.beat(),
                Woken::Time => {}
            }
        }
    }

    /// Does what is to be done now; returns when to look again.
    fn consider(&mut self, outgoing: &Outgoing) -> Option<Instant> {
        let now = Instant::now();
        let todo = self.state.consider(now);
        self.tell(todo.startup, now);
        send_new(&outgoing.pacing, self.state.period());
        if let Some(parcel) = todo.parcel {
            send_new(&outgoing.posting, Some(parcel));
        } else if self.state.is_withdrawn() && send_new(&outgoing.posting, None) {
            tracing::debug!("nothing is announced any more: no report is due");
        }
        match todo.job {
            Some(job) => {
                self.start(job, now);
                // The run changes what is waited for.
                self.consider(outgoing)
            }
            None => todo.next,
        }
    }

    fn start(&mut self, job: Job, now: Instant) {
        let running = Running {
            job: job.clone(),
            cancel: stoker_run::Cancel::default(),
            writing: Writing::default(),
            since: now,
        };
        let (cancel, writing) = (running.cancel.clone(), running.writing.clone());
        self.state.running = Some(running);
        self.handle =
            Some(tokio::task::spawn_blocking(move || run::execute(&job, &cancel, &writing)));
    }

    fn take(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        self.handle = None;
        let Some(running) = self.state.running.take() else { return };
        match ended {
            Ok(ended) => self.state.take(&running.job, &ended, Instant::now()),
            Err(error) => {
                tracing::error!(error = %Chain(&error), "a run broke");
                self.state.take_broken(&running.job, Instant::now());
            }
        }
    }

    /// Tells the supervisor whether the gateway may start, when that changes.
    fn tell(&mut self, startup: Startup, now: Instant) {
        let reason = |startup: &Startup| match startup {
            Startup::Pass => None,
            Startup::Wait { reason, .. } => Some(reason.clone()),
        };
        let has_passed = self.told == Some(Startup::Pass);
        if has_passed || self.told.as_ref().map(&reason) == Some(reason(&startup)) {
            return;
        }
        match reason(&startup) {
            None => {
                Message::Started.send();
                self.state.note_start(now);
            }
            Some(reason) => Message::Waiting(reason).send(),
        }
        self.told = Some(startup);
    }

    fn beat(&mut self) {
        Message::Beat.send();
        if self.pods.has_changed() {
            self.state.pod = self.pods.read(&self.state.environment);
        }
    }

    /// Finishes or undoes the run that is under way, and says what came of it.
    async fn end(&mut self, outgoing: &Outgoing) {
        self.state.cancel();
        if self.handle.is_some() {
            let ended = finished(&mut self.handle).await;
            self.take(ended);
            let todo = self.state.consider(Instant::now());
            if let Some(parcel) = todo.parcel {
                outgoing.posting.send_replace(Some(parcel));
            }
        }
    }
}

fn send_new<T: PartialEq>(sender: &watch::Sender<T>, value: T) -> bool {
    sender.send_if_modified(|sent| {
        let is_new = *sent != value;
        *sent = value;
        is_new
    })
}

/// Finishes a run that was killed, before anything else. The supervisor hears of us meanwhile.
async fn finish(environment: &Arc<Environment>, shutdown: &Shutdown) {
    if !run::inspect(environment).is_unfinished {
        return;
    }
    let (own, cancel) = (Arc::clone(environment), stoker_run::Cancel::default());
    let flag = cancel.clone();
    let mut finishing = tokio::task::spawn_blocking(move || run::finish(&own, &flag));
    let mut beat = tokio::time::interval(BEAT);
    let finished = loop {
        tokio::select! {
            finished = &mut finishing => break finished,
            _ = beat.tick() => Message::Beat.send(),
            () = shutdown.requested(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    };
    match finished {
        Ok(Ok(())) => tracing::info!("finished a run that was killed"),
        Ok(Err(error)) => tracing::warn!(error, "a run that was killed can't be finished yet"),
        Err(error) => tracing::error!(error = %Chain(&error), "a recovery broke"),
    }
}

async fn finished(handle: &mut Option<JoinHandle<Ended>>) -> Result<Ended, tokio::task::JoinError> {
    match handle {
        Some(handle) => handle.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next.into()).await,
        None => std::future::pending().await,
    }
}
