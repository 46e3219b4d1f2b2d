//! Ordinary runs: streams, ends, deadlines, cancelling.

use std::sync::mpsc;

use prowess_policy::profile::Strength;
use prowess_sandbox::{
    Cancel, CommandOptions, End, ExecError, Layer, LayerStatus, Stopped, Stream,
};

use crate::support::{Place, approved, need_root, strong_sets};

prowess_test::tests! {
    a_command_runs_in_every_set_of_layers
    plain_words_run_without_a_shell
    the_command_can_work_where_it_may
    standard_input_is_empty_or_what_was_given
    a_signal_is_a_signal_and_not_an_exit_code
    the_process_is_what_it_should_be
    output_is_streamed_and_counted
    the_deadline_ends_it_politely_and_then_not
    cancelling_ends_it_from_another_thread
    children_of_the_host_are_left_alone
    scratch_folders_go_away
    a_scratch_folder_with_a_mount_in_it_is_left
}

/// A place for each set of layers, the weakest first.
fn places() -> Vec<Place> {
    let mut places = vec![Place::new(Strength::Off)];
    let alone = [Layer::Namespaces, Layer::Identity];
    places.push(Place::new(Strength::BestEffort).without(&alone));
    let strong = strong_sets();
    places.extend(
        strong
            .iter()
            .map(|(_, without)| Place::new(Strength::Required).without(*without)),
    );
    places
}

fn a_command_runs_in_every_set_of_layers() {
    for place in places() {
        let outcome = place.run("echo hello; echo there >&2; exit 3");
        assert_eq!(outcome.end, End::Code(3), "{outcome:?}");
        assert_eq!(outcome.stdout.text(), "hello\n");
        assert_eq!(outcome.stderr.text(), "there\n");
        assert_eq!(outcome.stopped, None);
        assert_eq!(outcome.layer(Layer::Supervision), Some(&LayerStatus::On));
        assert_eq!(&*outcome.approved_by, "a person, this once");
        assert_eq!(
            outcome.words[1..4],
            ["--norc", "--noprofile", "-c"].map(Box::from)
        );
        assert!(outcome.words[0].starts_with('/'), "{:?}", outcome.words);
    }
}

fn plain_words_run_without_a_shell() {
    for place in places() {
        let outcome = place.run("printf '%s|' 'a b' '$HOME' ';' ''");
        assert_eq!(outcome.stdout.text(), "a b|$HOME|;||");
        assert!(outcome.words[0].ends_with("/printf"), "{:?}", outcome.words);
        assert_eq!(outcome.words.len(), 6);
    }
}

fn the_command_can_work_where_it_may() {
    for place in places() {
        let outcome = place.run(
            "echo x > file && mkdir folder && mv file folder/moved && cat folder/moved && \
             ln -s folder link && chmod 700 folder/moved && rm -r folder && \
             echo y > \"$TMPDIR/y\" && cat \"$TMPDIR/y\" && cat < /dev/zero | head -c 2 | wc -c && \
             echo z > /dev/null && (echo sub) && cat <(echo substituted)",
        );
        assert_eq!(
            outcome.stdout.text(),
            "x\ny\n2\nsub\nsubstituted\n",
            "{outcome:?}"
        );
    }
}

fn standard_input_is_empty_or_what_was_given() {
    for place in places() {
        assert_eq!(place.run("cat; echo end").stdout.text(), "end\n");
        let given = "given\n".repeat(100_000);
        let options = CommandOptions {
            stdin: Some(given.as_bytes()),
            ..CommandOptions::default()
        };
        let outcome = place
            .runner
            .run(&approved("cat | wc -c"), &place.profile, options)
            .unwrap();
        assert_eq!(outcome.stdout.text().trim(), "600000", "{outcome:?}");
    }
}

fn a_signal_is_a_signal_and_not_an_exit_code() {
    for place in places() {
        assert_eq!(place.run("kill -9 $$").end, End::Signal(9));
        assert_eq!(place.run("bash -c 'exit 137'").end, End::Code(137));
    }
}

fn the_process_is_what_it_should_be() {
    for place in places() {
        let outcome = place.run(
            "umask; ulimit -c; ulimit -n; ls /proc/self/fd | wc -l; \
             read -r pid name state parent group session rest < /proc/$$/stat; \
             [ $pid = $session ] && echo own session; grep -c . /proc/self/status > /dev/null; pwd",
        );
        let text = outcome.stdout.text().into_owned();
        let lines: Vec<&str> = text.lines().collect();
        // Three streams, and the one that reads the folder.
        assert_eq!(lines[..4], ["0077", "0", "1024", "4"], "{outcome:?}");
        assert_eq!(
            lines[4..],
            ["own session", place.work().to_str().unwrap()],
            "{outcome:?}"
        );
    }
}

