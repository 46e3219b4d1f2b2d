//! How long reading and planning missions takes: `cargo bench -p prowess-flow`.

use prowess_flow::ProjectFiles;
use prowess_flow::mission::{
    MISSION_VERSION, MissionEvent, MissionProject, MissionSettings, MissionStart, MissionState,
    MissionStep, MissionText, MissionUsage, TaskEnding, UnitResult,
};
use prowess_spec::ReadFault;

fn main() {
    divan::main();
}

struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

const HEAD: &str = "model \"m\" {\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}\n";

/// Returns about `bytes` bytes of agents with skills and missions with tasks.
fn blocks(bytes: usize) -> String {
    let mut text = HEAD.to_owned();
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&format!(
            "agent \"a{number}\" {{\n  model       = models.m.claude_opus_4\n  personality = \"Works with care.\"\n  tools       = [builtins.http.get, builtins.http.post]\n\n  skill \"s{number}\" {{\n    description  = \"Load when needed\"\n    instructions = <<-EOT\n      Read the notes, then compare them.\n      Write down what differs, line after line.\n    EOT\n  }}\n}}\n\nmission \"m{number}\" {{\n  commander {{ model = models.m.claude_opus_4 }}\n  agents = [agents.a{number}]\n\n  input \"topic\" {{ type = \"string\" }}\n\n  task \"first\" {{ objective = \"Look at ${{inputs.topic}}\" }}\n  task \"second\" {{\n    objective  = \"Write it down\"\n    depends_on = [tasks.first]\n    output     = {{ text = string(\"The text\", true) }}\n  }}\n}}\n\n"
        ));
        number += 1;
    }
    text
}

/// Returns this number of skills, all used by one agent.
fn skills(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for number in 0..count {
        text.push_str(&format!(
            "skill \"s{number}\" {{\n  description  = \"d\"\n  instructions = \"Do it with care.\"\n}}\n"
        ));
    }
    // A list has at most 4,096 items.
    let list: Vec<String> = (0..count.min(4_000))
        .map(|at| format!("skills.s{at}"))
        .collect();
    text.push_str(&format!(
        "agent \"a\" {{\n  model = models.m.claude_opus_4\n  personality = \"p\"\n  skills = [{}]\n}}\n",
        list.join(", ")
    ));
    text
}

fn plan(text: &str) -> usize {
    let settings = MissionSettings::default();
    let files = [MissionText {
        path: "a.hcl".to_owned(),
        bytes: Ok(text.as_bytes().to_vec()),
    }];
    let (project, reports) = MissionProject::read(&files, &NoFiles, &settings);
    project.skills.len() + reports.len()
}

#[divan::bench(args = [10_000, 100_000, 1_000_000], sample_count = 10)]
fn read_only(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    let text = blocks(bytes);
    bencher.bench(|| prowess_hcl::parse(text.as_bytes()).items.len());
}

/// The grammar alone, without spans, findings and recovery.
#[divan::bench(args = [10_000, 100_000, 1_000_000], sample_count = 10)]
fn hcl_edit_only(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    let text = blocks(bytes);
    bencher.bench(|| hcl_edit::parser::parse_body(&text).map_or(0, |body| body.len()));
}

#[divan::bench(args = [10_000, 100_000, 1_000_000], sample_count = 10)]
fn read_and_plan(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    let text = blocks(bytes);
    bencher.bench(|| plan(&text));
}

#[divan::bench(args = [500, 5_000], sample_count = 10)]
fn plan_skills(bencher: divan::Bencher<'_, '_>, count: usize) {
    let text = skills(count);
    bencher.bench(|| plan(&text));
}

/// Runs a chain of tasks through the machine, without a store and a model. Returns the number of
/// events.
#[divan::bench(args = [20, 200], sample_count = 10)]
fn machine(bencher: divan::Bencher<'_, '_>, tasks: usize) {
    let mut text = format!(
        "{HEAD}agent \"a\" {{\n  model = models.m.claude_opus_4\n  personality = \"p\"\n}}\nmission \"x\" {{\n  commander {{ model = models.m.claude_opus_4 }}\n  agents = [agents.a]\n"
    );
    for number in 0..tasks {
        let above = number.checked_sub(1);
        let above = above.map(|above| format!("  depends_on = [tasks.t{above}]\n"));
        text.push_str(&format!(
            "task \"t{number}\" {{\n  objective = \"o\"\n{}}}\n",
            above.unwrap_or_default()
        ));
    }
    text.push_str("}\n");
    let settings = MissionSettings::default();
    let files = [MissionText {
        path: "a.hcl".to_owned(),
        bytes: Ok(text.into_bytes()),
    }];
    let (plan, _) = MissionProject::read(&files, &NoFiles, &settings);
    let start = MissionEvent::Started(Box::new(MissionStart {
        version: MISSION_VERSION,
        plan,
        mission: "x".into(),
        ..MissionStart::default()
    }));
    bencher.bench(|| {
        let mut state = MissionState::default();
        let mut count = 1;
        let mut apply = |state: &mut MissionState, events: &[MissionEvent]| {
            for event in events {
                assert_eq!(state.apply(event), Ok(()));
                count += 1;
            }
        };
        assert_eq!(state.apply(&start), Ok(()));
        loop {
            match state.next() {
                MissionStep::Start { events, units } => {
                    apply(&mut state, &events);
                    for unit in units {
                        let result = UnitResult {
                            how: TaskEnding::Done,
                            summary: "done".to_owned(),
                            route: None,
                            outputs: Vec::new(),
                            datasets: Vec::new(),
                            usage: MissionUsage::default(),
                            limit: None,
                        };
                        let events = state.finished(&unit, result);
                        apply(&mut state, &events);
                    }
                }
                MissionStep::Record(events) => apply(&mut state, &events),
                _ => return count,
            }
        }
    });
}
