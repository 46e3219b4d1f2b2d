//! Options that hide behind others, and words that do more than they seem to.

mod tables;

#[test]
fn code_in_clusters() {
    tables::asked(&[
        ("Bash(perl:*)", "perl -le 'system q(touch pwned)'"),
        ("Bash(perl:*)", "perl -lne x"),
        ("Bash(perl:*)", "perl -00e x"),
        ("Bash(perl:*)", "perl -0777ne x"),
        ("Bash(perl:*)", "perl -wle x"),
        ("Bash(perl:*)", "perl -l012e x"),
        ("Bash(perl:*)", "perl -0e x"),
        ("Bash(ruby:*)", "ruby -0e x"),
        ("Bash(ruby:*)", "ruby -W0e x"),
        ("Bash(ruby:*)", "ruby -Kue x"),
        ("Bash(ruby:*)", "ruby -T1e x"),
        ("Bash(tar:*)", "tar -xkI ./ev -f a.tar"),
        ("Bash(tar:*)", "tar -xsI ./ev -f a.tar"),
        ("Bash(tar:*)", "tar -xkPf a.tar"),
        ("Bash(tar:*)", "tar -xsPf a.tar"),
    ]);
}

#[test]
fn assignments_of_make() {
    tables::asked(&[
        ("Bash(make:*)", "make 'a-b:=$(shell touch pwned)'"),
        ("Bash(make:*)", "make 'a/b:=$(shell touch pwned)'"),
        ("Bash(make:*)", "make '$(shell touch pwned)=x'"),
        ("Bash(make:*)", "make 'a-b!=touch pwned'"),
        ("Bash(make:*)", "make S*"),
        ("Bash(just:*)", "just a-b=c all"),
    ]);
}

#[test]
fn lines_of_awk() {
    tables::asked(&[
        ("Bash(awk:*)", "awk 'BEGIN{print \"a\",\n\"b\" > \"pwned\"}'"),
        ("Bash(awk:*)", "awk 'BEGIN{print 1 &&\n2 > \"pwned\"}'"),
        ("Bash(awk:*)", "awk 'BEGIN{print 1 ||\n\n2 > \"pwned\"}'"),
        ("Bash(awk:*)", "awk 'BEGIN{print \"a\", # x\n\"b\" > \"pwned\"}'"),
        ("Bash(awk:*)", "awk 'BEGIN{print \"a\" \\\n > \"pwned\"}'"),
        ("Bash(awk:*)", "awk '{ if (x) /\"/; print > \"a\"; y = \"/\" }'"),
    ]);
}

#[test]
fn options_behind_options() {
    tables::asked(&[
        ("Bash(git:*)", "git diff -U --output=pwned"),
        ("Bash(git:*)", "git log --unified --output=pwned"),
        ("Bash(git:*)", "git show -U --output=pwned"),
        ("Bash(git:*)", "git diff -U --ext-diff"),
        ("Bash(git:*)", "git diff -U --textconv"),
        ("Bash(git:*)", "git diff -U -Ox"),
        ("Bash(git:*)", "git format-patch -n --output=pwned HEAD~1"),
        ("Bash(git:*)", "git format-patch -n -o pwned HEAD~1"),
        ("Bash(git:*)", "git format-patch -U -o pwned HEAD~1"),
        ("Bash(git:*)", "git config core.pager evil --get"),
        ("Bash(git:*)", "git config core.pager evil -l"),
        ("Bash(git:*)", "git config core.pager --get"),
        ("Bash(git:*)", "git log -n --output=pwned"),
        ("Bash(go:*)", "go test -cover -exec ./ev ./..."),
        ("Bash(go:*)", "go test -cover -toolexec=./ev ./..."),
        ("Bash(go:*)", "go test -run -exec ./ev"),
        ("Bash(tar:*)", "tar -x --suffix -I ./ev -f a.tar"),
    ]);
}

#[test]
fn interpreters() {
    tables::asked(&[
        ("Bash(node:*)", "node --experimental_loader=./e.mjs x.js"),
        ("Bash(node:*)", "node --cpu_prof --cpu_prof_name=pwned x.js"),
        ("Bash(node:*)", "node --inspect_brk=0 x.js"),
        ("Bash(node:*)", "node --env_file=x x.js"),
        ("Bash(node:*)", "node --redirect_warnings=x x.js"),
        ("Bash(node:*)", "node --heap_prof x.js"),
        ("Bash(node:*)", "node --test-reporter-destination=x --test"),
        ("Bash(sqlite3:*)", "sqlite3 a.db '.sh touch pwned'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db '.sy touch pwned'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db '.o pwned'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db '.ou pwned'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db '.on pwned'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db 'select 1;\n.sh x'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db"),
        ("Bash(sqlite3:*)", "sqlite3 a.db 'vacuum  into \"pwned\"'"),
        ("Bash(sqlite3:*)", "sqlite3 a.db 'vacuum\ninto \"pwned\"'"),
        ("Bash(psql:*)", "psql mydb"),
        ("Bash(psql:*)", "psql"),
        ("Bash(mysql:*)", "mysql mydb"),
        ("Bash(python3:*)", "python3 /dev/./stdin"),
        ("Bash(python3:*)", "python3 //dev//stdin"),
        ("Bash(sdiff:*)", "sdiff -o pwned a b"),
        ("Bash(sdiff:*)", "sdiff --diff-program=./x a b"),
        ("Bash(diff3:*)", "diff3 --diff-program ./x a b c"),
    ]);
}
