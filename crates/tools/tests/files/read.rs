//! `read`.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use serde_json::json;

use crate::support::{Says, World, call, told};

#[test]
fn lines_are_numbered() {
    let world = World::new().with("a.txt", "one\ntwo\r\nthree");
    let context = world.context(PermissionMode::Ask, &[]);
    let answer = call(&context, "read", &json!({ "path": "a.txt" })).unwrap();
    assert_eq!(answer.text, "1\tone\n2\ttwo\n3\tthree\n");
    assert_eq!(answer.value["content"], "one\ntwo\r\nthree");
    assert_eq!(
        (&answer.value["total"], &answer.value["next"]),
        (&json!(3), &json!(null))
    );
    let all = [
        world.text("a.txt"),
        "./a.txt".into(),
        "../project/a.txt".into(),
    ];
    for path in all {
        assert_eq!(
            told(&context, "read", &json!({ "path": path })),
            answer.text,
            "{path}"
        );
    }
}

#[test]
fn long_files_are_paged() {
    let lines: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    let world = World::new().with("long", lines);
    let context = world.yolo();
    let (mut next, mut whole) = (json!(1), String::new());
    while !next.is_null() {
        let part = call(&context, "read", &json!({ "path": "long", "offset": next })).unwrap();
        assert_eq!(part.value["total"], 5_000);
        whole.push_str(part.value["content"].as_str().unwrap());
        next = part.value["next"].clone();
    }
    assert_eq!(whole, world.read("long"));
    let two = told(
        &context,
        "read",
        &json!({ "path": "long", "offset": 4999, "limit": 1 }),
    );
    assert_eq!(
        two,
        "4999\tline 4999\n[lines 4999-4999 of 5,000; pass `offset` 5000 to continue]\n"
    );
    let end = told(&context, "read", &json!({ "path": "long", "offset": 5000 }));
    assert_eq!(
        end,
        "5000\tline 5000\n[lines 5000-5000 of 5,000; end of file]\n"
    );
    let beyond = told(&context, "read", &json!({ "path": "long", "offset": 5001 }));
    assert_eq!(
        beyond,
        "`offset` 5001 is past the end: `long` has 5,000 lines."
    );
}

#[test]
fn wide_lines_are_truncated() {
    let world = World::new().with("wide", format!("{}\nend\n", "é".repeat(100_000)));
    let text = told(&world.yolo(), "read", &json!({ "path": "wide" }));
    assert!(
        text.ends_with(" [198,001 more bytes]\n2\tend\n") && text.len() < 3_000,
        "{text}"
    );
}

#[test]
fn only_the_beginning_of_a_huge_file_is_read() {
    let world = World::new();
    // A sparse file of one terabyte takes no space. Its content is NUL, so put text before it.
    let file = std::fs::File::create(world.path("huge")).unwrap();
    std::io::Write::write_all(&mut &file, "text\n".repeat(10_000).as_bytes()).unwrap();
    file.set_len(1 << 40).unwrap();
    let answer = call(
        &world.yolo(),
        "read",
        &json!({ "path": "huge", "limit": 2 }),
    )
    .unwrap();
    assert!(
        answer
            .text
            .starts_with("1\ttext\n2\ttext\n[lines 1-2 of more than 10,000; ")
    );
    assert_eq!(answer.value["total"], json!(null));
    let far = told(
        &world.yolo(),
        "read",
        &json!({ "path": "huge", "offset": 20_000 }),
    );
    assert!(far.contains("too long to read from line 20000"), "{far}");
}

#[test]
fn byte_order_marks_and_legacy_encodings() {
    let world = World::new()
        .with("bom", b"\xef\xbb\xbfone\n")
        .with("latin", b"caf\xe9\n")
        .with("empty", "")
        .with("binary", b"a\0b");
    let context = world.yolo();
    let read = |path: &str| told(&context, "read", &json!({ "path": path }));
    assert_eq!(read("bom"), "1\tone\n");
    assert_eq!(
        read("latin"),
        "1\tcaf\u{fffd}\n[invalid UTF-8 is shown as \u{fffd}]\n"
    );
    assert_eq!(read("empty"), "[the file is empty]\n");
    assert_eq!(
        read("binary"),
        "`binary` is a binary file (application/octet-stream, 3 B) and is not shown."
    );
}

#[test]
fn images_are_shown() {
    let png = b"\x89PNG\r\n\x1a\n0123".to_vec();
    let mut large = png.clone();
    large.resize(5_000_001, 0);
    let world = World::new()
        .with("p.png", &png)
        .with("p.jpg", b"\xff\xd8\xff\xe0abc")
        .with("p.gif", b"GIF89a")
        .with("p.webp", b"RIFF\0\0\0\0WEBPVP8 ")
        .with("large.png", large)
        .with("p.pdf", b"%PDF-1.7\n\0");
    let context = world.yolo();
    let cases = [
        ("p.png", "image/png", 1),
        ("p.jpg", "image/jpeg", 1),
        ("p.gif", "image/gif", 1),
        ("p.webp", "image/webp", 1),
        ("large.png", "image/png", 0),
        ("p.pdf", "application/pdf", 0),
    ];
    for (path, kind, images) in cases {
        let answer = call(&context, "read", &json!({ "path": path })).unwrap();
        assert_eq!(
            (answer.images.len(), &answer.value["type"]),
            (images, &json!(kind)),
            "{path}"
        );
        assert!(answer.images.iter().all(|image| &*image.media_type == kind));
    }
    let answer = call(&context, "read", &json!({ "path": "p.png" })).unwrap();
    assert_eq!(&*answer.images[0].data, "iVBORw0KGgowMTIz");
}

