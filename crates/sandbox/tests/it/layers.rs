//! Layers that are missing: refused where they are required, reported where not.

use prowess_policy::profile::Strength;
use prowess_sandbox::{ExecError, Layer, LayerStatus, Note, layers};

use crate::support::{Lacking, Place, as_ordinary_user, helper, need_bwrap, need_root, root};

prowess_test::tests! {
    a_missing_layer_is_refused_before_anything_runs
    a_missing_layer_is_reported_where_it_is_not_required
    bwrap_is_used_where_the_kernel_refuses
    missing_or_broken_bwrap_is_a_missing_layer
    users_without_namespaces_are_never_the_same
    off_says_so
    the_doctor_tries_every_layer
    an_ordinary_user_has_the_same_layers
    a_helper_that_is_none_is_an_error
}

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
            matches!(state, Some(LayerStatus::Missing(_))),
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

fn bwrap_is_used_where_the_kernel_refuses() {
    need_bwrap();
    let place = Place::new(Strength::Required).without(NO_KERNEL);
    let outcome = place.run("id -u; echo x > made; cat made; ls /proc | grep -c '^[0-9]'");
    let user = rustix::process::getuid().as_raw();
    assert_eq!(outcome.layer(Layer::Namespaces), Some(&LayerStatus::On));
    let text = outcome.stdout.text().into_owned();
    assert!(text.starts_with(&format!("{user}\nx\n")), "{text}");
}

const NO_KERNEL: Lacking<'static> = Lacking {
    layers: &[],
    kernel: true,
};

fn missing_or_broken_bwrap_is_a_missing_layer() {
    let empty = tempfile::tempdir().unwrap();
    let mut place = Place::new(Strength::Required).without(NO_KERNEL);
    place.runner = place.runner.bwrap_in([empty.path().to_owned()]);
    if root() {
        let outcome = place.run("id -u");
        let user: u32 = outcome.stdout.text().trim().parse().unwrap();
        assert!(user > 0x7000_0000, "layer 3 replaces it: {user}");
        let state = outcome.layer(Layer::Namespaces);
        let why = "they are switched off, and `bwrap` is not installed";
        assert_eq!(state, Some(&LayerStatus::Missing(why.into())));
        // A program that only looks like it: nothing came of it, so layer 3 replaces it again.
        let broken = empty.path().join("bwrap");
        std::fs::write(
            &broken,
            "#!/bin/sh\necho 'bwrap: no permission' >&2\nexit 1\n",
        )
        .unwrap();
        crate::support::mode(&broken, 0o755);
        let outcome = place.run("id -u");
        assert_ne!(outcome.stdout.text(), "0\n");
        assert_eq!(
            outcome.stderr.text(),
            "",
            "what `bwrap` said is not the command's"
        );
        let state = outcome.layer(Layer::Namespaces);
        assert_eq!(
            state,
            Some(&LayerStatus::Missing("bwrap: no permission".into()))
        );
        place.runner = place.runner.without([Layer::Identity]);
    }
    let error = place.try_run("touch ran").unwrap_err().to_string();
    assert!(
        error.contains("`namespaces` is missing") && error.contains("bubblewrap"),
        "{error}"
    );
    assert!(!place.work().join("ran").exists());
}

fn users_without_namespaces_are_never_the_same() {
    need_root();
    let place = Place::new(Strength::Required).without(&[Layer::Namespaces]);
    let users: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    place
                        .run("id -u; id -g; sleep 0.2")
                        .stdout
                        .text()
                        .into_owned()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let different: std::collections::BTreeSet<&String> = users.iter().collect();
    assert_eq!(different.len(), 4, "{users:?}");
}

fn off_says_so() {
    let outcome = Place::new(Strength::Off).run("echo x");
    for layer in [
        Layer::Capabilities,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Namespaces,
    ] {
        assert!(
            matches!(outcome.layer(layer), Some(LayerStatus::Off(_))),
            "{layer}"
        );
    }
}

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
        assert_eq!(state(layer), Some(&LayerStatus::On), "{layer}");
    }
    assert_eq!(state(Layer::Namespaces), Some(&LayerStatus::On));
    if root() {
        assert_eq!(state(Layer::Identity), Some(&LayerStatus::On));
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
        assert!(
            matches!(state, LayerStatus::Missing(_)),
            "{layer}: {state:?}"
        );
    }
}

fn an_ordinary_user_has_the_same_layers() {
    if root() {
        as_ordinary_user("layers::as_a_user");
    } else {
        as_a_user();
    }
}

pub(crate) fn as_a_user() {
    let place = Place::new(Strength::Required);
    let outcome = place.run("id -u; echo x > made; cat made");
    let user = rustix::process::getuid().as_raw();
    assert_eq!(outcome.stdout.text(), format!("{user}\nx\n"));
    assert_eq!(outcome.layer(Layer::Namespaces), Some(&LayerStatus::On));
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
        assert_eq!(*state, LayerStatus::On, "{layer}");
    }
}

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
