//! Bodies beside the plan: every request carries exactly those bytes, or none is sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::Limits;
use loadpilot_events::Plan;
use loadpilot_events::plan::{Body, Method, Object};

use crate::world::{World, timeouts};

/// Content whose pattern does not fit the size of a part or of a buffer.
fn large(seed: u8) -> Bytes {
    let byte = |n: usize| (n % 251) as u8 ^ seed;
    (0..(600 << 10) + 13).map(byte).collect()
}

/// A target that passes every received body to the test.
fn target(bodies: Sender<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bodies = bodies.clone();
            thread::spawn(move || serve(stream, &bodies));
        }
    });
    url
}

fn serve(stream: TcpStream, bodies: &Sender<Vec<u8>>) -> Option<()> {
    let mut answer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        bodies.send(body).ok()?;
        answer
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .ok()?;
    }
}

/// One task of the world's plan sends `first`, the other `second`; 25 arrivals in all.
fn plan_of(world: &World, url: String, first: &Bytes, second: &Bytes) -> Plan {
    let mut plan = world.plan(1);
    plan.target = url;
    plan.profile.pieces[0].duration_us = 250_000;
    for (task, body) in plan.tasks.iter_mut().zip([first, second]) {
        task.steps[0].method = Method::Post;
        task.steps[0].body = Some(Body::Object(Object::of(body)));
    }
    plan
}

async fn put(world: &World, named: &Bytes, content: Bytes) {
    let name = world.script.subjects.object(&Object::of(named).sha256);
    let put = world.script.bus.object_put(&name, content).await;
    put.expect("the store takes it");
}

/// Broken if a body is cut off, mixed with another, or sent by one core only.
#[tokio::test]
async fn every_request_carries_the_body_that_its_plan_names() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let (sender, bodies) = channel();
    let (first, second) = (large(0), large(0xff));
    put(&world, &first, first.clone()).await;
    put(&world, &second, second.clone()).await;
    let plan = plan_of(&world, target(sender), &first, &second);
    world.begin(plan).await;
    let words = world.last_words().await;
    assert_eq!(words.totals.started, 25);
    assert_eq!(words.totals.calls_total(), 25);
    let mut counts = [0, 0];
    for _ in 0..25 {
        let body = bodies
            .recv_timeout(Duration::from_secs(30))
            .expect("as many bodies as calls");
        let which = [&first, &second].iter().position(|known| **known == body);
        counts[which.expect("one of the two, to the byte")] += 1;
    }
    assert_eq!(counts[0] + counts[1], 25);
    assert!(counts[1] >= 6 && counts[0] > 2 * counts[1], "{counts:?}");
}

/// If a body is absent, nothing starts, and the reason names it.
#[tokio::test]
async fn a_missing_body_fails_the_preparation() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let (sender, bodies) = channel();
    let (first, second) = (large(0), large(0xff));
    put(&world, &first, first.clone()).await;
    let plan = plan_of(&world, target(sender), &first, &second);
    world.create(plan).await;
    world.assign().await;
    let reason = world.failure().await;
    assert!(reason.contains(&Object::of(&second).sha256), "{reason}");
    assert!(reason.contains("is not in the object store"), "{reason}");
    assert!(bodies.try_recv().is_err(), "nothing was sent");
}

/// If other bytes are stored under its name, of the same length or longer, nothing starts either.
#[tokio::test]
async fn a_corrupt_body_fails_the_preparation() {
    for wrong in [large(1), [large(0), large(1)].concat().into()] {
        let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
        let (sender, bodies) = channel();
        let first = large(0);
        let longer = wrong.len() > first.len();
        put(&world, &first, wrong).await;
        let plan = plan_of(&world, target(sender), &first, &first);
        world.create(plan).await;
        world.assign().await;
        let reason = world.failure().await;
        assert!(reason.contains(&Object::of(&first).sha256), "{reason}");
        let why = if longer {
            "cannot be read"
        } else {
            "has the hash"
        };
        assert!(reason.contains(why), "{reason}");
        assert!(bodies.try_recv().is_err(), "nothing was sent");
    }
}
