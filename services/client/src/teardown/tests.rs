//! Claims on a log in memory: which command gets the teardown, and what remains stored.

use loadpilot_bus::{Bus, Limits};
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::wire::subject::Subjects;

use super::*;

const RUN: &str = "01run";
const SECRET: &str = "hunter2";
/// The archive that the golden claim names by its hash.
const FILES: &[u8] = b"abc";

fn session(bus: &Bus) -> Session {
    Session::on(bus.clone(), Subjects::new("lp", "local").expect("tokens"))
}

fn run() -> RunId {
    RunId::parse(RUN).expect("a token")
}

fn owner(name: &str) -> OwnerId {
    OwnerId::parse(name).expect("a token")
}

fn secrets(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("key".to_owned(), value.to_owned())])
}

/// A claim of the run's setup, and the session that made it.
async fn claim(bus: &Bus, secret: &str) -> (Result<(), SessionError>, Session) {
    let golden = include_str!("../../../../proto/golden/setup-claimed.v1.json");
    let golden: Envelope<Request> = serde_json::from_str(golden).expect("a request");
    let Request::SetupClaimed(claim) = golden.event else {
        panic!("another golden file")
    };
    let bundle = Bytes::from_static(FILES);
    assert_eq!(claim.bundle, Object::of(&bundle));
    let mut session = session(bus);
    let (run, secrets) = (run(), secrets(secret));
    let claimed = session.claim_setup(&run, *claim, bundle, &secrets).await;
    (claimed, session)
}

/// A session that has begun the setup of a run.
async fn set_up(bus: &Bus) -> Session {
    bus.open_log().await.expect("a log");
    let (claimed, session) = claim(bus, SECRET).await;
    claimed.expect("the run is new");
    session
}

/// Broken if a claim with the id of another run replaces the secrets of that run's teardown.
#[tokio::test]
async fn a_claim_of_a_known_run_stores_nothing() {
    let bus = Bus::memory();
    let holder = set_up(&bus).await;
    let (claimed, _session) = claim(&bus, "other").await;
    let refused = claimed.expect_err("the run exists").to_string();
    assert!(refused.contains("it exists already"), "{refused}");
    let inputs = holder.teardown_inputs(&run()).await.expect("it answers");
    assert_eq!(inputs.secrets, Some(secrets(SECRET)));
}

/// Broken if the secrets of a setup that never began stay stored.
#[tokio::test]
async fn a_claim_without_room_leaves_no_secret() {
    let bus = Bus::memory_with(Limits {
        ctl_bytes: 1,
        ..Limits::default()
    });
    bus.open_log().await.expect("a log");
    let (claimed, session) = claim(&bus, SECRET).await;
    let full = claimed.expect_err("the log has no room");
    assert!(
        matches!(full, SessionError::Append(AppendError::Full { .. })),
        "{full}"
    );
    let key = session.parts().1.owed_key(&run());
    assert_eq!(bus.kv_get(&key).await, Ok(None));
}

/// Broken if a claimant that lost its own connection takes that for the holder's silence.
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_no_silence() {
    let Bus::Memory(server) = Bus::memory() else {
        unreachable!("a memory bus is one")
    };
    let _holder = set_up(&Bus::Memory(server.clone())).await;
    let near = server.peer();
    let mut heir = session(&Bus::Memory(near.clone()));
    let claim = tokio::spawn(async move {
        let (run, two) = (run(), owner("cli-2"));
        let claimed = heir.claim_teardown(&run, &two, "ann@host", false).await;
        claimed.expect("it answers")
    });
    // The next heartbeat follows a second after the first one.
    tokio::time::sleep(Duration::from_millis(100)).await;
    near.cut();
    tokio::time::sleep(HEARTBEAT_TIMEOUT).await;
    near.heal();
    let claimed = claim.await.expect("it ends");
    assert!(matches!(claimed, ClaimResult::Held { .. }), "{claimed:?}");
}

