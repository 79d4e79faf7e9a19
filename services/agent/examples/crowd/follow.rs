//! Requests the run of the crowd, follows it as a watcher does, and folds its report.

use std::time::Duration;

use loadpilot_agent::wall_clock;
use loadpilot_bus::{Bus, Step, Stored, Stream, Tail};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::live::LiveView;
use loadpilot_engine::report::report;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::envelope::Envelope;
use loadpilot_events::wire::subject::{Kind, Subjects};
use loadpilot_events::{RunId, Timestamp};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, interval, timeout};

use crate::plan::ask;
use crate::spread::Spread;
use crate::{Trouble, connect, say, subjects};

/// Maximum time of the run beyond its load; a run that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(180);

/// Interval between snapshots of the watcher.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(1);

/// Requests a run and follows it to its end.
pub(crate) async fn run(agents: u32, secs: u64) -> Result<Value, Trouble> {
    let (bus, subjects) = (connect("crowd-watcher").await?, subjects()?);
    bus.open_log().await?;
    let run = ask(&bus, &subjects, (agents, secs), wall_clock::now()).await?;
    let mut watcher = Watcher::new(&bus, subjects, run).await?;
    let patience = PATIENCE + Duration::from_secs(secs);
    timeout(patience, watcher.follow()).await??;
    watcher.close()
}

struct Watcher {
    subjects: Subjects,
    control_tail: Tail,
    data_tail: Tail,
    log: ControlLog,
    control: Control,
    live: LiveView,
    workload: Option<Workload>,
    /// Time from the storing of a delta to its fold, both by the clock of this machine.
    lags: Spread,
    snapshots: Spread,
    /// Every delta, for the report.
    deltas: Vec<Stored>,
    /// Length and age of each decision, by its name.
    decisions: Map<String, Value>,
    asked_at: Timestamp,
    has_started: bool,
}

impl Watcher {
    async fn new(bus: &Bus, subjects: Subjects, run: RunId) -> Result<Self, Trouble> {
        let of_run = vec![
            subjects.req(&run),
            subjects.ctl(&run),
            subjects.evt_all(&run),
        ];
        let control_tail = bus.tail(Stream::Ctl, of_run, 1).await?;
        let data_tail = bus
            .tail(Stream::Data, vec![subjects.delta_all(&run)], 1)
            .await?;
        let log = ControlLog::new(run);
        Ok(Self {
            subjects,
            control_tail,
            data_tail,
            control: log.close(),
            log,
            live: LiveView::default(),
            workload: None,
            lags: Spread::default(),
            snapshots: Spread::default(),
            deltas: Vec::new(),
            decisions: Map::new(),
            asked_at: wall_clock::now(),
            has_started: false,
        })
    }

    async fn follow(&mut self) -> Result<(), Trouble> {
        let mut clock = interval(SNAPSHOT_EVERY);
        while !self.control.state.over {
            tokio::select! {
                step = self.control_tail.next() => self.on_control(step?),
                step = self.data_tail.next() => self.on_data(step?),
                _ = clock.tick() => self.look(),
            }
        }
        // Deltas stored before the seal may arrive after it.
        let covered = self.control.sealed.as_ref().map_or(0, |seal| seal.data_seq);
        while self.deltas.last().map_or(0, |last| last.seq) < covered {
            let step = self.data_tail.next().await?;
            self.on_data(step);
        }
        Ok(())
    }

    fn on_control(&mut self, step: Step) {
        let Step::Event(stored) = step else { return };
        let Some(place) = self.subjects.parse(&stored.subject) else {
            return;
        };
        self.log
            .add(&stored.subject, &place.kind, stored.seq, &stored.payload);
        self.log.catch_up(&mut self.control);
        if place.kind == Kind::Ctl {
            self.on_decision(&stored);
        }
    }

    fn on_decision(&mut self, stored: &Stored) {
        let Ok(event) = serde_json::from_slice::<Envelope<Decision>>(&stored.payload) else {
            return;
        };
        let after_us = Timestamp(stored.stored_at_us).since_us(self.asked_at);
        let measured = json!({"bytes": stored.payload.len(), "after_us": after_us});
        let name = serde_json::to_value(&event.event).unwrap_or_default();
        let name = name["type"].as_str().unwrap_or("?");
        self.decisions.insert(name.to_owned(), measured);
        match &event.event {
            Decision::RunCreated(_) => {
                let created = self.control.state.created.as_ref();
                self.workload = created.map(|run| Workload::new(&run.plan, run.seed));
            }
            Decision::StartScheduled(start) => say(&json!({"start_at": start.start_at})),
            _ => {}
        }
    }

    fn on_data(&mut self, step: Step) {
        let Step::Event(stored) = step else { return };
        let kind = self.subjects.parse(&stored.subject);
        if let Some(Kind::Delta(agent)) = kind.map(|place| place.kind) {
            self.live.add(&agent, &stored.payload);
            let lag_us = wall_clock::now().since_us(Timestamp(stored.stored_at_us));
            self.lags.add(lag_us);
            if !std::mem::replace(&mut self.has_started, true) {
                say(&json!({"first_delta": stored.stored_at_us}));
            }
            self.deltas.push(stored);
        }
    }

    fn look(&mut self) {
        if let Some(workload) = &self.workload {
            let began = Instant::now();
            let snapshot = self
                .live
                .snapshot(&self.control, workload, wall_clock::now());
            std::hint::black_box(snapshot);
            self.snapshots.add(elapsed_us(began));
        }
    }

    /// Folds everything once more into the report, as the command does at the end.
    fn close(mut self) -> Result<Value, Trouble> {
        let bytes: usize = self.deltas.iter().map(|delta| delta.payload.len()).sum();
        let began = Instant::now();
        let mut data = Projection::default();
        for delta in &self.deltas {
            let place = self.subjects.parse(&delta.subject);
            if let Some(Kind::Delta(agent)) = place.map(|place| place.kind) {
                data.add(
                    &self.control,
                    &agent,
                    &delta.subject,
                    delta.seq,
                    &delta.payload,
                );
            }
        }
        let fold_us = elapsed_us(began);
        let began = Instant::now();
        let report = report(&self.control, &data)?;
        let report_us = elapsed_us(began);
        Ok(json!({
            "lags": self.lags.summary(), "snapshots": self.snapshots.summary(),
            "decisions": self.decisions,
            "deltas": self.deltas.len(), "delta_bytes": bytes,
            "fold_us": fold_us, "report_us": report_us,
            "report_bytes": serde_json::to_vec(&report)?.len(),
            "ending": report.run.ending, "arrivals": report.arrivals,
            "quarantined": report.gaps.quarantined.len(), "lost": report.gaps.lost.len(),
        }))
    }
}

fn elapsed_us(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
