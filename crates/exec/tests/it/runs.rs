//! Ordinary runs, and what can go wrong with them.

use prowess_exec::{End, Layer, State};
use prowess_policy::profile::Strength;

use crate::support::{Place, strongest};

#[test]
fn a_plain_command_runs_in_every_strength() {
    for place in [strongest(), Place::new(Strength::BestEffort), Place::new(Strength::Off)] {
        let outcome = place.run("echo hello; echo there >&2; exit 3");
        assert_eq!(outcome.end, End::Code(3), "{outcome:?}");
        assert_eq!(outcome.stdout.text(), "hello\n");
        assert_eq!(outcome.stderr.text(), "there\n");
        assert_eq!(outcome.layer(Layer::Supervision), Some(&State::On));
        eprintln!("{:?} {:?}", outcome.layers, outcome.duration);
    }
}
