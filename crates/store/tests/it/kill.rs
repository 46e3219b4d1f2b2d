//! Processes that are killed at random points while they write. Acknowledged events must survive.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout};

use prowess_test::conformance::sessions::started;
use prowess_traits::SessionStore;

use crate::children;
use crate::session_children::{BATCHES, batch, numbered, patient, sound};

prowess_test::tests! {
    acknowledged_events_survive_kill
}

const ROUNDS: u64 = 55;
const WRITERS: usize = 4;
/// The number of rounds with the same sessions.
const ROUNDS_EACH: u64 = 5;
const SEED: u64 = 0x5eed_0f5e_5510_0001;

/// A process that appends to a session, and the last event it acknowledged.
struct Writer {
    child: Child,
    said: BufReader<ChildStdout>,
    last: Option<i64>,
}

impl Writer {
    fn start(path: &Path, id: &str) -> Self {
        let role = format!("append until killed: {id}");
        let mut child = children::command(&role, path).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            said,
            last: None,
        }
    }

    fn wait_until_started(&mut self) {
        while self.line().unwrap() != "started" {}
    }

    fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Reads a line. Returns `None` at the end and for an incomplete line.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Waits until `batches` batches are written.
    fn wait_for(&mut self, batches: u64) {
        for _ in 0..batches {
            self.last = Some(self.line().unwrap().parse().unwrap());
        }
    }

    /// Kills the process, and returns the number of the last acknowledged event.
    fn kill(mut self) -> Option<i64> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while let Some(line) = self.line() {
            self.last = Some(line.parse().unwrap());
        }
        self.last
    }
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn acknowledged_events_survive_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let mut random = SEED;
    println!("seed {SEED:#x}");
    let (mut kills, mut acknowledged, mut beyond) = (0, 0, 0);
    let mut sessions: [(Box<str>, i64); WRITERS] = Default::default();
    for round in 0..ROUNDS {
        let store = patient(&path);
        if round % ROUNDS_EACH == 0 {
            sessions = [(); WRITERS].map(|()| {
                let lease = store.create(&started("p", None, 0)).unwrap();
                let id = lease.session.clone();
                store.release(lease);
                (id, 0)
            });
        }
        let mut writers = sessions.each_ref().map(|(id, _)| Writer::start(&path, id));
        writers.iter_mut().for_each(Writer::wait_until_started);
        writers.iter_mut().for_each(Writer::go);
        // Wait for the first writer; the others are at arbitrary points.
        writers[0].wait_for(next(&mut random) % (BATCHES - 4));
        // Spin for a random time.
        for _ in 0..next(&mut random) % 100_000 {
            std::hint::spin_loop();
        }
        let said = writers.map(Writer::kill);
        kills += WRITERS;
        for ((id, before), said) in sessions.iter_mut().zip(said) {
            let events = store.events(id).unwrap();
            let there = i64::try_from(events.len()).unwrap() - 1;
            let last = said.unwrap_or(*before);
            assert!(
                there >= last,
                "event {last} was acknowledged, but {there} is the last one"
            );
            assert!(
                there == last || there == last + batch(last + 1),
                "a batch is atomic: {there} after {last}"
            );
            let expected: Vec<_> = (1..=there).map(numbered).collect();
            assert!(events[1..] == expected, "events are unchanged and in order");
            acknowledged += last - *before;
            beyond += there - last;
            *before = there;
        }
        drop(store);
        if round % 20 == 0 {
            assert_eq!(sound(&path), "ok");
        }
    }
    assert_eq!(sound(&path), "ok");
    println!("{kills} kills, {acknowledged} events acknowledged, {beyond} more found");
    assert!(kills >= 200);
}
