//! Archives: honest ones of several programs, and hostile ones.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use prowess_package::archive::{ArchiveError, ArchiveLimits, EntryFault, unpack};
use prowess_package::content::{ContentError, stage_found};
use prowess_package::find::FindOptions;
use prowess_package::tree::{PackageTree, TreeError, TreeLimits, TreePathFault};
use prowess_registry::digest_of;
use tar::{EntryType, Header};

prowess_test::tests! {
    same_folder_gives_one_digest_in_every_format
    hostile_tar_archives_are_refused
    hostile_zip_archives_are_refused
    bombs_are_refused
    links_of_archives_follow_the_rules_of_git
    every_truncation_is_refused
}

/// Unpacks an archive, and stages the skill in a folder of it.
fn stage(archive: &[u8], folder: &str) -> Result<Option<PackageTree>, ArchiveError> {
    stage_within(archive, folder, ArchiveLimits::default())
}

fn stage_within(
    archive: &[u8],
    folder: &str,
    limits: ArchiveLimits,
) -> Result<Option<PackageTree>, ArchiveError> {
    let world = tempfile::tempdir().unwrap();
    let unpacked = unpack(archive, &world.path().join("raw"), limits)?;
    let all = FindOptions {
        source_name: "top",
        all_paths: true,
    };
    let found = unpacked.find(all).unwrap();
    let at = found.packages.iter().find(|one| one.folder == folder);
    let Some(package) = at else {
        // Without SKILL.md only the entries are checked.
        return Ok(None);
    };
    if let Some(problem) = &package.problem {
        return Err(TreeError::Link {
            path: problem.to_string(),
            target: String::new(),
        }
        .into());
    }
    let into = world.path().join("tree");
    let staged = stage_found(package, &unpacked, into, TreeLimits::default());
    staged.map(Some).map_err(|error| match error {
        ContentError::Tree(error) => error.into(),
        error => panic!("{error}"),
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One entry of a tar, with a name that no library would write.
fn tar_entry(
    name: &[u8],
    kind: u8,
    size: u64,
    content: &[u8],
    change: impl FnOnce(&mut Header),
) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_entry_type(EntryType::new(kind));
    change(&mut header);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn tar_file(name: &[u8], content: &[u8]) -> Vec<u8> {
    tar_entry(name, b'0', content.len() as u64, content, |_| {})
}

fn tar_link(name: &[u8], kind: u8, target: &str) -> Vec<u8> {
    tar_entry(name, kind, 0, b"", |header| {
        header.set_link_name_literal(target).unwrap();
    })
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while format!("{length}{rest}").len() != length {
            length += 1;
        }
        text.push_str(&format!("{length}{rest}"));
    }
    tar_entry(b"pax", b'x', text.len() as u64, text.as_bytes(), |_| {})
}

fn tar_of(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.extend([0; 1024]);
    gzip(&bytes)
}

fn same_folder_gives_one_digest_in_every_format() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path();
    let skill = root.join("pdf");
    fs::create_dir_all(skill.join("scripts")).unwrap();
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: pdf\ndescription: x\n---\n",
    )
    .unwrap();
    fs::write(skill.join("scripts/fill.py"), "print(1)\n".repeat(1000)).unwrap();
    fs::set_permissions(
        skill.join("scripts/fill.py"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    std::os::unix::fs::symlink("scripts/fill.py", skill.join("fill")).unwrap();
    let long = format!("{}/{}.md", "a".repeat(120), "ü".repeat(60));
    fs::create_dir(skill.join("a".repeat(120))).unwrap();
    fs::write(skill.join(&long), "long").unwrap();
    let run = |program: &str, args: &[&str], folder: &Path| {
        let status = Command::new(program)
            .args(args)
            .current_dir(folder)
            .status()
            .unwrap();
        assert!(status.success(), "{program} {args:?}");
    };
    run("tar", &["-czf", "gnu.tar.gz", "--format=gnu", "pdf"], root);
    run("tar", &["-czf", "pax.tar.gz", "--format=pax", "pdf"], root);
    run(
        "tar",
        &["-czf", "../dot.tar.gz", "--format=pax", "."],
        &skill,
    );
    let script = "
import os, stat, sys, zipfile
def add(archive, path, name):
    facts = os.lstat(path)
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = facts.st_mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    data = os.readlink(path) if stat.S_ISLNK(facts.st_mode) else open(path, 'rb').read()
    archive.writestr(info, data)
class Stream:
    def __init__(self, path): self.file = open(path, 'wb')
    def write(self, data): return self.file.write(data)
    def flush(self): self.file.flush()
for target, top in (('a.zip', 'pdf/'), ('b.skill', ''), ('c.zip', 'pdf/')):
    where = Stream(target) if target == 'c.zip' else target
    with zipfile.ZipFile(where, 'w') as archive:
        if top: archive.writestr(top, '')
        for folder, _, names in os.walk('pdf'):
            for name in names:
                path = os.path.join(folder, name)
                add(archive, path, top + os.path.relpath(path, 'pdf'))
";
    run("python3", &["-c", script], root);
    let expected = digest_of(&skill).unwrap();
    for name in [
        "gnu.tar.gz",
        "pax.tar.gz",
        "dot.tar.gz",
        "a.zip",
        "b.skill",
        "c.zip",
    ] {
        let tree = stage(&fs::read(root.join(name)).unwrap(), "");
        assert_eq!(
            tree.map(|tree| tree.unwrap().digest)
                .map_err(|error| error.to_string()),
            Ok(expected.clone()),
            "{name}"
        );
    }
}

#[track_caller]
fn refuses(name: &str, archive: &[u8], expected: impl FnOnce(&ArchiveError) -> bool) {
    match stage(archive, "") {
        Ok(tree) => panic!("{name}: accepted {tree:?}"),
        Err(error) => assert!(expected(&error), "{name}: {error:?}"),
    }
}

fn path_fault(fault: TreePathFault) -> impl FnOnce(&ArchiveError) -> bool {
    move |error| matches!(error, ArchiveError::Tree(TreeError::Path { fault: found, .. }) if *found == fault)
}

fn entry_fault(fault: EntryFault) -> impl FnOnce(&ArchiveError) -> bool {
    move |error| matches!(error, ArchiveError::Entry { fault: found, .. } if *found == fault)
}

fn hostile_tar_archives_are_refused() {
    let good = tar_file(b"SKILL.md", b"x");
    assert!(
        stage(&tar_of(std::slice::from_ref(&good)), "").is_ok(),
        "the control"
    );
    for (name, fault) in [
        (&b"../x"[..], TreePathFault::Dots),
        (b"a/../../x", TreePathFault::Dots),
        (b"/etc/x", TreePathFault::Absolute),
        (b"a\\..\\x", TreePathFault::Backslash),
        (b"C:x", TreePathFault::Colon),
        (b"a\nb", TreePathFault::Control),
        (b"a//b", TreePathFault::Empty),
        (b"a/./b", TreePathFault::Dots),
        (b"nul.txt", TreePathFault::Reserved),
        (b"a.", TreePathFault::Trailing),
        (b"\xff", TreePathFault::NotUtf8),
        ("e\u{301}".as_bytes(), TreePathFault::NotNormal),
    ] {
        let archive = tar_of(&[good.clone(), tar_file(name, b"x")]);
        refuses(&String::from_utf8_lossy(name), &archive, path_fault(fault));
    }
    for (first, second) in [
        ("A", "a"),
        ("É", "é"),
        ("x", "x"),
        ("d/x", "D/y"),
        ("d", "d/x"),
    ] {
        let archive = tar_of(&[
            tar_file(first.as_bytes(), b"1"),
            tar_file(second.as_bytes(), b"2"),
        ]);
        let is_twin =
            |error: &ArchiveError| matches!(error, ArchiveError::Tree(TreeError::Twins { .. }));
        refuses(second, &archive, is_twin);
    }
    for kind in [b'1', b'3', b'4', b'6', b'7', b'V', b'Z'] {
        let archive = tar_of(&[good.clone(), tar_link(b"l", kind, "SKILL.md")]);
        refuses(
            &format!("kind {kind}"),
            &archive,
            entry_fault(EntryFault::Kind),
        );
    }
    let sparse = tar_entry(b"s", b'S', 0, b"", |_| {});
    refuses(
        "sparse",
        &tar_of(&[good.clone(), sparse]),
        entry_fault(EntryFault::Sparse),
    );
    let sparse = pax(&[("GNU.sparse.major", "1")]);
    refuses(
        "pax sparse",
        &tar_of(&[sparse, good.clone()]),
        entry_fault(EntryFault::Sparse),
    );
    // CVE-2025-62518: the size of the extended header, and another one in the header.
    let lying = pax(&[("size", "1024")]);
    refuses(
        "sizes",
        &tar_of(&[lying, good.clone()]),
        entry_fault(EntryFault::Disagreement),
    );
    let two = [
        pax(&[("path", "a")]),
        tar_entry(b"", b'L', 1, b"b", |_| {}),
        good.clone(),
    ];
    refuses(
        "two names",
        &tar_of(&two),
        entry_fault(EntryFault::Disagreement),
    );
    let hidden = pax(&[("path", "../x")]);
    refuses(
        "pax path",
        &tar_of(&[hidden, good.clone()]),
        path_fault(TreePathFault::Dots),
    );
    let long = vec![b'a'; 5000];
    let long = tar_entry(b"", b'L', 5000, &long, |_| {});
    refuses(
        "long name",
        &tar_of(&[long, good.clone()]),
        entry_fault(EntryFault::LongName),
    );
    let mut global = pax(&[("path", "x")]);
    global[156] = b'g';
    let mut header = Header::new_ustar();
    header.as_mut_bytes().copy_from_slice(&global[..512]);
    header.set_cksum();
    global[..512].copy_from_slice(header.as_bytes());
    refuses(
        "global path",
        &tar_of(&[global, good.clone()]),
        entry_fault(EntryFault::Disagreement),
    );
    let folder = tar_entry(b"d/", b'5', 1, b"x", |_| {});
    refuses(
        "folder",
        &tar_of(&[good.clone(), folder]),
        entry_fault(EntryFault::FolderContent),
    );
    let mut wrong = good.clone();
    wrong[0] = b'T';
    refuses("checksum", &tar_of(&[wrong]), |error| {
        matches!(error, ArchiveError::Damaged { .. })
    });
    // A size that does not fit into the archive.
    let liar = tar_entry(b"x", b'0', 1 << 20, b"x", |_| {});
    refuses("size", &tar_of(&[liar]), |error| {
        matches!(
            error,
            ArchiveError::Entry {
                fault: EntryFault::Content,
                ..
            }
        )
    });
    // Data after the end: another tar, another gzip member, anything.
    let mut bytes = good.clone();
    bytes.extend([0; 1024]);
    bytes.extend(&good);
    let is_extra = |error: &ArchiveError| matches!(error, ArchiveError::ExtraData);
    refuses("second tar", &gzip(&bytes), is_extra);
    let mut archive = tar_of(std::slice::from_ref(&good));
    archive.extend(tar_of(std::slice::from_ref(&good)));
    refuses("second member", &archive, is_extra);
    let mut archive = tar_of(std::slice::from_ref(&good));
    archive.push(0);
    refuses("one byte", &archive, is_extra);
    refuses("empty", &tar_of(&[]), |error| {
        matches!(error, ArchiveError::Tree(TreeError::Empty))
    });
    let deep = "d/".repeat(20) + "x";
    let is_deep =
        |error: &ArchiveError| matches!(error, ArchiveError::Tree(TreeError::TooDeep { .. }));
    refuses(
        "deep",
        &tar_of(&[good.clone(), tar_file(deep.as_bytes(), b"x")]),
        is_deep,
    );
    // Files of version control are skipped.
    let tree = stage(&tar_of(&[good, tar_file(b".git/config", b"x")]), "")
        .unwrap()
        .unwrap();
    assert_eq!(tree.files.len(), 1);
}

/// One entry of a zip, whose headers may lie.
#[derive(Clone)]
struct ZipEntry {
    name: Vec<u8>,
    local_name: Option<Vec<u8>>,
    flags: u16,
    method: u16,
    mode: u32,
    content: Vec<u8>,
    /// The size in both headers, if it lies.
    size: Option<u32>,
    local_size: Option<u32>,
    crc: Option<u32>,
    extra: Vec<u8>,
    packed: Option<Vec<u8>>,
}

fn zip_entry(name: &str) -> ZipEntry {
    ZipEntry {
        name: name.as_bytes().to_vec(),
        local_name: None,
        flags: 0,
        method: 8,
        mode: 0o100_644,
        content: b"content of a file".to_vec(),
        size: None,
        local_size: None,
        crc: None,
        extra: Vec::new(),
        packed: None,
    }
}

fn zip_of(entries: &[ZipEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let packed = entry.packed.clone().unwrap_or_else(|| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&entry.content).unwrap();
            if entry.method == 0 {
                entry.content.clone()
            } else {
                encoder.finish().unwrap()
            }
        });
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&entry.content);
        let crc = entry.crc.unwrap_or(hasher.finalize());
        let size = entry
            .size
            .unwrap_or(u32::try_from(entry.content.len()).unwrap());
        let offset = u32::try_from(bytes.len()).unwrap();
        let facts = |name: &[u8], size: u32| {
            let mut facts = Vec::new();
            for word in [20, entry.flags, entry.method, 0, 0x21] {
                facts.extend(word.to_le_bytes());
            }
            facts.extend(crc.to_le_bytes());
            facts.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
            facts.extend(size.to_le_bytes());
            facts.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            facts.extend(u16::try_from(entry.extra.len()).unwrap().to_le_bytes());
            facts
        };
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(facts(local_name, entry.local_size.unwrap_or(size)));
        bytes.extend(local_name);
        bytes.extend(&entry.extra);
        bytes.extend(&packed);
        directory.extend(b"PK\x01\x02");
        directory.extend((3_u16 << 8).to_le_bytes());
        directory.extend(facts(&entry.name, size));
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
        directory.extend(&entry.extra);
    }
    finish_zip(bytes, &directory, entries.len())
}

