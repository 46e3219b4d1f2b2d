//! Layers that are missing: refused where they are required, reported where not.

use prowess_policy::profile::Strength;
use prowess_sandbox::{ExecError, Layer, Note, State, layers};

use crate::support::{Place, as_nobody, can_identity, can_namespaces, helper, is_nobody, root};

#[test]
fn a_missing_layer_is_refused_before_anything_runs() {
    for layer in [Layer::Capabilities, Layer::Landlock, Layer::Seccomp] {
        let place = Place::new(Strength::Required).without(&[layer]);
        let error = place.try_run("touch ran").unwrap_err();
        assert!(
            matches!(&error, ExecError::LayerMissing { layer: missing, .. } if *missing == layer),
            "{error}"
        );
        assert!(!place.work().join("ran").exists());
    }
    let place = Place::new(Strength::Required).without(&[Layer::Namespaces, Layer::Identity]);
    let error = place.try_run("touch ran").unwrap_err().to_string();
    assert!(
        error.contains("`namespaces` is missing") && error.contains("bubblewrap"),
        "{error}"
    );
    assert!(!place.work().join("ran").exists());
}

#[test]
fn a_missing_layer_is_reported_where_it_is_not_required() {
    for layer in [
        Layer::Capabilities,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Namespaces,
    ] {
        let mut place = Place::new(Strength::BestEffort).without(&[layer, Layer::Identity]);
        place.profile.protected = vec![place.work().join("kept")];
        let outcome = place.run("echo ran");
        assert_eq!(outcome.stdout.text(), "ran\n");
        let state = outcome.layer(layer);
        assert!(
            matches!(state, Some(State::Missing(_))),
            "{layer}: {state:?}"
        );
    }
    let none = [Layer::Landlock, Layer::Namespaces, Layer::Identity];
    let mut place = Place::new(Strength::BestEffort).without(&none);
    place.profile.protected = vec![place.work().join("kept")];
    let outcome = place.run("echo x > kept && cat kept");
    assert_eq!(
        outcome.stdout.text(),
        "x\n",
        "the control: nothing protects it"
    );
    assert!(
        outcome
            .notes
            .iter()
            .any(|note| matches!(note, Note::Unprotected { .. })),
        "{:?}",
        outcome.notes
    );
}

#[test]
fn bwrap_hidden_or_broken_is_a_missing_layer() {
    let empty = tempfile::tempdir().unwrap();
    let mut place = Place::new(Strength::Required);
    place.runner = place.runner.bwrap_in([empty.path().to_owned()]);
    if root() {
        let outcome = place.run("id -u");
        assert_eq!(outcome.stdout.text(), "65534\n", "layer 3 stands in");
        assert!(matches!(
            outcome.layer(Layer::Namespaces),
            Some(State::Missing(_))
        ));
        // A program that only looks like it: nothing came of it, so layer 3 stands in again.
        let broken = empty.path().join("bwrap");
        std::fs::write(
            &broken,
            "#!/bin/sh\necho 'bwrap: no permission' >&2\nexit 1\n",
        )
        .unwrap();
        crate::support::mode(&broken, 0o755);
        let outcome = place.run("id -u");
        assert_eq!(outcome.stdout.text(), "65534\n");
        assert_eq!(
            outcome.stderr.text(),
            "",
            "what `bwrap` said is not the command's"
        );
        let state = outcome.layer(Layer::Namespaces);
        assert_eq!(state, Some(&State::Missing("bwrap: no permission".into())));
        place.runner = place.runner.without([Layer::Identity]);
    }
    let error = place.try_run("touch ran").unwrap_err().to_string();
    assert!(
        error.contains("`namespaces` is missing") && error.contains("bubblewrap"),
        "{error}"
    );
    assert!(!place.work().join("ran").exists());
}

#[test]
fn off_says_so() {
    let outcome = Place::new(Strength::Off).run("echo x");
    for layer in [
        Layer::Capabilities,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Namespaces,
    ] {
        assert!(
            matches!(outcome.layer(layer), Some(State::Off(_))),
            "{layer}"
        );
    }
}

#[test]
fn the_doctor_tries_every_layer() {
    let here = Place::new(Strength::Off);
    let found = layers(&here.runner).unwrap();
    let state = |layer| {
        found
            .iter()
            .find(|found| found.layer == layer)
            .map(|found| &found.state)
    };
    for layer in [
        Layer::Supervision,
        Layer::Capabilities,
        Layer::Landlock,
        Layer::Seccomp,
    ] {
        assert_eq!(state(layer), Some(&State::On), "{layer}");
    }
    if can_namespaces() {
        assert_eq!(state(Layer::Namespaces), Some(&State::On));
    }
    if can_identity() {
        assert_eq!(state(Layer::Identity), Some(&State::On));
    }
    let hidden = here
        .runner
        .clone()
        .without([Layer::Landlock, Layer::Namespaces]);
    let found = layers(&hidden).unwrap();
    for layer in [Layer::Landlock, Layer::Namespaces] {
        let state = &found
            .iter()
            .find(|found| found.layer == layer)
            .unwrap()
            .state;
        assert!(matches!(state, State::Missing(_)), "{layer}: {state:?}");
    }
}

#[test]
fn an_ordinary_user_has_the_same_layers() {
    if can_identity() && can_namespaces() {
        as_nobody("layers::as_a_user");
    }
}

/// Started by the test above as another user; by itself it has nothing to do.
#[test]
fn as_a_user() {
    if !is_nobody() {
        return;
    }
    let place = Place::new(Strength::Required);
    let outcome = place.run("id -u; echo x > made; cat made");
    assert_eq!(outcome.stdout.text(), "65534\nx\n");
    assert_eq!(outcome.layer(Layer::Namespaces), Some(&State::On));
    assert!(
        !outcome.notes.contains(&Note::ProcessesUnlimited),
        "{:?}",
        outcome.notes
    );
    let place = Place::new(Strength::Required).without(&[Layer::Namespaces]);
    assert!(
        place.try_run("true").is_err(),
        "layer 1 alone is not enough"
    );
    let found = layers(&Place::new(Strength::Off).runner).unwrap();
    for layer in [
        Layer::Capabilities,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Namespaces,
    ] {
        let state = &found
            .iter()
            .find(|found| found.layer == layer)
            .unwrap()
            .state;
        assert_eq!(*state, State::On, "{layer}");
    }
}

#[test]
fn a_helper_that_is_none_is_an_error() {
    let mut place = Place::new(Strength::Off);
    place.runner = prowess_sandbox::Runner::with_helper("/nonexistent/helper");
    assert!(matches!(
        place.try_run("true"),
        Err(ExecError::Helper { .. })
    ));
    place.runner = prowess_sandbox::Runner::with_helper("/bin/true");
    assert!(matches!(
        place.try_run("true"),
        Err(ExecError::HelperLost { .. })
    ));
    assert!(helper().exists());
}