fn output_is_streamed_and_counted() {
    for mut place in places() {
        place.profile.limits.head_bytes = 10;
        place.profile.limits.tail_bytes = 10;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut collect = |stream, bytes: &[u8]| match stream {
            Stream::Out => out.extend_from_slice(bytes),
            Stream::Err => err.extend_from_slice(bytes),
        };
        let options = CommandOptions {
            on_output: Some(&mut collect),
            ..CommandOptions::default()
        };
        let line = "for i in {1..100}; do echo line $i; done; echo oops >&2";
        let outcome = place
            .runner
            .run(&approved(line), &place.profile, options)
            .unwrap();
        assert_eq!(out.len() as u64, outcome.stdout.total);
        assert_eq!(err, b"oops\n");
        assert_eq!(outcome.stdout.head, out[..10]);
        assert_eq!(outcome.stdout.tail, out[out.len() - 10..]);
        assert_eq!(outcome.stdout.omitted(), outcome.stdout.total - 20);
    }
}

fn the_deadline_ends_it_politely_and_then_not() {
    for mut place in places() {
        place.profile.limits.deadline_ms = 300;
        place.profile.limits.grace_ms = 60_000;
        let polite =
            place.run("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
        assert_eq!(polite.stopped, Some(Stopped::Deadline));
        assert_eq!(
            (polite.end, &*polite.stdout.text()),
            (End::Code(7), "ready\nasked\n")
        );
        place.profile.limits.grace_ms = 100;
        let deaf = place.run("trap '' TERM; echo ready; while :; do sleep 0.01; done");
        assert_eq!(deaf.stopped, Some(Stopped::Deadline));
        assert_eq!(deaf.end, End::Signal(9), "{deaf:?}");
        assert_eq!(deaf.stdout.text(), "ready\n");
    }
}

fn cancelling_ends_it_from_another_thread() {
    for place in places() {
        let cancel = Cancel::new().unwrap();
        let (ready, wait) = mpsc::channel();
        let outcome = std::thread::scope(|scope| {
            let other = cancel.clone();
            scope.spawn(move || {
                wait.recv().unwrap();
                other.cancel();
            });
            let mut on_output = move |_, _: &[u8]| {
                let _ = ready.send(());
            };
            let options = CommandOptions {
                cancel: Some(&cancel),
                on_output: Some(&mut on_output),
                ..CommandOptions::default()
            };
            let line = "echo ready; while :; do sleep 0.05; done";
            place
                .runner
                .run(&approved(line), &place.profile, options)
                .unwrap()
        });
        assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
        assert!(!outcome.success());

        // A handle that was used ends the next run too.
        let options = CommandOptions {
            cancel: Some(&cancel),
            ..CommandOptions::default()
        };
        let next = place
            .runner
            .run(&approved("sleep 100"), &place.profile, options);
        match next {
            Ok(next) => assert_eq!(next.stopped, Some(Stopped::Cancelled)),
            // Another run may hold the lock of a folder, and is not waited for.
            Err(error) => assert!(matches!(error, ExecError::Cancelled), "{error}"),
        }
    }
}

fn children_of_the_host_are_left_alone() {
    let place = Place::new(Strength::Off);
    let mut own = std::process::Command::new("/bin/cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    place.run("setsid sleep 1000 & disown; echo done");
    assert!(
        own.try_wait().unwrap().is_none(),
        "a child of the host was ended"
    );
    drop(own.stdin.take());
    assert!(own.wait().unwrap().success());
}

fn scratch_folders_go_away() {
    let place = Place::new(Strength::Off);
    let outcome = place.run("touch \"$TMPDIR/x\"; mkdir \"$TMPDIR/y\"; echo -n \"$TMPDIR\"");
    let text = outcome.stdout.text().into_owned();
    assert!(text.starts_with("/tmp/prowess-"), "{text}");
    assert!(!std::path::Path::new(&text).exists());
}

fn a_scratch_folder_with_a_mount_in_it_is_left() {
    need_root();
    // A file system of its own, with one file: nothing else is ever in reach of a removal.
    let place = Place::new(Strength::Off);
    let line = "mkdir \"$TMPDIR/m\" && mount -t tmpfs none \"$TMPDIR/m\" && touch \"$TMPDIR/m/x\"; \
                echo -n \"$TMPDIR\"";
    let text = place.run(line).stdout.text().into_owned();
    let mount = std::path::Path::new(&text).join("m");
    assert!(mount.join("x").exists(), "what is mounted stays: {text}");
    let gone = std::process::Command::new("umount")
        .arg(&mount)
        .status()
        .unwrap();
    assert!(gone.success());
    std::fs::remove_dir(&mount).unwrap();
    std::fs::remove_dir(&text).unwrap();
}
