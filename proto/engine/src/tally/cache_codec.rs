//! How sums are written into a cache: histograms and blocks packed, types without a portable serde
//! form as text.
//!
//! Used in `#[serde(with = "…")]`. Must never be the form of anything in the log: a cache may be
//! deleted at any time.

use std::collections::BTreeMap;

use loadpilot_events::log::hist::Hist;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tally::packed_histogram::{PackedHistogram, Precision};

/// Counts of arrivals that raised, as three numbers.
pub(crate) mod raises {
    use loadpilot_events::log::delta::{LastCall, TaskRaises};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(of: &TaskRaises, to: S) -> Result<S::Ok, S::Error> {
        LastCall::ALL.map(|last| of.of(last)).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TaskRaises, D::Error> {
        let counts = <[u64; 3]>::deserialize(from)?;
        let mut raises = TaskRaises::default();
        for (last, count) in LastCall::ALL.into_iter().zip(counts) {
            raises.count(last, count);
        }
        Ok(raises)
    }
}

/// A shared string.
pub(crate) mod shared {
    use std::sync::Arc;

    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(name: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        Ok(String::deserialize(from)?.into())
    }
}

/// A latency histogram.
pub(crate) mod latency {
    use super::{Deserializer, Hist, Precision, Serializer, read, write};

    pub(crate) fn serialize<S: Serializer>(hist: &Hist, to: S) -> Result<S::Ok, S::Error> {
        write(hist, Precision::Latency, to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hist, D::Error> {
        read(Precision::Latency, from)
    }
}

fn write<S: Serializer>(hist: &Hist, grain: Precision, to: S) -> Result<S::Ok, S::Error> {
    PackedHistogram::of(hist, grain).serialize(to)
}

fn read<'de, D: Deserializer<'de>>(grain: Precision, from: D) -> Result<Hist, D::Error> {
    Ok(PackedHistogram::deserialize(from)?.hist(grain))
}

/// Histograms of phases.
pub(crate) mod phases {
    use loadpilot_events::log::delta::Phase;

    use super::{
        BTreeMap, Deserialize, Deserializer, Hist, PackedHistogram, Precision, Serialize,
        Serializer,
    };

    pub(crate) fn serialize<S: Serializer>(
        phases: &BTreeMap<Phase, Hist>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let packed = phases.iter();
        let packed =
            packed.map(|(phase, hist)| (*phase, PackedHistogram::of(hist, Precision::Phase)));
        packed.collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Phase, Hist>, D::Error> {
        let packed = BTreeMap::<Phase, PackedHistogram>::deserialize(from)?.into_iter();
        Ok(packed
            .map(|(phase, sparse)| (phase, sparse.hist(Precision::Phase)))
            .collect())
    }
}

/// Values as JSON, for types that skip absent fields.
pub(crate) mod json {
    use super::{Deserialize, Deserializer, Serialize, Serializer, from_text, to_text};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to_text::<_, S>(value)?.serialize(to)
    }

    pub(crate) fn deserialize<'de, T: serde::de::DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        from_text::<_, D>(&String::deserialize(from)?)
    }
}

fn to_text<T: Serialize, S: Serializer>(value: &T) -> Result<String, S::Error> {
    serde_json::to_string(value).map_err(serde::ser::Error::custom)
}

fn from_text<'de, T: serde::de::DeserializeOwned, D: Deserializer<'de>>(
    text: &str,
) -> Result<T, D::Error> {
    serde_json::from_str(text).map_err(D::Error::custom)
}
