//! Measures the cost of a command by layers: `cargo bench -p prowess-sandbox`.

use divan::Bencher;
use prowess_policy::profile::{Profile, Strength};
use prowess_policy::{Actor, ApprovalAnswer, Approved, Command, Gate, GateOutcome};
use prowess_sandbox::{CommandOptions, Layer, Runner};

fn main() {
    divan::main();
}

/// Nothing but the program.
#[divan::bench]
fn bare(bencher: Bencher<'_, '_>) {
    bencher.bench(|| std::process::Command::new("/bin/true").status());
}

#[divan::bench]
fn layer_0(bencher: Bencher<'_, '_>) {
    run(bencher, Strength::Off, &[]);
}

#[divan::bench]
fn layer_1(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        Strength::BestEffort,
        &[Layer::Namespaces, Layer::Identity],
    );
}

#[divan::bench]
fn layers_1_and_3(bencher: Bencher<'_, '_>) {
    run(bencher, Strength::BestEffort, &[Layer::Namespaces]);
}

#[divan::bench]
fn layers_1_and_2(bencher: Bencher<'_, '_>) {
    run(bencher, Strength::BestEffort, &[]);
}

fn run(bencher: Bencher<'_, '_>, strength: Strength, without: &[Layer]) {
    let runner = Runner::with_helper(env!("CARGO_BIN_EXE_prowess-sandbox-helper"))
        .without(without.iter().copied());
    let mut profile = Profile::reading("/usr/share");
    profile.strength = strength;
    let command = command();
    bencher.bench(|| {
        runner
            .run(&command, &profile, CommandOptions::default())
            .is_ok()
    });
}

fn command() -> Approved<Command> {
    let approved = match Gate::default().command("/bin/true", &Actor::default()) {
        GateOutcome::Allowed(command, _) => Some(command),
        GateOutcome::Ask(pending) => pending
            .answer(ApprovalAnswer::Once)
            .map(|(command, _)| command)
            .ok(),
        GateOutcome::Denied(_) => None,
    };
    #[expect(
        clippy::expect_used,
        reason = "without a command there is nothing to measure"
    )]
    approved.expect("no rule is there to deny it")
}
