//! Patterns where a program expects its program text, its options or a subcommand (audit M6). A file
//! with a matching name would decide what runs.

use crate::tables;

#[test]
fn patterns_as_program_text() {
    tables::asked(&[
        ("Bash(awk:*)", "awk B* f"),
        ("Bash(awk:*)", "awk -v n=1 B* f"),
        ("Bash(awk:*)", "awk -F , B? f"),
        // The value may become two words, and the second one is the program.
        ("Bash(awk:*)", "awk -F x* '{print}' f"),
        ("Bash(awk:*)", "awk -v x* '{print}' f"),
        ("Bash(gawk:*)", "gawk -e B* f"),
        ("Bash(sed:*)", "sed s* f"),
        ("Bash(sed:*)", "sed -e s* f"),
        ("Bash(sed:*)", "sed -l x* p f"),
        ("Bash(sqlite3:*)", "sqlite3 x.db s*"),
        ("Bash(sqlite3:*)", "sqlite3 x* 'select 1'"),
        ("Bash(sqlite3:*)", "sqlite3 -separator x* x.db 'select 1'"),
        ("Bash(psql:*)", "psql -l m*"),
        ("Bash(redis-cli:*)", "redis-cli e*"),
        ("Bash(jq:*)", "jq e* f"),
        ("Bash(jq:*)", "jq --arg a x* . f"),
        ("Bash(yq:*)", "yq l* f"),
        ("Bash(perl:*)", "perl -e p*"),
        ("Bash(python3:*)", "python3 -c p*"),
        ("Bash(python3:*)", "python3 -X p* x.py"),
        ("Bash(node:*)", "node i*"),
        ("Bash(find:*)", "find . -exec r* ';'"),
        ("Bash(xargs:*)", "xargs r*"),
        ("Bash(env:*)", "env r*"),
        ("Bash(timeout:*)", "timeout 5 r*"),
        ("Bash(eval:*)", "eval r*"),
        ("Bash(sh:*)", "sh -c r*"),
    ]);
}

#[test]
fn patterns_as_options() {
    tables::asked(&[
        ("Bash(tar:*)", "tar c* f"),
        ("Bash(tar:*)", "tar c?f x"),
        ("Bash(ar:*)", "ar q* x"),
        ("Bash(make:*)", "make S*"),
        ("Bash(make:*)", "make -o x* all"),
        ("Bash(just:*)", "just a*"),
        ("Bash(dd:*)", "dd o*"),
        ("Bash(sysctl:*)", "sysctl k*"),
        ("Bash(rustc:*)", "rustc -C l* x.rs"),
        ("Bash(cmake:*)", "cmake -D C* ."),
        ("Bash(pytest:*)", "pytest -p x* tests"),
        ("Bash(pandoc:*)", "pandoc -t x* y"),
    ]);
}

#[test]
fn patterns_as_subcommands() {
    tables::asked(&[
        ("Bash(git:*)", "git p*"),
        ("Bash(git:*)", "git s?ow x"),
        ("Bash(git:*)", "git -C s* status"),
        ("Bash(git:*)", "git worktree l*"),
        ("Bash(git:*)", "git bisect r*"),
        ("Bash(git:*)", "git notes e*"),
        ("Bash(git:*)", "git reflog e*"),
        ("Bash(git:*)", "git config c*"),
        ("Bash(git:*)", "git config --type x* a.b"),
        ("Bash(git:*)", "git stash p*"),
        ("Bash(git:*)", "git fetch e*"),
        ("Bash(git:*)", "git push origin x*"),
        ("Bash(hg:*)", "hg s*"),
        ("Bash(svn:*)", "svn s*"),
        ("Bash(cargo:*)", "cargo b*"),
        ("Bash(cargo:*)", "cargo -p x* build"),
        ("Bash(npm:*)", "npm config s*"),
        ("Bash(npm:*)", "npm t*"),
        ("Bash(docker:*)", "docker p*"),
        ("Bash(kubectl:*)", "kubectl -n x* get pods"),
        ("Bash(gh:*)", "gh pr l*"),
        ("Bash(aws:*)", "aws s3 r*"),
        ("Bash(ip:*)", "ip link s*"),
        ("Bash(7z:*)", "7z x*"),
        ("Bash(systemctl:*)", "systemctl s*"),
        ("Bash(openssl:*)", "openssl v*"),
        ("Bash(pip:*)", "pip l*"),
    ]);
}

#[test]
fn patterns_for_files_are_allowed() {
    tables::allowed(&[
        (&["Bash(awk:*)"], "awk '{print $1}' src/*.txt"),
        (&["Bash(awk:*)"], "awk -F, '{print $1}' a*.csv"),
        (&["Bash(gawk:*)"], "gawk -e '{print $1}' a*.csv"),
        (&["Bash(awk -f prog.awk:*)"], "awk -f prog.awk a*.csv"),
        (&["Bash(sed:*)"], "sed -n 1,5p src/*.rs"),
        (&["Bash(sed:*)"], "sed -e s/a/b/ src/*.rs"),
        (&["Bash(jq:*)"], "jq -r .name data/*.json"),
        (&["Bash(yq:*)"], "yq .name data/*.yaml"),
        (&["Bash(tar:*)"], "tar czf x.tgz src/*.rs"),
        (&["Bash(tar:*)"], "tar -czf x.tgz src/*.rs"),
        (&["Bash(ar:*)"], "ar t lib*.a"),
        (&["Bash(git:*)"], "git add src/*.rs"),
        (&["Bash(git:*)"], "git diff HEAD -- src/*.rs"),
        (&["Bash(git:*)"], "git log --oneline -- docs/*.md"),
        (&["Bash(grep:*)"], "grep -n x src/*.rs"),
        (&["Bash(cat:*)"], "cat src/*.rs"),
        (&["Bash(ls:*)"], "ls src/*.rs"),
        (&["Bash(wc:*)"], "wc -l src/*.rs"),
        (&["Bash(sort:*)"], "sort data/*.txt"),
        (&["Bash(find:*)"], "find src/* -name x"),
        (&["Bash(rustfmt:*)"], "rustfmt --check src/*.rs"),
        (&["Bash(eslint:*)"], "eslint src/*.ts"),
        (&["Bash(pytest:*)"], "pytest tests/test_*.py"),
        (&["Bash(python3:*)"], "python3 tool.py data/*.json"),
        (&["Bash(node:*)"], "node tool.js data/*.json"),
        (&["Bash(gcc:*)"], "gcc -O2 -o x src/*.c"),
        (&["Bash(go:*)"], "go test ./pkg/*"),
        (&["Bash(cargo:*)"], "cargo run -- data/*.json"),
        (&["Bash(unzip:*)"], "unzip -l a*.zip"),
        (&["Bash(7z:*)"], "7z l a*.7z"),
    ]);
}
