//! Speed of scanning, compared with the size of the text.

use divan::Bencher;
use divan::counter::BytesCount;
use prowess_scan::{ScanContent, ScanFile, SkillScanner};

fn main() {
    divan::main();
}

/// An ordinary skill: prose, a table and code, without findings.
fn ordinary() -> String {
    let part = "Read the report and compare the totals with those of the last month.\n\n\
        | column | meaning |\n|---|---|\n| total | the sum of all rows |\n\n\
        ```bash\npython3 scripts/report.py --month 2026-01 --out report.csv\n```\n\n\
        - Check the password policy of the archive before you extract the data.\n";
    format!(
        "---\nname: report\ndescription: Writes reports.\n---\n{}",
        part.repeat(30)
    )
}

#[divan::bench]
fn ordinary_skill(bencher: Bencher<'_, '_>) {
    let text = ordinary();
    let parsed = prowess_spec::parse(text.as_bytes());
    let scanner = SkillScanner::new(Some(&parsed));
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        scanner.file(&ScanFile {
            path: "SKILL.md",
            content: ScanContent::Text(&text),
            executable: false,
            is_main: true,
        })
    });
}