/// Broken if two commands that claim at once both play a teardown: both find the first holder gone,
/// and no lock file of this machine keeps them apart.
#[tokio::test]
async fn of_many_that_race_the_log_takes_one() {
    let bus = Bus::memory();
    let first = set_up(&bus).await;
    drop(first);
    let mut racing = tokio::task::JoinSet::new();
    for number in 0..8 {
        let mut session = session(&bus);
        racing.spawn(async move {
            let me = owner(&format!("cli-9{number}"));
            let claimed = session.claim_teardown(&run(), &me, "ann@host", false).await;
            (claimed.expect("it answers"), session)
        });
    }
    let ended = racing.join_all().await;
    let claimed = ended.iter().filter(|(one, _)| *one == ClaimResult::Taken);
    assert_eq!(claimed.count(), 1);
    let held = ended
        .iter()
        .filter(|(one, _)| matches!(one, ClaimResult::Held { .. }));
    assert_eq!(held.count(), 7, "the new holder sends heartbeats");
}

/// Broken if the inputs of a teardown stay readable once it is played, or a run can be submitted
/// after another command has claimed its teardown.
#[tokio::test]
async fn a_debt_ends_with_all_that_it_needed() {
    let (bus, run, none) = (Bus::memory(), run(), BTreeMap::new());
    let mut setter = set_up(&bus).await;
    let me = owner("cli-1");
    let sealed = Bytes::from_static(b"sealed");
    let stored = setter.store_setup_states(&run, &me, sealed.clone(), "0f");
    stored.await.expect("it is on this command");
    let mut heir = session(&bus);
    let means = heir.teardown_inputs(&run).await.expect("it answers");
    let values = means.secrets.expect("they have not ended");
    assert_eq!(values["key"], SECRET);
    assert_eq!((means.left, means.key.as_deref()), (true, Some("0f")));
    assert_eq!(
        heir.teardown_archive(&run, true)
            .await
            .expect("it is there"),
        sealed
    );
    let stored = bus
        .read(Stream::Ctl, Vec::new(), None)
        .await
        .expect("it reads");
    let shows = |part: &str| {
        let hit = |payload: &Bytes| payload.windows(part.len()).any(|w| w == part.as_bytes());
        stored.iter().any(|one| hit(&one.payload))
    };
    assert!(!shows(SECRET) && !shows("\"0f\""));
    let (two, by) = (owner("cli-2"), "ann@host");
    let claimed = heir.claim_teardown(&run, &two, by, true).await;
    assert_eq!(claimed.expect("it answers"), ClaimResult::Taken);
    let request = RunRequested {
        plan: heir
            .teardown_status(&run)
            .await
            .expect("it reads")
            .setup
            .expect("one")
            .plan,
        seed: 1,
        agents: loadpilot_events::log::assign::AgentsWanted {
            want: 1,
            min: 1,
            wait_us: 1,
        },
        owner: Some(me.clone()),
        lead_us: 0,
        needs: Vec::new(),
        no_early_abort: false,
    };
    let bodies = BTreeMap::from([(Object::of(FILES).sha256, Bytes::from_static(FILES))]);
    let submitted = setter.submit(request, &none, &bodies, Some(run.clone()));
    let refused = submitted.await.expect_err("its teardown was taken");
    assert!(
        refused.to_string().contains("claimed its teardown"),
        "{refused}"
    );
    let ended = heir.finish_teardown(&run, &two, Vec::new()).await;
    ended.expect("it is on this command");
    let means = heir.teardown_inputs(&run).await.expect("it answers");
    assert!(means.secrets.is_none() && means.key.is_none());
    assert!(!heir.teardown_status(&run).await.expect("it reads").is_owed);
    let again = heir.claim_teardown(&run, &owner("cli-3"), by, true).await;
    assert_eq!(again.expect("it answers"), ClaimResult::Settled);
}
