//! Starts, kills and suspends the controllers of a simulated cluster, and changes their clocks and links.

use super::SimulationHarness;
use crate::mutation::ControllerMutation;
use crate::request_audit::Between;
use futures::FutureExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{env, fs};
use taintward_controller::run::run_on;
use taintward_controller::shutdown::{Shutdown, ShutdownRequest};
use taintward_core::time::Wall;
use taintward_kube::clock::Clock;
use taintward_kube::config::Connected;
use taintward_record::{EngineRecorder, RecordReader, Replay, ReplayError};
use tokio::task::JoinHandle;

/// A running controller.
pub(super) struct SimulatedController {
    task: JoinHandle<Result<(), String>>,
    request: ShutdownRequest,
    is_stopping: bool,
    recorder: Option<EngineRecorder>,
}

/// The first difference between what a controller did and what its record makes the same engines do, or the first
/// request that violates a property.
fn replay_error(recorder: &EngineRecorder) -> Option<String> {
    let (bytes, mut replay) = (recorder.to_bytes(), Replay::new());
    let read = RecordReader::open(&bytes[..]).map_err(ReplayError::from);
    let error = read.and_then(|mut record| replay.read(&mut record)).err().map(|error| error.to_string());
    error.or_else(|| replay.check().violations.first().map(ToString::to_string))
}

impl SimulationHarness {
    pub(super) async fn start_all(&mut self) {
        for which in 0..self.controllers.len() {
            self.start(which).await;
        }
    }

    /// Starts one of the controllers unless it runs.
    pub(crate) async fn start_one(&mut self) {
        let which = self.below(self.controllers.len() as u64) as usize;
        self.start(which).await;
    }

    async fn start(&mut self, which: usize) {
        let runs = self.controllers[which].as_ref().is_some_and(|running| !running.task.is_finished());
        if self.mutation == ControllerMutation::NoEvictions || runs {
            return;
        }
        self.kill(which).await;
        let mut settings = self.controller_settings();
        let identity =
            settings.election.as_ref().map(|_| format!("seed_{:016x}", settings.seed.unwrap_or(0)));
        if self.mutation == ControllerMutation::NoLease && which == 1 {
            settings.election = None;
        }
        if self.mutation == ControllerMutation::LostForGood {
            settings.cluster.relist_every = None;
        }
        let client = || {
            let server = Between {
                server: self.world.server().clone(),
                mutation: self.mutation,
                identity: identity.clone(),
                log: Arc::clone(&self.log.commits),
                by_hand: Arc::clone(&self.log.by_hand),
                requested: Arc::clone(&self.requested),
                which,
                writer: Arc::clone(&self.log.writer),
            };
            kube::Client::new(self.faults.before(server), "default")
        };
        let cluster = Connected {
            client: client(),
            streams: client(),
            heartbeats: client(),
            lease: client(),
            host: "in-process".to_owned(),
            where_from: "a simulated world".to_owned(),
            default_namespace: "default".to_owned(),
        };
        let wrong = self.below(self.skew * 2_000_000 + 1) as i64 - self.skew as i64 * 1_000_000;
        let wall = Wall::from_micros(self.now().as_microsecond() + wrong);
        let clock = Clock::of_runtime(wall).stepped_by(Arc::clone(&self.steps)).by_the_server();
        let (request, shutdown) = Shutdown::pair();
        let recorder = settings.recorder.clone();
        let task = tokio::spawn(async move {
            run_on(cluster, clock, settings, shutdown).await.map_err(|error| error.to_string())
        });
        self.controllers[which] = Some(SimulatedController { task, request, is_stopping: false, recorder });
        self.begun.push((which, self.now()));
        self.send(format!("controller {which} starts"));
    }

    /// Kills one of the controllers at any await point.
    pub(crate) async fn crash(&mut self) {
        let which = self.below(self.controllers.len() as u64) as usize;
        if self.controllers[which].is_some() {
            self.kill(which).await;
            self.crashes += 1;
            self.send(format!("controller {which} is killed"));
        }
    }

    /// Makes the link between the controllers and the server slow, or fast again.
    pub(crate) fn change_link(&mut self) {
        let each_way = Duration::from_millis(self.below(3) * self.below(800));
        self.faults.slow_link(each_way);
        self.send(format!("each request and each response takes {} ms", each_way.as_millis()));
    }

    /// Sets the controllers' wall clocks, by up to an hour in either direction.
    pub(crate) fn set_clocks(&mut self) {
        let step = self.below(7_200) as i64 - 3_600;
        self.steps.store(step * 1_000_000, Ordering::Relaxed);
        self.send(format!("the controllers' wall clocks are wrong by {step} s"));
    }

    /// Lets time pass while only the script acts: all controllers are stopped or suspended, and so are the cluster's
    /// components, if there are any.
    pub(crate) fn jump(&self, length: Duration) {
        // The first poll moves the time; another would let other tasks run.
        let _ = tokio::time::advance(length).now_or_never();
    }

    /// Suspends the controllers while things happen.
    pub(crate) fn slumber(&mut self) {
        self.slumbers += 1;
        self.send("the controllers are stopped".to_owned());
        let slept = tokio::time::Instant::now();
        for _ in 0..=self.below(5) {
            self.happen();
            let length = Duration::from_millis(self.below(20_000));
            self.jump(length);
        }
        self.woken.push((self.now(), slept.elapsed()));
        self.send("the controllers continue".to_owned());
    }

    /// Stops one of the controllers gracefully.
    pub(crate) fn stop(&mut self) {
        let which = self.below(self.controllers.len() as u64) as usize;
        if let Some(running) = &mut self.controllers[which] {
            running.request.send();
            running.is_stopping = true;
            self.send(format!("controller {which} is asked to stop"));
        }
    }

    /// Kills the controllers that were asked to stop, if they still do.
    pub(super) async fn end_stopping(&mut self) {
        for which in 0..self.controllers.len() {
            if self.controllers[which].as_ref().is_some_and(|controller| controller.is_stopping) {
                self.kill(which).await;
            }
        }
    }

    pub(super) async fn kill(&mut self, which: usize) {
        let Some(ended) = self.controllers[which].take() else { return };
        let SimulatedController { task, request, recorder, .. } = ended;
        task.abort();
        match task.await {
            Ok(Err(why)) => self.wrong.push(format!("controller {which} gave up: {why}")),
            Err(end) if end.is_panic() => self.wrong.push(format!("controller {which} panicked: {end}")),
            Ok(Ok(())) | Err(_) => {}
        }
        drop(request);
        let Some(recorder) = recorder else { return };
        if let Some(folder) = env::var_os("TAINTWARD_RECORDS") {
            self.records += 1;
            let path = PathBuf::from(folder).join(format!("{:02}-controller-{which}.record", self.records));
            fs::write(&path, recorder.to_bytes())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        if let Some(error) = replay_error(&recorder) {
            self.wrong.push(format!("the record of controller {which}: {error}"));
        }
    }
}
