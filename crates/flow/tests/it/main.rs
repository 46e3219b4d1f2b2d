//! Properties of the readers of agent and mission files.

proptest::proptest! {
    #[test]
    fn any_bytes_are_accepted(bytes: Vec<u8>, text in "[-{}\\[\\]\":,/. a-z\n#]{0,200}") {
        prowess_test::oracle::agents_hold(&bytes);
        prowess_test::oracle::agents_hold(text.as_bytes());
    }
}

/// Pieces of mission files, right and wrong.
const PIECES: [&str; 22] = [
    "mission \"m\" {\n",
    "agent \"a\" {\n",
    "task \"t\" {\n",
    "skill \"s\" {\n",
    "commander { model = models.m.x }\n",
    "model \"m\" {\n provider = \"anthropic\"\n api_key = vars.k\n}\n",
    "variable \"k\" { secret = true }\n",
    "objective = \"${inputs.i} ${item.x} ${vars.k}\"\n",
    "instructions = load(\"../x.md\")\n",
    "description = <<-T\n  %{ for x in inputs.l }${x}%{ endfor }\n  T\n",
    "depends_on = [tasks.t, tasks[\"u v\"]]\n",
    "send_to = [tasks.t]\n",
    "router {\n route {\n target = missions.m\n condition = \"c\"\n }\n }\n",
    "iterator {\n dataset = datasets.d\n parallel = true\n }\n",
    "dataset \"d\" { items = [{ x = 1 }] }\n",
    "input \"i\" {\n type = \"list\"\n default = [1]\n }\n",
    "schedule {\n cron = \"*/5 * 29 2 *\"\n }\n",
    "agents = [agents.a]\n",
    "tools = [builtins.http.all, plugins.p.x]\n",
    "packet \"p\" { path = \"./b\" }\n",
    "}\n",
    "\"",
];

proptest::proptest! {
    #[test]
    fn any_bytes_are_accepted_as_missions(
        bytes: Vec<u8>,
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES), 0..24),
    ) {
        prowess_test::oracle::missions_hold(&bytes);
        prowess_test::oracle::missions_hold(pieces.concat().as_bytes());
    }
}
