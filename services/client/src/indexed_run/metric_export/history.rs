//! A past run as OpenMetrics with time stamps, for `promtool tsdb create-blocks-from openmetrics`.

use std::collections::BTreeMap;

use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::report::cumulative::Exported;
use loadpilot_engine::report::cumulative::gauges::ended_at;
use loadpilot_events::refusal::Problem;

use super::exposition::{Format, head, samples};
use super::families::Figures;
use super::figures_of;
use super::run_families::families;
use crate::indexed_run::{Folded, IndexedRun};
use crate::session::SessionError;

/// Maximum number of instants, unless the caller sets their interval.
const INSTANTS_MAX: u64 = 1_000;
/// Maximum size of the text in bytes.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// The samples of a run: by family, then by labels, each in the order of time, as OpenMetrics
/// requires.
#[derive(Debug, Default)]
struct Samples {
    families: Vec<FamilySamples>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct FamilySamples {
    name: String,
    head: String,
    points: BTreeMap<String, String>,
}

impl Samples {
    fn add(&mut self, figures: &Figures) {
        let labels = figures.labels();
        for mut family in families(figures) {
            family.label(&labels);
            let name = family.prometheus_name();
            let place = self.families.iter().position(|known| known.name == name);
            let place = place.unwrap_or_else(|| {
                let mut text = String::new();
                head(Format::OpenMetrics, &family, &mut text);
                self.families.push(FamilySamples {
                    name,
                    head: text,
                    points: BTreeMap::new(),
                });
                self.families.len() - 1
            });
            let (of_family, bytes) = (&mut self.families[place], &mut self.bytes);
            samples(
                &family,
                Some(figures.now_us / 1_000),
                &mut |labels, lines| {
                    *bytes += lines.len();
                    let of_labels = of_family.points.entry(format!("{labels:?}")).or_default();
                    of_labels.push_str(lines);
                },
            );
        }
    }

    fn pieces(self) -> Vec<String> {
        let mut pieces = Vec::new();
        let is_filled = |family: &FamilySamples| !family.points.is_empty();
        for family in self.families.into_iter().filter(is_filled) {
            pieces.push(family.head);
            pieces.extend(family.points.into_values());
        }
        pieces.push("# EOF\n".to_owned());
        pieces
    }
}

impl IndexedRun {
    /// Writes the figures of a run that has started: at each multiple of `every_us` after the
    /// start, and at its end. Without `every_us` the interval is the number of ticks that gives at
    /// most [`INSTANTS_MAX`] instants.
    ///
    /// # Errors
    /// When the run never started or the text becomes too long; or a fault of the bus.
    pub async fn open_metrics(&self, every_us: Option<u64>) -> Result<Vec<String>, SessionError> {
        let control = &self.now.control;
        let start = control.state.start.as_ref();
        let created = control.state.created.as_ref();
        let (Some(start), Some(created)) = (start, created) else {
            let rule = "must have started; there are no figures";
            return Err(Problem::new("run", rule, &control.run).into());
        };
        let start_us = start.start_at.0;
        let tick_us = created.plan.tick_us.max(1);
        let end_us = self.data_end_us();
        let every_us = every_us.unwrap_or_else(|| {
            let ticks = end_us.div_ceil(tick_us).div_ceil(INSTANTS_MAX);
            ticks.max(1) * tick_us
        });
        let mut folded = Folded::new(control.clone());
        let (mut written, mut exported) = (Samples::default(), Exported::default());
        let mut deltas = self.deltas(1).await?;
        let mut next_us = every_us.max(1);
        while let Some(batch) = deltas.next().await? {
            for record in &batch.records {
                let ended_us = record.delta().map_or(0, |(_, delta)| delta.to_us);
                while ended_us > next_us {
                    self.sample(&folded, next_us, &mut exported, &mut written)?;
                    next_us += every_us.max(1);
                }
                folded.add(record, true);
            }
        }
        while next_us < end_us {
            self.sample(&folded, next_us, &mut exported, &mut written)?;
            next_us += every_us.max(1);
        }
        let ended_us = start_us.saturating_add(end_us);
        if let Some(figures) = figures_of(&folded, control, None, &mut exported, ended_us) {
            written.add(&figures);
        }
        Ok(written.pieces())
    }

    /// Writes the state of the run `us` after its start, from the deltas that are folded.
    fn sample(
        &self,
        folded: &Folded,
        us: u64,
        exported: &mut Exported,
        written: &mut Samples,
    ) -> Result<(), SessionError> {
        let Some(then) = AsOf::new(&self.log, us) else {
            return Ok(());
        };
        let control = then.into_control();
        let start_us = control
            .state
            .start
            .as_ref()
            .map_or(0, |start| start.start_at.0);
        let now_us = start_us.saturating_add(us);
        if let Some(figures) = figures_of(folded, &control, None, exported, now_us) {
            written.add(&figures);
        }
        if written.bytes > TEXT_BYTES_MAX {
            let rule = format!("must be longer: the text is over {TEXT_BYTES_MAX} bytes");
            return Err(Problem::new("every_us", rule, us).into());
        }
        Ok(())
    }

    /// The end of the run, in µs after its start: its seal, or the end of its last tick.
    fn data_end_us(&self) -> u64 {
        let control = &self.now.control;
        let start = control.state.start.as_ref().map(|start| start.start_at);
        let sealed = ended_at(control);
        let ends = self.now.data.holders.values().map(|sums| sums.covered_us);
        let covered = ends.max().unwrap_or(0);
        match (sealed, start) {
            (Some(sealed), Some(start)) => sealed.since_us(start).max(covered),
            _ => covered,
        }
    }
}
