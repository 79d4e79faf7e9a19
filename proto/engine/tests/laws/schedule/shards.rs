//! Stored lists of shards: reading gives the list that was written, in no more bytes than a list of
//! numbers.

use std::collections::BTreeSet;

use loadpilot_events::id::{AgentId, BootId, Holder};
use loadpilot_events::limits::{AGENTS_MAX, SHARDS_MAX};
use loadpilot_events::log::assign::{Holding, ShardMap};
use proptest::prelude::*;
use serde_json::{Value, json};

fn map(lists: Vec<Vec<u32>>) -> ShardMap {
    let holding = |(number, shards): (usize, Vec<u32>)| Holding {
        holder: Holder {
            agent: AgentId::parse(&format!("a{number}")).expect("a token"),
            boot_id: BootId::parse("b").expect("a token"),
        },
        shards,
    };
    ShardMap {
        generation: 1,
        from_tick: 0,
        holdings: lists.into_iter().enumerate().map(holding).collect(),
    }
}

/// The JSON that the log stores for a list.
fn stored(list: &[u32]) -> Value {
    let value = serde_json::to_value(map(vec![list.to_vec()])).expect("JSON");
    value["holdings"][0]["shards"].clone()
}

/// The list that a reader gets from the stored field `shards`.
fn read(shards: &Value) -> Result<Vec<u32>, String> {
    let holding = json!({"holder": {"agent": "a", "boot_id": "b"}, "shards": shards});
    let map = json!({"generation": 1, "from_tick": 0, "holdings": [holding]});
    let map: Result<ShardMap, _> = serde_json::from_value(map);
    let map = map.map_err(|error| error.to_string())?;
    Ok(map.holdings[0].shards.clone())
}

/// Ascending lists: arbitrary ones, and interleaved strides as after several moves.
fn ascending() -> impl Strategy<Value = Vec<u32>> {
    let any = prop::collection::btree_set(0..70_000_u32, 0..80);
    let stride = (0..2_000_u32, 1..1_500_u32, 1..40_u32)
        .prop_map(|(first, step, count)| (0..count).map(|n| first + step * n).collect::<Vec<_>>());
    let strides = prop::collection::vec(stride, 0..5)
        .prop_map(|strides| strides.into_iter().flatten().collect::<BTreeSet<u32>>());
    prop_oneof![any, strides].prop_map(|set| set.into_iter().collect())
}

proptest! {
    /// Broken if a shard is lost or added on its way through the log: no agent would offer its
    /// load, or two agents would.
    #[test]
    fn a_list_is_read_as_it_was_written(list in ascending()) {
        prop_assert_eq!(read(&stored(&list)), Ok(list));
    }

    /// Damaged logs contain lists in any order, with repeats: a verifier must see them as they are
    /// stored.
    #[test]
    fn so_is_one_that_is_no_set(list in prop::collection::vec(0..50_u32, 0..40)) {
        prop_assert_eq!(read(&stored(&list)), Ok(list));
    }

    /// The purpose of this form is to save bytes: it must never cost any.
    #[test]
    fn it_is_never_longer_than_written_out(list in ascending()) {
        let written_out = serde_json::to_string(&list).expect("JSON").len();
        prop_assert!(stored(&list).to_string().len() <= written_out);
    }

    /// A log written by an earlier version is read unchanged.
    #[test]
    fn a_list_that_was_written_out_is_read(list in prop::collection::vec(any::<u32>(), 0..40)) {
        prop_assert_eq!(read(&json!(list)), Ok(list));
    }

    /// The share of a holder of every n-th shard is one stride, however many agents there are.
    #[test]
    fn a_dealt_share_is_one_stride(agents in 2..5_000_u32, place in 0..5_000_u32) {
        let place = place % agents;
        let share: Vec<u32> = (place..SHARDS_MAX).step_by(agents as usize).collect();
        prop_assert_eq!(stored(&share), json!([[place, agents, share.len()]]));
    }
}

/// A few numbers must not make a reader expand gigabytes, or shards whose numbers do not fit their
/// type.
#[test]
fn what_no_run_can_have_is_refused_before_it_is_unfolded() {
    let too_many = read(&json!([[0, 1, u32::MAX]])).expect_err("4 G shards");
    assert!(too_many.contains("262144"), "{too_many}");
    let beyond = read(&json!([[u32::MAX, 1, 2]])).expect_err("no such shard");
    assert!(beyond.contains("exceeds"), "{beyond}");
    for broken in [
        json!([[1, 2]]),
        json!([[1, 2, 3, 4]]),
        json!(["1"]),
        json!([-1]),
    ] {
        read(&broken).expect_err("no list of shards");
    }
    let all = json!([[0, 1, SHARDS_MAX]]);
    assert_eq!(read(&all).map(|all| all.len()), Ok(SHARDS_MAX as usize));
    let together = json!({"generation": 1, "from_tick": 0, "holdings": [
        {"holder": {"agent": "a", "boot_id": "b"}, "shards": all},
        {"holder": {"agent": "c", "boot_id": "b"}, "shards": [0]},
    ]});
    serde_json::from_value::<ShardMap>(together).expect_err("together they are too many");
}

/// A map of the largest fleet fits into a message; its shards as single numbers would not.
#[test]
fn the_map_of_the_largest_fleet_is_small() {
    let dealt = (0..AGENTS_MAX).map(|n| (n..SHARDS_MAX).step_by(AGENTS_MAX as usize).collect());
    let bytes = serde_json::to_string(&map(dealt.collect()))
        .expect("JSON")
        .len();
    assert!(bytes < 1 << 20, "{bytes} bytes");
}
