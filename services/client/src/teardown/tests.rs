//! Claims on a log in memory: which command gets the teardown, and what remains stored.

use loadpilot_bus::Bus;
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

/// A session that has begun the setup of a run.
async fn set_up(bus: &Bus) -> Session {
    let run = run();
    bus.open_log().await.expect("a log");
    let golden = include_str!("../../../../proto/golden/setup-claimed.v1.json");
    let golden: Envelope<Request> = serde_json::from_str(golden).expect("a request");
    let Request::SetupClaimed(claim) = golden.event else {
        panic!("another golden file")
    };
    let bundle = Bytes::from_static(FILES);
    assert_eq!(claim.bundle, Object::of(&bundle));
    let mut session = session(bus);
    let secrets = BTreeMap::from([("key".to_owned(), SECRET.to_owned())]);
    let claimed = session.claim_setup(&run, *claim, bundle, &secrets);
    claimed.await.expect("the run is new");
    session
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
    let taken = ended.iter().filter(|(one, _)| *one == ClaimResult::Taken);
    assert_eq!(taken.count(), 1);
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
