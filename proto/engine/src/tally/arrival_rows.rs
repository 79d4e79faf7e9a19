//! Sums of arrivals by due tick and task, packed: a run of a day has hundreds of thousands of rows,
//! of which most are one number.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::tally::aggregates::{ArrivalSums, pack};
use crate::tally::bytes_codec::Bytes;

/// Sums of arrivals by due tick and task.
///
/// Copies share the rows until one of them changes: the same run over another time has them too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Ticks")]
pub struct ArrivalRows(Arc<Ticks>);

/// By tick: task and sums of each row, in the order of tasks.
type Ticks = BTreeMap<u32, Bytes>;

impl From<Ticks> for ArrivalRows {
    fn from(ticks: Ticks) -> Self {
        Self(Arc::new(ticks))
    }
}

impl Serialize for ArrivalRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ticks::serialize(&self.0, serializer)
    }
}

impl ArrivalRows {
    /// Adds the rows of a tick, by task.
    pub(crate) fn add(&mut self, tick: u32, more: BTreeMap<u16, ArrivalSums>) {
        let packed = Arc::make_mut(&mut self.0).entry(tick).or_default();
        let mut rows = more;
        for (task, sums) in unpacked(packed) {
            rows.entry(task).or_default().add(&sums);
        }
        let mut bytes = Vec::new();
        for row in &rows {
            bytes = postcard::to_extend(&row, bytes).expect("memory takes every write");
        }
        // There are as many of them as ticks.
        bytes.shrink_to_fit();
        *packed = Bytes(bytes);
    }

    /// Takes less memory with the same rows.
    pub(crate) fn pack(&mut self) {
        pack(Arc::make_mut(&mut self.0));
    }

    /// The rows of some ticks, in order: tick, task and sums.
    pub fn range(
        &self,
        ticks: impl RangeBounds<u32>,
    ) -> impl Iterator<Item = (u32, u16, ArrivalSums)> {
        let ticks = self.0.range(ticks);
        ticks.flat_map(|(&tick, packed)| {
            unpacked(packed).map(move |(task, sums)| (tick, task, sums))
        })
    }

    /// The sums of some ticks, by task.
    #[must_use]
    pub fn by_task(&self, ticks: impl RangeBounds<u32>) -> BTreeMap<u16, ArrivalSums> {
        let mut sums: BTreeMap<u16, ArrivalSums> = BTreeMap::new();
        for (_, task, more) in self.range(ticks) {
            sums.entry(task).or_default().add(&more);
        }
        sums
    }
}

fn unpacked(packed: &Bytes) -> impl Iterator<Item = (u16, ArrivalSums)> {
    let mut bytes = packed.0.as_slice();
    std::iter::from_fn(move || {
        let (row, rest) = postcard::take_from_bytes(bytes).ok()?;
        bytes = rest;
        Some(row)
    })
}
