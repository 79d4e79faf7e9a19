//! Several targets of one run: which target an arrival goes to, and over whose connections.

use std::collections::BTreeMap;

use crate::support::cores::{Cores, plan, step, task};
use crate::support::peer::{Act, Peer, Transport};
use h2::server::Builder;
use loadpilot_events::Outcome;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::Http;

const ARRIVALS: u64 = 60;

fn peers(http: Http) -> Vec<Peer> {
    let transport = || match http {
        Http::V2 => Transport::Http2(Builder::new()),
        Http::V1 | Http::Auto => Transport::Http1,
    };
    (0..3)
        .map(|_| Peer::start(transport(), |_| Act::Answer(200)))
        .collect()
}

/// One arrival every 2 ms, of two calls, to all `peers` in turn.
fn in_turn(peers: &[Peer], http: Http) -> Plan {
    let tasks = vec![task("both", 1, vec![step("/one"), step("/two")])];
    let mut plan = plan(peers[0].url(), 500, ARRIVALS * 2, tasks);
    plan.connections.http = http;
    // One target has a base path of its own.
    let others = peers[1..].iter().enumerate();
    let others = others.map(|(place, peer)| match place {
        0 => format!("{}/api", peer.url()),
        _ => peer.url(),
    });
    plan.connections.other_targets = others.collect();
    plan
}

/// Broken if the target of an arrival depends on the number of cores, if the calls of one arrival
/// go to several targets, or if a request names another target than the one that it is sent to.
#[tokio::test]
async fn arrivals_take_the_targets_in_turn() {
    for http in [Http::V1, Http::V2] {
        for cores in [1, 3] {
            let peers = peers(http);
            let mut cores = Cores::new(in_turn(&peers, http), cores, 10).start();
            let counted = cores.finish().await;
            let ok = BTreeMap::from([(Outcome::Ok, ARRIVALS * 2)]);
            assert_eq!(counted.outcomes(), ok);
            for (place, peer) in (0_u64..).zip(&peers) {
                let arrivals = (0..ARRIVALS).filter(|n| n % 3 == place);
                let ids = arrivals.flat_map(|n| [format!("01run/{n}/0"), format!("01run/{n}/1")]);
                let mut ids: Vec<String> = ids.collect();
                ids.sort();
                assert_eq!(peer.ids(), ids, "{http:?}, target {place}");
                let base = if place == 1 { "/api" } else { "" };
                for call in &peer.seen().calls {
                    let uri = call.uri.clone();
                    let host = uri.authority().map(|authority| authority.as_str());
                    let host = call.header("host").or(host);
                    assert_eq!(host, Some(&*peer.address.to_string()));
                    assert!(
                        [format!("{base}/one"), format!("{base}/two")]
                            .contains(&uri.path().to_owned())
                    );
                }
            }
        }
    }
}

/// Broken if connections are opened before the start to the first target only.
#[tokio::test]
async fn each_target_gets_connections_before_the_start() {
    let peers = peers(Http::V1);
    let mut plan = in_turn(&peers, Http::V1);
    plan.connections.open_first = Some(2);
    let cores = Cores::new(plan, 1, 10);
    let preconnected = cores.cores[0].preconnected().await.expect("it is alive");
    assert_eq!((preconnected.opened, preconnected.failed), (6, 0));
    let mut cores = cores.start();
    let counted = cores.finish().await;
    assert_eq!(
        counted.outcomes(),
        BTreeMap::from([(Outcome::Ok, ARRIVALS * 2)])
    );
    for peer in &peers {
        assert!(peer.seen().accepted >= 2, "{}", peer.seen().accepted);
    }
}