#[test]
fn folders_are_listed() {
    let world = World::new()
        .with("b/x", "")
        .with("a", "")
        .with_link("l", "a");
    let context = world.yolo();
    assert_eq!(
        told(&context, "read", &json!({ "path": "." })),
        "`.` is a folder.\na\nb/\nl@\n"
    );
    for n in 0..1_500 {
        world.file(format!("many/{n:04}"), "");
    }
    let name = std::ffi::OsStr::from_bytes(b"not-\xff-utf8\n");
    std::fs::write(world.path("b").join(name), "").unwrap();
    let many = told(&context, "read", &json!({ "path": "many" }));
    assert!(
        many.contains("0999\n[1,000 of 1,500 items shown; use `glob`"),
        "{many}"
    );
    let odd = told(&context, "read", &json!({ "path": "b" }));
    assert_eq!(odd, "`b` is a folder.\nnot-\u{fffd}-utf8\\n\nx\n");
}

#[test]
fn special_files_are_refused_without_blocking() {
    let world = World::new();
    let fifo = CString::new(world.text("fifo")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    let world = world
        .with_link("tty", "/dev/tty")
        .with_link("self", "/proc/self/environ");
    let context = world.yolo();
    let cases = [
        ("fifo", "it is a FIFO"),
        ("socket", "it is a socket"),
        ("tty", "it is a device"),
        ("/dev/zero", "it is a device"),
        ("self", "a kernel file"),
        ("/proc/self/environ", "a kernel file"),
        ("/proc/kcore", "a kernel file"),
        ("/sys/kernel/notes", "a kernel file"),
    ];
    for (path, why) in cases {
        for tool in ["read", "grep"] {
            let mut input = json!({ "path": path });
            if tool == "grep" {
                input["pattern"] = json!("x");
            }
            let text = told(&context, tool, &input);
            assert!(
                text.contains(why) && text.contains("was refused"),
                "{tool} {path}: {text}"
            );
        }
    }
}

#[test]
fn system_errors_are_reported() {
    let world = World::new().with("file.txt", "x");
    let context = world.yolo();
    let read = |path: &str| told(&context, "read", &json!({ "path": path }));
    assert_eq!(
        read("fle.txt"),
        "File not found: `fle.txt`. Did you mean `file.txt`?"
    );
    assert_eq!(read("file.txt/x"), "File not found: `file.txt/x`.");
    let long = read(&"x".repeat(300));
    assert!(long.starts_with("Cannot access"), "{long}");
}

#[test]
fn reads_are_checked_by_the_gate() {
    let world = World::new()
        .with(".env", "KEY")
        .with("a", "x")
        .with_link("l", ".env")
        .with("d/x", "");
    let rules = [(Effect::Deny, "Read(.env)"), (Effect::Ask, "Read(a)")];
    let mut context = world.context(PermissionMode::Yolo, &rules);
    for path in [".env", "l", "./d/../.env"] {
        let text = told(&context, "read", &json!({ "path": path }));
        assert!(text.contains("deny rule `Read(.env)`"), "{path}: {text}");
    }
    // Rules about the link itself apply too.
    context = world.context(PermissionMode::Ask, &[(Effect::Deny, "Read(l)")]);
    assert!(told(&context, "read", &json!({ "path": "l" })).contains("deny rule `Read(l)`"));
    // Reads outside the project prompt.
    let outside = world.text("../outside/x");
    let text = told(&context, "read", &json!({ "path": outside }));
    assert!(
        text.contains("was refused: no rule allows reading"),
        "{text}"
    );
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    assert_eq!(
        told(&context, "read", &json!({ "path": outside })),
        "1\tSECRET\n"
    );
    assert_eq!(says.questions(), [format!("Read `{outside}`")]);
    let plan = world.context(PermissionMode::Plan, &[]);
    assert_eq!(told(&plan, "read", &json!({ "path": "a" })), "1\tx\n");
}

#[test]
fn saved_long_output_can_be_read() {
    let world = World::new()
        .with("../ours/outputs/s1/output-1.txt", "all of it")
        .with("../ours/outputs/s2/output-2.txt", "of another session")
        .with("../ours/outputs/output-3.txt", "of no session");
    let mut context = world.context(PermissionMode::Allow, &[]);
    context.settings.session = Some("s1".to_owned());
    let path = |path: &str| json!({ "path": world.text(format!("../ours/outputs{path}")) });
    let told_of = |path: &serde_json::Value| told(&context, "read", path);
    assert_eq!(told_of(&path("/s1/output-1.txt")), "1\tall of it\n");
    // Neither the output of others, nor a list of them.
    for other in [
        "/s2/output-2.txt",
        "/output-3.txt",
        "",
        "/s1",
        "/s2",
        "/s1/../s2/output-2.txt",
    ] {
        let text = told_of(&path(other));
        assert!(text.contains("was refused"), "{other}: {text}");
    }
    context.settings.session = Some("../outputs".to_owned());
    let text = told(&context, "read", &path("/output-3.txt"));
    assert!(text.contains("was refused"), "{text}");
    let mut write = path("/s1/output-1.txt");
    write["content"] = "x".into();
    assert!(told(&world.yolo(), "write", &write).contains("was refused"));
}
