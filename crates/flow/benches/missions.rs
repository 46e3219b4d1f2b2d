//! How long reading and planning missions takes: `cargo bench -p prowess-flow`.

use prowess_flow::ProjectFiles;
use prowess_flow::mission::{MissionProject, MissionSettings, MissionText};
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
