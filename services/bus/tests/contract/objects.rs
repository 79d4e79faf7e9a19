//! Laws of objects: whole or absent, and removed when no run needs them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Limits};

use crate::Rig;
use crate::rig::text;

const MIB: usize = 1 << 20;
const ANY_SIZE: u64 = u64::MAX;
const HOUR: Duration = Duration::from_secs(3_600);

/// Pseudo-random bytes, which differ if a part is in the wrong place.
fn noise(bytes: usize, seed: u32) -> Bytes {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

async fn whole(bus: &Bus, name: &str) -> Option<Bytes> {
    bus.object_get(name, ANY_SIZE).await.unwrap()
}

/// Broken if a body arrives changed, which makes runs incomparable.
pub(crate) async fn an_object_is_read_as_it_was_put(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    assert_eq!(whole(&bus, "lp.a.body.0").await, None, "before first use");
    assert_eq!(bus.object_bytes("lp.a.body.0").await.unwrap(), None);
    let sizes = [0, 1, 256 << 10, (256 << 10) + 1, 5 * MIB + 7];
    for (number, bytes) in sizes.into_iter().enumerate() {
        let name = format!("lp.a.body.{number}");
        bus.object_put(&name, noise(bytes, 7)).await.unwrap();
    }
    let peer = rig.peer(&bus).await;
    for (number, bytes) in sizes.into_iter().enumerate() {
        let name = format!("lp.a.body.{number}");
        assert_eq!(
            peer.object_bytes(&name).await.unwrap(),
            Some(bytes as u64),
            "{name}"
        );
        assert!(whole(&peer, &name).await == Some(noise(bytes, 7)), "{name}");
    }
}

/// Broken if parts of an earlier object of the name mix with those of the new one.
pub(crate) async fn an_object_replaces_the_one_before(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    for seed in 1..4 {
        let content = noise(MIB / seed as usize, seed);
        bus.object_put("lp.a.body.x", content.clone())
            .await
            .unwrap();
        assert!(whole(&bus, "lp.a.body.x").await == Some(content), "{seed}");
    }
}

/// Broken if submitters of the same body damage each other's object.
pub(crate) async fn equal_objects_may_be_put_at_the_same_time(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    let putting: Vec<_> = (0..4)
        .map(|_| {
            let bus = bus.clone();
            tokio::spawn(async move { bus.object_put("lp.a.body.x", noise(MIB, 3)).await })
        })
        .collect();
    for put in putting {
        put.await.unwrap().unwrap();
    }
    assert!(whole(&bus, "lp.a.body.x").await == Some(noise(MIB, 3)));
}

/// Broken if a stored object, and not the reader's limit, bounds the reader's memory.
pub(crate) async fn an_object_larger_than_expected_is_refused(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    bus.object_put("lp.a.body.x", noise(1_000, 1))
        .await
        .unwrap();
    let refused = bus.object_get("lp.a.body.x", 999).await;
    assert!(matches!(refused, Err(Fault::Broken { .. })), "{refused:?}");
    let fits = bus.object_get("lp.a.body.x", 1_000).await.unwrap();
    assert_eq!(fits.map(|content| content.len()), Some(1_000));
}

/// Broken if unneeded objects stay, or if needed ones or those of another tenant are removed.
pub(crate) async fn only_unneeded_objects_of_the_prefix_are_removed(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    let keep = BTreeSet::from(["lp.a.body.needed".to_owned()]);
    let none = bus.object_retain("lp.a.body.", &keep, HOUR).await;
    assert_eq!(none, Ok(0), "before first use");
    for name in ["lp.a.body.needed", "lp.a.body.gone", "lp.b.body.gone"] {
        bus.object_put(name, text(name)).await.unwrap();
    }
    for removed in [1, 0] {
        let done = bus.object_retain("lp.a.body.", &keep, Duration::ZERO).await;
        assert_eq!(done, Ok(removed));
        assert_eq!(whole(&bus, "lp.a.body.gone").await, None);
        for name in ["lp.a.body.needed", "lp.b.body.gone"] {
            assert_eq!(whole(&bus, name).await, Some(text(name)));
        }
    }
}

/// Broken if an object is removed between its put and the event that names it.
pub(crate) async fn a_young_object_stays(rig: Rig) {
    let (bus, none) = (rig.connect(Limits::default()).await, BTreeSet::new());
    bus.object_put("lp.a.body.x", noise(MIB, 1)).await.unwrap();
    assert_eq!(bus.object_retain("lp.a.", &none, HOUR).await, Ok(0));
    assert!(whole(&bus, "lp.a.body.x").await == Some(noise(MIB, 1)));
    let gone = bus.object_retain("lp.a.", &none, Duration::ZERO).await;
    assert_eq!(gone, Ok(1));
}

/// Broken if an old object that is needed again is removed as old.
pub(crate) async fn a_touched_object_is_young_again(rig: Rig) {
    let (bus, none) = (rig.connect(Limits::default()).await, BTreeSet::new());
    let old = Duration::from_secs(2);
    assert_eq!(bus.object_touch("lp.a.body.touched").await, Ok(None));
    for name in ["lp.a.body.touched", "lp.a.body.left"] {
        bus.object_put(name, text(2)).await.unwrap();
    }
    while whole(&bus, "lp.a.body.left").await.is_some() {
        let touched_at = Instant::now();
        let bytes = bus.object_touch("lp.a.body.touched").await.unwrap();
        assert_eq!(bytes, Some(1));
        bus.object_retain("lp.a.", &none, old).await.unwrap();
        let is_there = whole(&bus, "lp.a.body.touched").await == Some(text(2));
        assert!(is_there || touched_at.elapsed() >= old, "it was young");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Broken if a put in a full store succeeds, or if removed objects still take room.
pub(crate) async fn a_full_store_is_an_error_and_can_be_emptied(rig: Rig) {
    let limits = Limits {
        object_bytes: 3 << 20,
        ..Limits::default()
    };
    let bus = rig.connect(limits).await;
    let mut stored = 0;
    let refusal = loop {
        let name = format!("lp.a.body.{stored}");
        match bus.object_put(&name, noise(MIB, stored)).await {
            Ok(()) => stored += 1,
            Err(refusal) => break refusal,
        }
        assert!(stored < 5, "the limit is exceeded");
    };
    let asset = "OBJ_LP".to_owned();
    assert_eq!(refusal, Fault::Full { asset });
    assert_eq!(stored, 2, "and an object costs little beside its bytes");
    assert!(whole(&bus, "lp.a.body.1").await == Some(noise(MIB, 1)));
    let gone = bus
        .object_retain("lp.a.", &BTreeSet::new(), Duration::ZERO)
        .await;
    assert_eq!(gone, Ok(2));
    for number in 0..2 {
        let name = format!("lp.a.body.new{number}");
        bus.object_put(&name, noise(MIB, number)).await.unwrap();
    }
}
