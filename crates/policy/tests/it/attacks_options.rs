//! Options that hide after others, and words that do more than they seem to.

use crate::tables;

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
        ("Bash(scp:*)", "scp -BS ./ev a b"),
        ("Bash(unzip:*)", "unzip -o: x"),
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
        (
            "Bash(awk:*)",
            "awk 'BEGIN{print \"a\",\n\"b\" > \"pwned\"}'",
        ),
        ("Bash(awk:*)", "awk 'BEGIN{print 1 &&\n2 > \"pwned\"}'"),
        ("Bash(awk:*)", "awk 'BEGIN{print 1 ||\n\n2 > \"pwned\"}'"),
        (
            "Bash(awk:*)",
            "awk 'BEGIN{print \"a\", # x\n\"b\" > \"pwned\"}'",
        ),
        ("Bash(awk:*)", "awk 'BEGIN{print \"a\" \\\n > \"pwned\"}'"),
        (
            "Bash(awk:*)",
            "awk '{ if (x) /\"/; print > \"a\"; y = \"/\" }'",
        ),
    ]);
}

#[test]
fn options_after_options() {
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
        ("Bash(xargs:*)", "xargs -I -n touch"),
        ("Bash(xargs:*)", "xargs -E -n touch pwned"),
        ("Bash(awk:*)", "awk -F - 'BEGIN { system(\"x\") }'"),
        ("Bash(awk:*)", "awk -F -v 'BEGIN { system(\"x\") }'"),
        ("Bash(uniq:*)", "uniq -w -f a b"),
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
        (
            "Bash(sqlite3:*)",
            "sqlite3 a.db \"vacuum main into 'pwned'\"",
        ),
        (
            "Bash(duckdb:*)",
            "duckdb a.db \"copy(select 1) to 'pwned'\"",
        ),
        ("Bash(redis-cli:*)", "redis-cli --rdb pwned"),
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

#[test]
fn addresses_and_files() {
    tables::asked(&[
        ("Bash(curl:*)", "curl --url file:///etc/x"),
        ("Bash(curl:*)", "curl --url=file:///etc/x"),
        ("Bash(curl:*)", "curl 'fil{e}:/etc/x'"),
        ("Bash(curl:*)", "curl '[f-f]ile:///etc/x'"),
        ("Bash(curl:*)", "curl FILE:/etc/x"),
        ("Bash(curl:*)", "curl FILE:///etc/x"),
        ("Bash(curl:*)", "curl --etag-compare x https://y"),
        ("Bash(curl:*)", "curl --proxy1.0 x https://y"),
        ("Bash(curl:*)", "curl --proxy-cert x https://y"),
        ("Bash(curl:*)", "curl --proxy-key x https://y"),
        ("Bash(curl:*)", "curl --ipfs-gateway x https://y"),
        ("Bash(curl:*)", "curl --expand-output x https://y"),
        ("Bash(curl:*)", "curl --expand-form x https://y"),
        ("Bash(tclsh:*)", "tclsh -h"),
        ("Bash(tclsh:*)", "tclsh -v"),
        ("Bash(tclsh:*)", "tclsh --version"),
        ("Bash(tclsh:*)", "tclsh"),
        ("Bash(jq:*)", "jq --library-path x ."),
        ("Bash(jq:*)", "jq --argfile a x ."),
        ("Bash(kubectl:*)", "kubectl get x -o go-template-file=/x"),
        ("Bash(kubectl:*)", "kubectl get x -ojsonpath-file=/x"),
        ("Bash(kubectl:*)", "kubectl get x --profile-output=/x"),
        ("Bash(kubectl:*)", "kubectl get x --kuberc=/x"),
        ("Bash(cargo:*)", "cargo build --target ../evil.json"),
        ("Bash(cargo:*)", "cargo nextest run --config-file /x"),
        ("Bash(gh:*)", "gh pr view -cw 1"),
        ("Bash(npm:*)", "npm pack --pack-destination=/x"),
        ("Bash(npm:*)", "npm pack https://x"),
        ("Bash(npm:*)", "npm --otp test publish"),
    ]);
}

#[test]
fn git() {
    tables::asked(&[
        ("Bash(git:*)", "git annotate --contents=/etc/x f"),
        ("Bash(git:*)", "git merge -F /etc/passwd y"),
        ("Bash(git:*)", "git add -u -e"),
        ("Bash(git:*)", "git branch -t --edit-description"),
        ("Bash(git:*)", "git commit -e"),
        ("Bash(git:*)", "git tag -e v"),
        ("Bash(git:*)", "git notes edit"),
    ]);
}

#[test]
fn others() {
    tables::asked(&[
        ("Bash(cmake:*)", "cmake -L -P x"),
        ("Bash(cmake:*)", "cmake -L -E touch x"),
        ("Bash(cmake:*)", "cmake --parallel -P x"),
        ("Bash(ctest:*)", "ctest -S x"),
        ("Bash(fzf:*)", "fzf --preview 'touch pwned'"),
        ("Bash(fzf:*)", "fzf --bind 'start:execute(touch pwned)'"),
        ("Bash(hg:*)", "hg --config alias.x='!touch pwned' x"),
        ("Bash(hg:*)", "hg -R x log"),
        ("Bash(svn:*)", "svn diff --diff-cmd ./x"),
        ("Bash(svn:*)", "svn commit --editor-cmd=./x"),
        ("Bash(svn:*)", "svn log --config-option=a:b:c=d"),
        ("Bash(rename:*)", "rename 's/a/system(1)/e' x"),
        ("Bash(prename:*)", "prename x y"),
        ("Bash(ccache:*)", "ccache touch pwned"),
        ("Bash(cpulimit:*)", "cpulimit -l 5 touch pwned"),
        ("Bash(chronic:*)", "chronic touch pwned"),
        ("Bash(ifne:*)", "ifne touch pwned"),
        ("Bash(pee:*)", "pee 'touch pwned'"),
        ("Bash(mispipe:*)", "mispipe 'touch pwned' x"),
        ("Bash(zrun:*)", "zrun touch pwned"),
        ("Bash(msgfilter:*)", "msgfilter -i x touch pwned"),
        ("Bash(nm:*)", "nm --plugin ./x.so y"),
        ("Bash(ldd:*)", "ldd ./x"),
        ("Bash(runc:*)", "runc run x"),
        ("Bash(ctr:*)", "ctr run x y"),
        ("Bash(dc:*)", "dc -f x"),
        ("Bash(m4:*)", "m4 x"),
    ]);
}

#[test]
fn denied_programs_are_found_inside_words() {
    let mut gate = prowess_policy::Gate::default();
    gate.rules.add(
        prowess_policy::Effect::Allow,
        "Bash",
        prowess_policy::RuleSource::Flag,
    );
    gate.rules.add(
        prowess_policy::Effect::Deny,
        "Bash(rm:*)",
        prowess_policy::RuleSource::Flag,
    );
    let decide = |text| {
        let action = prowess_policy::GateAction::Command { text };
        gate.decide(&action, &prowess_policy::Actor::default())
            .verdict
    };
    for command in [
        "tar cf a --checkpoint-action=exec='rm x' b",
        "ssh -o ProxyCommand='rm x' h",
        "rsync -e 'rm x' a b",
        "man -P 'rm x' ls",
        "rg --pre rm x",
        "zip a b -T -TT 'rm x'",
        "git grep -O'rm x' y",
        "mapfile -C 'rm x'",
        "complete -C 'rm x' y",
        "git -c alias.x='!rm x' x",
        "git -c core.pager='rm x' log",
        "git -c core.sshCommand='rm x' fetch",
        "git config alias.x '!rm x'",
        "poetry run rm x",
        "pipenv run rm x",
        "bwrap --ro-bind / / --dev /dev --proc /proc rm x",
        "cpulimit -l 5 rm x",
        "setsid -c rm x",
        "let 'a[$(rm x)]=1'",
        "test -v 'a[$(rm x)]'",
        "printf -v 'a[$(rm x)]' y",
        "read 'a[$(rm x)]'",
        "declare 'a[$(rm x)]=1'",
        "unset 'a[$(rm x)]'",
        "eval 'a;' rm x",
    ] {
        assert_eq!(decide(command), prowess_policy::Verdict::Deny, "{command}");
    }
    for command in [
        "git -c user.name=\"O'Brien\" log",
        "git config user.name \"O'Brien\"",
    ] {
        assert_ne!(decide(command), prowess_policy::Verdict::Deny, "{command}");
    }
}

/// Options that the table did not know (audit L2).
#[test]
fn options_that_take_code() {
    tables::asked(&[
        (
            "Bash(python3:*)",
            "python3 --check-hash-based-pycs always -c x",
        ),
        ("Bash(python3:*)", "python3 --strange x -c y"),
        ("Bash(python3:*)", "python3 --strange x -m y"),
        ("Bash(python3:*)", "python3 -u --strange x -c y"),
        ("Bash(node:*)", "node --strange x -e y"),
        ("Bash(node:*)", "node --strange x --import ./y z.js"),
        ("Bash(ruby:*)", "ruby --strange x -e y"),
        ("Bash(perl:*)", "perl --strange x -e y"),
        ("Bash(php:*)", "php --strange x -r y"),
        ("Bash(lua:*)", "lua --strange x -e y"),
        ("Bash(eslint:*)", "eslint -c x.js src"),
        ("Bash(eslint:*)", "eslint --config x.js src"),
        ("Bash(eslint:*)", "eslint -c /tmp/eslint.config.js src"),
        ("Bash(eslint:*)", "eslint -f ./x.js src"),
        ("Bash(eslint:*)", "eslint --parser ./x.js src"),
        ("Bash(jest:*)", "jest -c x.js"),
        ("Bash(jest:*)", "jest -cx.js"),
        ("Bash(jest:*)", "jest --config=../jest.config.js"),
        ("Bash(jest:*)", "jest --resolver ./x.js"),
        ("Bash(mocha:*)", "mocha -r x.js"),
        ("Bash(mocha:*)", "mocha -rx.js"),
        ("Bash(mocha:*)", "mocha -R ./x.js"),
        ("Bash(mocha:*)", "mocha --file x.js"),
        ("Bash(webpack:*)", "webpack -c x.js"),
        ("Bash(vite:*)", "vite build -c x.js"),
        ("Bash(rollup:*)", "rollup -c x.js"),
        ("Bash(rollup:*)", "rollup -p ./x.js"),
        ("Bash(vitest:*)", "vitest -c x.ts"),
        ("Bash(vitest:*)", "vitest run -r /tmp/x"),
        ("Bash(playwright:*)", "playwright test -c x.ts"),
        ("Bash(cypress:*)", "cypress run -C x.js"),
        ("Bash(rubocop:*)", "rubocop -r ./x"),
        ("Bash(rubocop:*)", "rubocop -c /tmp/x.yml"),
        ("Bash(rspec:*)", "rspec -r ./x"),
        ("Bash(rspec:*)", "rspec -I /tmp/x"),
        ("Bash(rspec:*)", "rspec -O /tmp/x"),
        ("Bash(phpunit:*)", "phpunit -c /tmp/x.xml"),
        ("Bash(tslint:*)", "tslint -r ./rules src"),
        ("Bash(tslint:*)", "tslint -c /tmp/x.json src"),
        ("Bash(meson:*)", "meson test --wrapper=x"),
        ("Bash(meson:*)", "meson test --wrap x"),
        ("Bash(meson:*)", "meson test --gdb-path=x"),
        ("Bash(cmake:*)", "cmake --build . -- SHELL=x"),
        ("Bash(cmake:*)", "cmake --build . -- -f x"),
        ("Bash(cmake:*)", "cmake --build . -- --eval=x"),
        ("Bash(clang-tidy:*)", "clang-tidy -load=x y.c"),
        ("Bash(clang-tidy:*)", "clang-tidy --load x y.c"),
        ("Bash(clang-tidy:*)", "clang-tidy -load x y.c"),
        ("Bash(clang-tidy:*)", "clang-tidy -extra-arg=-Xclang y.c"),
        ("Bash(clang-tidy:*)", "clang-tidy -p /tmp/x y.c"),
        ("Bash(pytest:*)", "pytest /elsewhere"),
        ("Bash(pytest:*)", "pytest ../elsewhere"),
        ("Bash(tsc:*)", "tsc -p /elsewhere"),
        ("Bash(tsc:*)", "tsc -p../elsewhere"),
        ("Bash(tsc:*)", "tsc -b /elsewhere"),
        ("Bash(tsc:*)", "tsc --build /elsewhere"),
        ("Bash(eslint:*)", "eslint /elsewhere"),
        ("Bash(jest:*)", "jest --rootDir /elsewhere"),
    ]);
}

#[test]
fn ordinary_options_stay_allowed() {
    tables::allowed(&[
        (&["Bash(python3:*)"], "python3 -u -B tool.py -c conf"),
        (&["Bash(python3:*)"], "python3 -W ignore tool.py -c conf"),
        (&["Bash(python3:*)"], "python3 -OO tool.py"),
        (
            &["Bash(python3:*)"],
            "python3 --check-hash-based-pycs always tool.py -c conf",
        ),
        (&["Bash(node:*)"], "node --no-warnings tool.js -e x"),
        (&["Bash(node:*)"], "node --trace-warnings tool.js -r x"),
        (&["Bash(node:*)"], "node --harmony tool.js"),
        (&["Bash(ruby:*)"], "ruby -w tool.rb -e x"),
        (&["Bash(perl:*)"], "perl -w tool.pl -e x"),
        (&["Bash(eslint:*)"], "eslint -c eslint.config.js src"),
        (&["Bash(eslint:*)"], "eslint -c .eslintrc.json src"),
        (&["Bash(eslint:*)"], "eslint -f json src"),
        (&["Bash(jest:*)"], "jest -c jest.config.js"),
        (&["Bash(jest:*)"], "jest --config jest.e2e.config.ts"),
        (&["Bash(mocha:*)"], "mocha -c -R dot test"),
        (&["Bash(webpack:*)"], "webpack -c webpack.config.js"),
        (&["Bash(vite:*)"], "vite build -c vite.config.ts"),
        (&["Bash(rollup:*)"], "rollup -c"),
        (&["Bash(vitest:*)"], "vitest run -t name"),
        (&["Bash(rspec:*)"], "rspec -c -f d spec"),
        (&["Bash(tsc:*)"], "tsc -p tsconfig.build.json"),
        (&["Bash(tsc:*)"], "tsc -b packages/a"),
        (&["Bash(mypy:*)"], "mypy --config-file mypy.ini src"),
        (&["Bash(meson:*)"], "meson test -C build"),
        (&["Bash(cmake:*)"], "cmake --build build -- -j4"),
        (&["Bash(clang-tidy:*)"], "clang-tidy -p build x.c"),
        (
            &["Bash(clang-tidy:*)"],
            "clang-tidy -checks=x src/x.c -- -Iinclude",
        ),
        (&["Bash(clang-format:*)"], "clang-format -i src/x.c"),
        (&["Bash(pytest:*)"], "pytest -q tests/unit"),
    ]);
}
