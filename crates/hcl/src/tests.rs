use proptest::prelude::*;
use prowess_diag::Span;

use crate::tree::{Expr, HclProblem, Item, ReferenceStep};
use crate::{
    EvalScope, FunctionCall, MAX_FILE, MAX_ITEMS, Resolved, Tree, Value, evaluate, parse,
    parse_expression, value_expression, write_block, write_expression, write_text,
};

/// Late `inputs` and `item`, some variables, and a function that repeats a text.
struct Scope(Value);

impl Scope {
    fn new() -> Self {
        let text = |text: &str| Value::Text(text.into());
        Self(Value::Object(vec![
            ("name".into(), text("Ada")),
            ("host".into(), text("${x} %{y}")),
            ("count".into(), Value::Number("3".into())),
            ("tags".into(), Value::List(vec![text("a"), text("b")])),
        ]))
    }
}

impl EvalScope for Scope {
    fn resolve(&self, root: &str) -> Resolved<'_> {
        match root {
            "vars" => Resolved::Known(&self.0),
            "inputs" | "item" => Resolved::Late,
            _ => Resolved::Unknown,
        }
    }

    fn call(&self, call: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> {
        match (call.name, call.arguments) {
            ("twice", [Value::Text(text)]) => Some(Ok(Value::Text(text.repeat(2).into()))),
            ("twice", _) => Some(Err(HclProblem::new(call.span, "`twice` takes a text"))),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["vars", "inputs", "item"]
    }
}

fn value(text: &str) -> Value {
    let expr = parse_expression(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    evaluate(&expr, &Scope::new()).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
}

fn fault(text: &str) -> (Span, String) {
    let expr = parse_expression(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    let problem = evaluate(&expr, &Scope::new()).unwrap_err();
    (problem.span, problem.message)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn problems(tree: &Tree) -> Vec<(u32, &str)> {
    let found = tree.problems.iter();
    found
        .map(|problem| (problem.span.start, &*problem.message))
        .collect()
}

#[test]
fn blocks_have_kinds_labels_and_places() {
    let source = "agent \"Quality Assurance\" {\n  model = models.a.b\n  skill \"x\" {\n    tools = []\n  }\n}\n";
    let tree = parse(source.as_bytes());
    let [Item::Block(agent)] = &*tree.items else {
        panic!("{tree:?}")
    };
    assert_eq!(&*agent.kind.text, "agent");
    assert_eq!(&*agent.labels[0].text, "Quality Assurance");
    assert_eq!(&source[agent.head().range()], "agent \"Quality Assurance\"");
    let model = agent.attribute("model").unwrap();
    assert_eq!(model.value.reference(), Some(("models", vec!["a", "b"])));
    assert_eq!(&source[model.value.span.range()], "models.a.b");
    assert_eq!(agent.blocks().count(), 1);
}

#[test]
fn references_can_be_indexed_by_names() {
    let expr = parse_expression("agents[\"Quality Assurance\"].all").unwrap();
    assert_eq!(
        expr.reference(),
        Some(("agents", vec!["Quality Assurance", "all"]))
    );
    let mut seen = Vec::new();
    let nested = parse_expression("[a.b, \"x ${inputs.c} %{ if d.e == 1 }y%{ endif }\"]").unwrap();
    nested.references(&mut |root, path, _| seen.push((root.to_owned(), path.len())));
    assert_eq!(
        seen,
        [
            ("a".to_owned(), 1),
            ("inputs".to_owned(), 1),
            ("d".to_owned(), 1)
        ]
    );
}

/// Faults with the place where they begin, and the way to write it.
#[test]
fn faults_have_their_place_and_a_way_out() {
    for (source, at, message, help) in [
        (
            "a = 1; b = 2\n",
            5,
            "`;` does not separate attributes in HCL",
            "line of its own",
        ),
        (
            "agent \"x\" {\n  name: \"y\"\n}\n",
            18,
            "`:` after the name of an attribute",
            "`name = …`",
        ),
        (
            "a = 'x y'\n",
            4,
            "text is written in double quotation marks",
            "`\"x y\"`",
        ),
        (
            "agent \"x\" {\n a = \"b\n}\n",
            17,
            "this quotation mark is not closed on its line",
            "heredoc",
        ),
        (
            "agent \"x\" {\n a = 1\n",
            10,
            "the block `agent \"x\"` is not closed",
            "add `}`",
        ),
        (
            "a = <<-EOT\n x\n",
            4,
            "this heredoc has no end",
            "write `EOT`",
        ),
        ("a = [1, 2\n", 4, "`[` is not closed", "add `]`"),
        ("a = [1, 2)\n", 4, "`[` is not closed", "add `]`"),
        ("}\n", 0, "`}` closes nothing", "remove it"),
        ("a = { ... }\n", 6, "`...` is not HCL", "remove it"),
        ("/* x\n", 0, "this comment is not closed", "*/"),
        ("x {\n  a\n}\n", 7, "`a` has no value", "`a = …`"),
        ("a = 1e400\n", 5, "the number is out of range", ""),
        (
            "a = { b = 1, b = 2 }\n",
            13,
            "`b` is given twice",
            "remove one",
        ),
        (
            "x {\n  b = 1\n  b = 2\n}\n",
            14,
            "`b` is given twice",
            "remove one",
        ),
        ("a = 1 +\n", 7, "unexpected end of line", "expected"),
    ] {
        let tree = parse(source.as_bytes());
        let [first, ..] = &*tree.problems else {
            panic!("{source:?}: no problem")
        };
        assert_eq!(
            (first.span.start, &*first.message),
            (at, message),
            "{source:?}"
        );
        assert!(
            first.help.as_deref().unwrap_or_default().contains(help),
            "{source:?}: {first:?}"
        );
    }
}

#[test]
fn fault_costs_one_block() {
    let good = "skill \"a\" {\n  x = 1\n}\n";
    for bad in [
        "agent \"x\" {\n  a = \"b\n}\n",
        "agent \"x\" {\n  a = [1\n",
        "agent \"x\" {\n  b {\n  a = 1\n}\n",
        "agent \"x\" {\n  a = 1; b = 2\n}\n",
        "agent \"x\" {\n  a: 1\n}\n",
        "}\n",
        "agent \"x\" {\n  a = <<-T\n  ${b\n  T\n}\n",
    ] {
        let source = format!("{good}{bad}{good}");
        let tree = parse(source.as_bytes());
        assert_eq!(tree.items.len(), 2, "{bad:?}: {:?}", problems(&tree));
        assert!(!tree.problems.is_empty(), "{bad:?}");
    }
}

#[test]
fn marks_line_ends_and_comments_are_read() {
    let tree = parse(
        "\u{feff}# a\r\nx = \"a\"\r\ny = <<T\r\nb\r\n  c\r\nT\r\n/* z */ z = 1 // end".as_bytes(),
    );
    assert_eq!(problems(&tree), []);
    let values: Vec<Value> = tree
        .items
        .iter()
        .map(|item| match item {
            Item::Attribute(attribute) => evaluate(&attribute.value, &Scope::new()).unwrap(),
            Item::Block(_) => panic!("no block"),
        })
        .collect();
    assert_eq!(
        values,
        [text("a"), text("b\n  c\n"), Value::Number("1".into())]
    );
}

#[test]
fn bytes_that_are_no_text_are_one_problem() {
    assert_eq!(
        problems(&parse(b"a = 1\nb = \"\xff\"\n")),
        [(11, "the file is not UTF-8")]
    );
    let large = vec![b' '; MAX_FILE + 1];
    assert_eq!(
        problems(&parse(&large)),
        [(0, "the file is larger than 1 MiB")]
    );
}

#[test]
fn large_and_deep_inputs_are_refused() {
    let object: String = (0..60_000)
        .map(|key| format!("  k{key} = {key}\n"))
        .collect();
    for source in [
        format!("a = {{\n{object}}}\n"),
        format!("a = [{}]\n", "1,".repeat(MAX_ITEMS + 2)),
        format!("a = {}\n", "[".repeat(100_000)),
        format!("a = \"{}\n", "${\"".repeat(100_000)),
        format!("a = {}1\n", "!".repeat(10_000)),
    ] {
        let tree = parse(source.as_bytes());
        assert!(
            tree.items.is_empty() && !tree.problems.is_empty(),
            "{source:.40}"
        );
    }
    let tree = parse(format!("a = [{}]\n", "1,".repeat(MAX_ITEMS - 1)).as_bytes());
    assert_eq!(problems(&tree), []);
}

/// The indent of `<<-` is that of the least indented line, inside directives too.
#[test]
fn heredocs_lose_their_indent() {
    for (source, expected) in [
        ("<<T\n  a\n b\nT\n", "  a\n b\n"),
        ("<<-T\n  a\n b\n  T\n", " a\nb\n"),
        ("<<-T\n    a\n\n    b\n  T\n", "a\n\nb\n"),
        ("<<-T\n\ta\n\t\tb\n\tT\n", "a\n\tb\n"),
        ("<<-T\nT\n", ""),
        ("<<-T\n  ${vars.name}\n    x\n  T\n", "Ada\n  x\n"),
        (
            "<<-T\n  %{ if true }\n    a\n  %{ endif }\n  T\n",
            "\n  a\n\n",
        ),
        (
            "<<-T\n  %{ if true ~}\n  a\n  %{ endif ~}\n  b\n  T\n",
            "a\nb\n",
        ),
        (
            "<<-T\n  %{ if false ~}\n  a\n  %{ else ~}\n  c\n  %{ endif ~}\n  T\n",
            "c\n",
        ),
        ("<<-T\n  x\n  %{~ if true }y%{ endif }\n  T\n", "xy\n"),
        (
            "<<-T\n  %{ for t in vars.tags ~}\n  - ${t}\n  %{ endfor ~}\n  T\n",
            "- a\n- b\n",
        ),
        (
            "<<-T\n  $HOME $(date) %Y 100% $${x} %%{y}\n  T\n",
            "$HOME $(date) %Y 100% ${x} %{y}\n",
        ),
        (
            "<<-T\n  \"quoted\" \\n stays\n  T\n",
            "\"quoted\" \\n stays\n",
        ),
        ("<<-T\n  a ${~ vars.name ~} b\n  T\n", "aAdab\n"),
        // The mark may be anywhere, and any word.
        ("<<-END_OF_IT\n      a\nEND_OF_IT\n", "a\n"),
        ("<<-T\n  a\n  T is a word\n  T\n", "a\nT is a word\n"),
        (
            "<<END\nEND: not yet ${vars.name}\nENDED\nEND\n",
            "END: not yet Ada\nENDED\n",
        ),
        // Lines of blanks do not count, and keep nothing.
        ("<<-T\n    a\n  \n    b\n    T\n", "a\n\nb\n"),
        ("<<-T\n  a\nb\n  T\n", "  a\nb\n"),
        ("<<T\n    ${vars.name}\n  T\n", "    Ada\n"),
        (
            "<<-T\n  # no comment\n  // neither\n  T\n",
            "# no comment\n// neither\n",
        ),
        (
            "<<-T\n  {\n    \"a\": [1]\n  }\n  T\n",
            "{\n  \"a\": [1]\n}\n",
        ),
        (
            "<<-T\n  %{ if true }yes%{ else }no%{ endif } ${vars.name}\n  T\n",
            "yes Ada\n",
        ),
    ] {
        let tree = parse(format!("a = {source}").as_bytes());
        let [Item::Attribute(attribute)] = &*tree.items else {
            panic!("{source:?}: {:?}", problems(&tree))
        };
        let value = evaluate(&attribute.value, &Scope::new()).unwrap();
        assert_eq!(value, text(expected), "{source:?}");
    }
}

#[test]
fn quoted_texts_keep_what_is_no_hole() {
    let source = r#""$HOME $(x) %Y 100% $${x} %%{y} \"q\" \u0041""#;
    assert_eq!(value(source), text("$HOME $(x) %Y 100% ${x} %{y} \"q\" A"));
    // What is put in is not read as a template again.
    assert_eq!(value("\"a ${vars.host}\""), text("a ${x} %{y}"));
    assert_eq!(value("\"${vars.count}\""), Value::Number("3".into()));
    assert_eq!(value("\"n ${vars.tags}\""), text("n [\"a\",\"b\"]"));
}

#[test]
fn expressions_have_values() {
    for (source, expected) in [
        ("1 + 2 * 3", Value::Number("7".into())),
        ("(1 + 2) * 3", Value::Number("9".into())),
        ("7 % 4 == 3 && !false", Value::Bool(true)),
        ("1.0 == 1", Value::Bool(true)),
        ("vars.count > 2 ? \"many\" : \"few\"", text("many")),
        ("vars[\"name\"]", text("Ada")),
        ("vars.tags[1]", text("b")),
        ("twice(\"ab\")", text("abab")),
        (
            "[for t in vars.tags : \"${t}!\" if t != \"a\"]",
            Value::List(vec![text("b!")]),
        ),
        (
            "{for i, t in vars.tags : t => i}",
            Value::Object(vec![
                ("a".into(), Value::Number("0".into())),
                ("b".into(), Value::Number("1".into())),
            ]),
        ),
        (
            "{ a = 1, \"b c\" : null }",
            Value::Object(vec![
                ("a".into(), Value::Number("1".into())),
                ("b c".into(), Value::Null),
            ]),
        ),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
}

#[test]
fn errors_point_at_the_part() {
    for (source, at, message) in [
        ("[1, vars.nam]", 4, "`nam` does not exist"),
        ("var.x", 0, "unknown name `var`"),
        ("1 / 0", 0, "division by zero"),
        ("\"a\" + 1", 0, "expected a number, found text"),
        ("nope(1)", 0, "unknown function `nope`"),
        (
            "vars.tags[7]",
            0,
            "the list has 2 items, so there is no item 7",
        ),
        (
            "{ (vars.name) = 1, Ada = 2 }",
            19,
            "the key `Ada` is given twice",
        ),
        ("\"x ${null}\"", 5, "null cannot be put into a text"),
        ("1e308 * 10", 0, "the number is out of range"),
    ] {
        let (span, found) = fault(source);
        assert_eq!((span.start, &*found), (at, message), "{source}");
    }
}

struct Inputs(Value);
impl EvalScope for Inputs {
    fn resolve(&self, root: &str) -> Resolved<'_> {
        if root == "inputs" {
            Resolved::Known(&self.0)
        } else {
            Resolved::Unknown
        }
    }
    fn call(&self, _: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> {
        None
    }
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// What needs inputs stays an expression; everything else in it is evaluated.
#[test]
fn late_parts_stay_expressions() {
    let source =
        "\"${vars.name}: ${inputs.topic} %{ if inputs.deep }very %{ endif }${vars.count}\"";
    let Value::Late(rest) = value(source) else {
        panic!("not late")
    };
    let mut needs = Vec::new();
    rest.references(&mut |root, path, _| needs.push((root.to_owned(), path.to_vec())));
    let step = |name: &str| vec![ReferenceStep::Name(name.into())];
    assert_eq!(
        needs,
        [
            ("inputs".to_owned(), step("topic")),
            ("inputs".to_owned(), step("deep"))
        ]
    );

    let inputs = Inputs(Value::Object(vec![
        ("topic".into(), text("${vars.name}")),
        ("deep".into(), Value::Bool(true)),
    ]));
    // It can be stored and evaluated by another process.
    let stored = serde_json::to_string(&rest).unwrap();
    let restored: Expr = serde_json::from_str(&stored).unwrap();
    assert_eq!(
        evaluate(&restored, &inputs).unwrap(),
        text("Ada: ${vars.name} very 3")
    );
    for late in [
        "inputs.a == 1 ? vars.name : \"x\"",
        "[for x in inputs.list : \"${x} ${vars.name}\"]",
        "!inputs.a",
        "inputs.list[vars.count]",
        "vars[inputs.a]",
        "{ (inputs.a) = 1 }",
    ] {
        assert!(value(late).is_late(), "{late}");
    }
    assert!(value("[inputs.a, 1]").is_late() && !value("false && inputs.a").is_late());
}

#[test]
fn evaluation_is_bounded() {
    let ten = "[1,2,3,4,5,6,7,8,9,10]";
    let mut nested = "1".to_owned();
    for level in 0..7 {
        nested = format!("[for x{level} in {ten} : {nested}]");
    }
    assert!(fault(&nested).1.contains("steps"));
    let mut long = format!("\"{}\"", "a".repeat(100_000));
    for _ in 0..6 {
        long = format!("twice({long})");
    }
    assert!(fault(&long).1.contains("longer than 4 MiB"));
}

proptest! {
    /// Parsing never fails, and every span is inside the text on character boundaries.
    #[test]
    fn any_text_is_accepted(source in "([a-c{}\\[\\]()\"'<>$%=:;,.#*/é \n-]|<<-T\n|\nT\n|\\$\\{|%\\{ if |%\\{ endif \\}){0,60}", bytes: Vec<u8>) {
        parse(&bytes);
        let tree = parse(source.as_bytes());
        for problem in &tree.problems {
            prop_assert!(source.get(problem.span.range()).is_some(), "{problem:?}");
        }
        let mut stack: Vec<&Item> = tree.items.iter().collect();
        while let Some(item) = stack.pop() {
            match item {
                Item::Attribute(attribute) => {
                    attribute.value.walk(&mut |expr| assert!(source.get(expr.span.range()).is_some(), "{expr:?}"));
                    let _ = evaluate(&attribute.value, &Scope::new());
                }
                Item::Block(block) => {
                    prop_assert!(source.get(block.head().range()).is_some());
                    stack.extend(&block.items);
                }
            }
        }
    }

    /// A value is put into a text as it is.
    #[test]
    fn values_are_put_in_literally(value in "[a-z$%{}\"\\\\\n~]{0,40}") {
        struct One(Value);
        impl EvalScope for One {
            fn resolve(&self, _: &str) -> Resolved<'_> { Resolved::Known(&self.0) }
            fn call(&self, _: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> { None }
            fn names(&self) -> Vec<&str> { Vec::new() }
        }
        let expr = parse_expression("\"<${x}>\"").unwrap();
        let made = evaluate(&expr, &One(text(&value))).unwrap();
        prop_assert_eq!(made, text(&format!("<{value}>")));
    }
}

/// Parses the first block of a text.
fn block(source: &str) -> crate::Block {
    let tree = parse(source.as_bytes());
    assert!(tree.problems.is_empty(), "{source}\n{:?}", tree.problems);
    match tree.items.into_iter().next() {
        Some(Item::Block(block)) => block,
        other => panic!("{source}: {other:?}"),
    }
}

/// Returns a block as JSON, without places.
fn without_places(block: &crate::Block) -> serde_json::Value {
    let items = block.items.iter().map(|item| match item {
        Item::Attribute(one) => serde_json::json!([one.name.text, one.value]),
        Item::Block(inner) => without_places(inner),
    });
    let labels: Vec<&str> = block.labels.iter().map(|label| &*label.text).collect();
    serde_json::json!({
        "kind": block.kind.text,
        "labels": labels,
        "items": items.collect::<Vec<_>>(),
    })
}

#[test]
fn written_blocks_read_back_equal() {
    let source = r#"agent "a \"b\" ${"c"}" {
  text    = "a\r\nb \u0000 $${x} %%{y} \\"
  hole    = "x$${y} ${inputs.topic} %{ if inputs.a }yes%{ else }no%{ endif }"
  loop    = "%{ for k, v in inputs.list }${k}=${v}, %{ endfor }"
  number  = -1.50
  list    = [1, "two", null, true, [], {}]
  object  = { a = 1, "b c" = 2, (inputs.key) = 3, "for" = 4 }
  long    = ["aaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "ccccccccccccccccccccccccccc", { k = "v" }]
  math    = 1 + 2 * (3 - inputs.n) / -inputs.m
  choice  = !inputs.a && inputs.b == 1 ? "x" : inputs["a b"][0].c[*].d
  mapped  = [for i, one in inputs.list : one.name if one.ok]
  grouped = {for k, v in inputs.list : v => k...}
  called  = twice(inputs.list...)
  member  = twice("a")[0]
  dashed  = skills.web-scraping
  heredoc = <<T
one $${x}
  two ${inputs.topic}
T
  plain   = <<T
one
EOT
two
T
  inner "x" "y" {
    deep {}
  }
}
"#;
    // A label has no holes.
    let source = source.replace(" ${\"c\"}\"", "\"");
    let first = block(&source);
    let written = write_block(&first);
    let second = block(&written);
    assert_eq!(without_places(&first), without_places(&second), "{written}");
    assert_eq!(write_block(&second), written);
}

proptest! {
    /// Any text is read back equal: in quotation marks, as a label, beside a hole, in a heredoc.
    #[test]
    fn written_texts_read_back_equal(
        plain in any::<String>(),
        marked in "([$%{}\"\\\\\r\n\t\u{0}\u{1b}\u{202e}\u{feff}~ab]|\\$\\{|%\\{|EOT\n){0,24}",
    ) {
        for one in [&plain, &marked] {
            let written = write_text(one);
            prop_assert!(!written.contains('\n'));
            let expr = parse_expression(&written).map_err(|problem| {
                TestCaseError::fail(format!("{written}: {problem:?}"))
            })?;
            prop_assert_eq!(evaluate(&expr, &Scope::new()).unwrap(), text(one), "{}", written);
            let list = value_expression(&Value::List(vec![text(one), text("x")]));
            prop_assert_eq!(&value(&write_expression(&list)), &Value::List(vec![text(one), text("x")]));
            for end in ["", "\n"] {
                let body = format!("{one}{end}");
                let parts = vec![
                    crate::TemplatePart::Text(body.as_str().into()),
                    crate::TemplatePart::Hole(parse_expression("vars.host").unwrap()),
                    crate::TemplatePart::Text(format!("|{body}").into()),
                ];
                let template = Expr::new(crate::ExprKind::Template(parts), Span::default());
                let attribute = |name: &str, value| Item::Attribute(crate::Attribute {
                    name: crate::Label { text: name.into(), span: Span::default() },
                    value,
                    span: Span::default(),
                });
                let made = crate::Block {
                    kind: crate::Label { text: "x".into(), span: Span::default() },
                    labels: vec![crate::Label { text: body.as_str().into(), span: Span::default() }],
                    items: vec![attribute("a", value_expression(&text(&body))), attribute("b", template)],
                    span: Span::default(),
                };
                let written = write_block(&made);
                let read = block(&written);
                prop_assert_eq!(&*read.labels[0].text, &*body, "{}", &written);
                let value = |name: &str| evaluate(&read.attribute(name).unwrap().value, &Scope::new()).unwrap();
                prop_assert_eq!(value("a"), text(&body), "{}", &written);
                prop_assert_eq!(value("b"), text(&format!("{body}${{x}} %{{y}}|{body}")), "{}", &written);
            }
        }
    }
}

/// Found by fuzzing: the place of the fault was behind the end of the text.
#[test]
fn deep_nesting_at_the_end_has_a_place_in_the_text() {
    for depth in 60..80 {
        for end in ["", "ä"] {
            let text = format!("a = {}{end}", "{".repeat(depth));
            for problem in parse(text.as_bytes()).problems {
                assert!(text.get(problem.span.range()).is_some(), "{problem:?}");
            }
        }
    }
}