fn finish_zip(mut bytes: Vec<u8>, directory: &[u8], count: usize) -> Vec<u8> {
    let offset = u32::try_from(bytes.len()).unwrap();
    let count = u16::try_from(count).unwrap();
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(u32::try_from(directory.len()).unwrap().to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn hostile_zip_archives_are_refused() {
    let good = zip_entry("SKILL.md");
    let bytes = zip_of(std::slice::from_ref(&good));
    assert!(stage(&bytes, "").is_ok(), "the control");
    for (name, fault) in [
        ("../x", TreePathFault::Dots),
        ("/etc/x", TreePathFault::Absolute),
        ("a\\b", TreePathFault::Backslash),
        ("C:/x", TreePathFault::Colon),
        ("aux", TreePathFault::Reserved),
        ("e\u{301}", TreePathFault::NotNormal),
        ("a\0b", TreePathFault::Control),
    ] {
        let archive = zip_of(&[good.clone(), zip_entry(name)]);
        refuses(name, &archive, path_fault(fault));
    }
    let twins = zip_of(&[zip_entry("readme"), zip_entry("README")]);
    refuses("twins", &twins, |error| {
        matches!(error, ArchiveError::Tree(TreeError::Twins { .. }))
    });
    let change = |change: &dyn Fn(&mut ZipEntry)| {
        let mut entry = zip_entry("x");
        change(&mut entry);
        zip_of(&[good.clone(), entry])
    };
    let cases: [(&str, Vec<u8>, EntryFault); 14] = [
        (
            "encrypted",
            change(&|entry| entry.flags = 1),
            EntryFault::Encrypted,
        ),
        (
            "strong",
            change(&|entry| entry.flags = 1 << 6),
            EntryFault::Encrypted,
        ),
        (
            "aes",
            change(&|entry| entry.extra = vec![0x01, 0x99, 0, 0]),
            EntryFault::Encrypted,
        ),
        (
            "method",
            change(&|entry| entry.method = 12),
            EntryFault::Method,
        ),
        (
            "names",
            change(&|entry| entry.local_name = Some(b"y".to_vec())),
            EntryFault::Disagreement,
        ),
        (
            "local size",
            change(&|entry| entry.local_size = Some(1)),
            EntryFault::Disagreement,
        ),
        (
            "too small",
            change(&|entry| entry.size = Some(3)),
            EntryFault::Content,
        ),
        (
            "too large",
            change(&|entry| entry.size = Some(3000)),
            EntryFault::Content,
        ),
        (
            "checksum",
            change(&|entry| entry.crc = Some(1)),
            EntryFault::Content,
        ),
        (
            "zip64 without field",
            change(&|entry| entry.size = Some(u32::MAX)),
            EntryFault::Content,
        ),
        (
            "other name",
            change(&|entry| entry.extra = b"\x75\x70\x06\x00\x01....y".to_vec()),
            EntryFault::Disagreement,
        ),
        (
            "device",
            change(&|entry| entry.mode = 0o020_644),
            EntryFault::Kind,
        ),
        (
            "fifo",
            change(&|entry| entry.mode = 0o010_644),
            EntryFault::Kind,
        ),
        (
            "data after deflate",
            change(&|entry| {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&entry.content).unwrap();
                let mut packed = encoder.finish().unwrap();
                packed.extend(b"hidden");
                entry.packed = Some(packed);
            }),
            EntryFault::Content,
        ),
    ];
    for (name, archive, fault) in cases {
        refuses(name, &archive, entry_fault(fault));
    }
    let mut folder = zip_entry("d/");
    folder.mode = 0o040_755;
    refuses(
        "folder",
        &zip_of(&[good.clone(), folder]),
        entry_fault(EntryFault::FolderContent),
    );
    // A size of 64 bits that lies.
    let mut large = zip_entry("x");
    large.size = Some(u32::MAX);
    large.extra = [&b"\x01\x00\x08\x00"[..], &(1_u64 << 40).to_le_bytes()].concat();
    refuses("zip64", &zip_of(&[large]), |error| {
        matches!(
            error,
            ArchiveError::TooLarge { .. } | ArchiveError::Ratio { .. }
        )
    });
    let is_extra = |error: &ArchiveError| matches!(error, ArchiveError::ExtraData);
    let mut before = b"PK".to_vec();
    before.extend(&bytes);
    refuses("before", &before, is_extra);
    let mut after = bytes.clone();
    after.push(b'x');
    refuses("after", &after, is_extra);
    // An entry that the directory does not list.
    let two = zip_of(&[good.clone(), zip_entry("hidden")]);
    let directory_start = two
        .windows(4)
        .position(|window| window == b"PK\x01\x02")
        .unwrap();
    let first_end = two[directory_start + 4..]
        .windows(4)
        .position(|window| window == b"PK\x01\x02")
        .unwrap();
    let directory = two[directory_start..directory_start + 4 + first_end].to_vec();
    refuses(
        "unlisted",
        &finish_zip(two[..directory_start].to_vec(), &directory, 1),
        is_extra,
    );
    // Two entries with the same content.
    let one = zip_of(std::slice::from_ref(&good));
    let start = one
        .windows(4)
        .position(|window| window == b"PK\x01\x02")
        .unwrap();
    let first = one[start..one.len() - 22].to_vec();
    let overlap = finish_zip(one[..start].to_vec(), &[first.clone(), first].concat(), 2);
    refuses("overlap", &overlap, |error| {
        matches!(
            error,
            ArchiveError::Entry {
                fault: EntryFault::Disagreement,
                ..
            }
        )
    });
    refuses("nothing", b"PK\x05\x06", |error| {
        matches!(error, ArchiveError::Damaged { .. })
    });
    refuses("no archive", b"<html>", |error| {
        matches!(error, ArchiveError::NotArchive)
    });
}

fn bombs_are_refused() {
    let zeros = vec![0; 8 * 1024 * 1024];
    let bomb = tar_of(&[tar_file(b"SKILL.md", &zeros)]);
    assert!(bomb.len() < 64 * 1024);
    let is_ratio = |error: &ArchiveError| matches!(error, ArchiveError::Ratio { .. });
    refuses("tar", &bomb, is_ratio);
    let mut entry = zip_entry("SKILL.md");
    entry.content = zeros;
    refuses("zip", &zip_of(&[entry]), is_ratio);
    let limits = ArchiveLimits {
        entries: 3,
        compressed: 10_000,
        total: 100,
        ..ArchiveLimits::default()
    };
    let many: Vec<Vec<u8>> = (0..4)
        .map(|number| tar_file(format!("f{number}").as_bytes(), b"x"))
        .collect();
    let is_large = |error: &ArchiveError| matches!(error, ArchiveError::TooLarge { .. });
    let within = |archive: &[u8]| stage_within(archive, "", limits);
    assert!(within(&tar_of(&many)).is_err_and(|error| is_large(&error)));
    assert!(within(&tar_of(&many[..3])).is_ok());
    let zips: Vec<ZipEntry> = (0..4)
        .map(|number| zip_entry(&format!("f{number}")))
        .collect();
    assert!(within(&zip_of(&zips)).is_err_and(|error| is_large(&error)));
    assert!(within(&zip_of(&zips[..3])).is_ok());
    assert!(within(&tar_of(&[tar_file(b"x", &[7; 101])])).is_err_and(|error| is_large(&error)));
    assert!(within(&[0; 10_001]).is_err_and(|error| is_large(&error)));
}

fn links_of_archives_follow_the_rules_of_git() {
    let file = tar_file(b"top/common/terms.md", b"terms");
    let skill = tar_file(b"top/pdf/SKILL.md", b"x");
    let tree = |link: Vec<u8>| stage(&tar_of(&[file.clone(), skill.clone(), link]), "pdf");
    let copied = tree(tar_link(b"top/pdf/t", b'2', "../common/terms.md"))
        .unwrap()
        .unwrap();
    assert_eq!(copied.files[1].from.as_deref(), Some("common/terms.md"));
    let kept = tree(tar_link(b"top/pdf/t", b'2', "SKILL.md"))
        .unwrap()
        .unwrap();
    assert_eq!(kept.files[1].from, None);
    for target in ["/etc/passwd", "../../../x", "gone", "t"] {
        let refused = tree(tar_link(b"top/pdf/t", b'2', target));
        assert!(
            matches!(refused, Err(ArchiveError::Tree(TreeError::Link { .. }))),
            "{target}"
        );
    }
    // A file below a link.
    let below = [tar_link(b"d", b'2', "/tmp"), tar_file(b"d/x", b"x")];
    refuses("below a link", &tar_of(&below), |error| {
        matches!(error, ArchiveError::Tree(TreeError::Twins { .. }))
    });
    let mut link = zip_entry("l");
    link.mode = 0o120_777;
    link.content = b"../../etc/passwd".to_vec();
    refuses(
        "zip link",
        &zip_of(&[zip_entry("SKILL.md"), link]),
        |error| matches!(error, ArchiveError::Tree(TreeError::Link { .. })),
    );
}

fn every_truncation_is_refused() {
    let archives = [
        zip_of(&[zip_entry("SKILL.md"), zip_entry("a/b")]),
        tar_of(&[tar_file(b"SKILL.md", b"x"), tar_file(b"a/b", b"y")]),
    ];
    for archive in archives {
        for length in 0..archive.len() {
            assert!(stage(&archive[..length], "").is_err(), "{length}");
        }
        // One changed byte gives the same files, or an error, and never a panic.
        for place in 0..archive.len() {
            let mut changed = archive.clone();
            changed[place] ^= 0x40;
            let _ = stage(&changed, "");
        }
    }
}
