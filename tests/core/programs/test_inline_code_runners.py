"""Ask about code that runners, profilers and version control get as words, or keep for later."""

import shlex
from dataclasses import replace
from time import process_time

import pytest

from core.model.decision import Decision
from core.model.policy import ExecPolicy, Trust
from core.policy.judge.evaluate import evaluate
from core.programs.inline_code import commands_started, inline_of, is_starter
from core.programs.started import Start, names_started
from tests.support.plans import LISTED, command, listed, plan_of

_LONG_S = 0.3
CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
STRICT = replace(LISTED, trust=Trust.STRICT)
CODE = r"""
awk -W posix 'BEGIN{system("id")}'
awk -Wposix 'BEGIN{system("id")}'
gawk -W source='BEGIN{system("id")}'
gawk -Wso 'BEGIN{system("id")}'
mawk -W interactive 'BEGIN{system("id")}'
mawk -Wi 'BEGIN{system("id")}'
mawk -W sprintf=9 'BEGIN{system("id")}'
git difftool -y --tool=../../../../tmp/x HEAD~1
git difftool -yt ../../x HEAD~1
git difftool --to ../../x
git mergetool -t../x
git hook run ../../x
git init --template=./x
git config core.pager ./x
git config --global core.editor ./x
git config --add core.sshCommand id
git config --replace-all core.hooksPath x
git config set core.fsmonitor ./x
git config -f .git/config diff.external id
git config filter.x.clean id
git config credential.helper '!id'
git config credential.https://h.helper /x
git config submodule.x.update '!id'
git config include.path ../x
git config INCLUDEIF.gitdir:x.path ../x
git config init.templateDir x
git config remote.origin.uploadpack id
git config protocol.ext.allow always
git config gpg.ssh.defaultKeyCommand id
git config mergetool.x.cmd id
git-submodule foreach id
git-rebase -x id HEAD~1
git-difftool -x id
git-grep -Oid x
/usr/lib/git-core/git-bisect run id
/usr/lib/git-core/git-remote-ext x 'sh -c id'
hub clone -u id x
scalar -c core.fsmonitor=id x
gh repo fork a/b --clone -- -c core.fsmonitor=id
gh codespace ssh -- -oProxyCommand=id
gh config set pager id
glab alias set x '!id'
hg clone -e id ssh://x y
hg pull --remotecmd=id x
hg bisect --command id
hg extdiff -p id
hg merge --tool ./x
svn --config-dir x up
svnlook --diff-cmd id diff x
fossil sync --ssh-command id
cvs -d :ext:h:/x co y
ssh -o SmartcardDevice=./x.so h
scp -oSmartcardDevice=./x.so a h:b
npm config set script-shell ./x
npm set script-shell=./x
npm c set --location=project node-options='-r ./x'
yarn config set yarnPath ./x
pnpm --config.scriptShell=./x run y
pip config set global.python ./x
go env -w CC=./x
yarn exec 'id;id'
npx --package=. 'touch x;id'
npm exec -- 'id $(id)'
lerna exec -- echo '$(id)'
pixi run 'id; id'
pixi exec sh -c id
pixi exec python -c id
hatch run test:python -c id
hatch run +py=3 test:python -c id
hatch env run -e x sh
devenv shell -- sh -c id
flox activate -- sh -c id
guix shell x -- sh -c id
brew bundle exec sh
brew ruby -e id
n exec 18 node -e id
bun run sh -c id
cargo watch -- sh -c id
cargo rustdoc -- --test-builder ./x
dune exec -- sh -c id
opam config exec -- sh -c id
composer global exec sh
pm2 start 'python -c id'
pm2 start x.js --node-args='-e id'
envconsul -prefix x sh
consul-template -exec id
cdk --app 'sh -c id' synth
zx --prefix='id;' x.mjs
austin sh -c id
py-spy record -- python -c id
ipython --c=id
ipython -m timeit id
python3 -m IPython -m timeit id
ipython --InteractiveShellApp.exec_files='["x"]'
coverage run --module timeit id
coverage run -am timeit id
debugpy --listen 1 -m timeit id
memray run -m timeit id
pyinstrument -c id
viztracer -m timeit id
kernprof -m timeit id
uv run coverage run -m timeit id
uv run pyinstrument -m timeit id
sphinx-autobuild --pre-build id a b
tox -x testenv.install_command=id
nox --force-python ./x
snakemake --cluster id
celery multi start x --cmd=id
gunicorn 'os:system("id")'
flask --app 'os:popen("id")' run
python3 -m flask -A 'pty:spawn("sh")' run
django-admin dbshell -- -c '\!id'
pabot --command sh --end-command y
scrapy shell -c id
ansible-playbook -e ansible_python_interpreter=./x y.yml
ansible-playbook -e 'x={{lookup("pipe","id")}}' y.yml
clang-tidy -load=./x.so a.c
clang-tidy a.c -- -Xclang -load
ld.lld --load-pass-plugin=./x.so a.o
size --plugin=./x.so a.o
gdc -fplugin=./x.so a.d
zig test --test-cmd sh a.zig
nim c --gcc.exe:./x a.nim
mold -run make
stack ghc -- -e id
cabal test --test-wrapper=./x
nix build --option plugin-files ./x
nix-env -iE x
R CMD sh -c id
bun --cwd d exec 'id;id'
bun repl -e id
crystal run --link-flags=-B./d x
crystal build --link-flags '-wrapper id' x
dotenvx run -- sh -c id
npx dotenvx run -f x -- sh -c id
dotnet run -p:RunCommand=id
dotnet build -p:AlternateCommonProps=x
dub run --compiler=./x
duckdb x "load './x'"
gradle --system-prop org.gradle.java.home=./x b
heroku local:run sh -c id
jbang -c id
jbang run --code id
luarocks CC=./x build y
mvn groovy:execute -Dsource=id
mvn org.codehaus.gmaven:groovy-maven-plugin:2:execute -Dsource=id
netlify dev:exec sh -c id
netlify dev -c id
nim c --gcc.path:d x
n run 18 -e id
npx cross-env-shell 'id;id'
pkgx sh -c id
pkgx +node node -e id
pulumi env run x -- sh -c id
rdmd --loop=id
rustup +nightly run x sh -c id
sbt 'alias x=eval id' x
sbt --java-home ./x b
scala-cli run --script-snippet id
stack build --ghc-options '-pgmF ./x'
teller run -- sh -c id
v -e id
v -cc ./x y
vagrant ssh -- -o ProxyCommand=id
kubectl config set users.a.exec.command ./x
yarn set version ./x.js
yarn plugin import ./x.js
php --define auto_prepend_file=x y
uv --project run run -m timeit id
"""
PLAIN = r"""
awk -W version
mawk -W help
git config user.name x
git config --global user.email a@b
git config core.pager cat
git config --get core.pager
git config --unset core.pager
git config core.autocrlf input
git config credential.helper store
git config --global --add safe.directory /x
git config url.https://x/.insteadOf y
git config pull.rebase false
git init -b main
git hook run pre-commit
git difftool --tool=vimdiff HEAD~1
git-lfs pull
gh config set git_protocol ssh
hg commit -e
hg merge -t internal:merge
npm config set registry https://registry.npmjs.org/
npm pkg set name=x
go env -w GOPRIVATE=x
hatch run test:pytest -q
hatch run lint
pixi run test
uv run pytest -q
uv run python x.py
npx tsc@5 --noEmit
npx @angular/cli new x
bun run build
bun run test
coverage run -m pytest -q
coverage run x.py
gunicorn app:app
gunicorn 'app:create_app()'
flask --app x run
ansible-playbook -e version=1 y.yml
pip config set global.timeout 60
gh repo clone a/b -- --depth 1
nox -p 3.11
pm2 start x.js
cdk synth
R CMD INSTALL x
R CMD check x
bun --cwd d run build
cross-env A=1 node x.js
npx nyc --reporter=text mocha
dotnet build -p:Configuration=Release
dub build --compiler=ldc2
duckdb -c 'select 1'
mvn exec:java -Dexec.mainClass=x
netlify dev --port 1
nim c --path:src x.nim
pulumi up --yes
rustup run nightly cargo build
sbt test
yarn set version stable
yarn watch
luarocks install x OPENSSL_DIR=/opt/x
vagrant ssh -- ls
yarn install --frozen-lockfile
yarn workspace a test
pnpm env use 20
pnpm --filter a build
pnpm -r exec tsc
bun run watch
bun time
kubectl config set-context --current --namespace=x
uv tool run ruff check
hatch env run test
"""


def verdict(line: str, policy: ExecPolicy) -> Decision:
    """Return the decision about a line whose program is listed by its path."""
    argv = shlex.split(line)
    name = argv[0].rpartition("/")[2]
    plan = plan_of(command(name, *argv[1:]))
    return evaluate(plan, policy, listed("/usr/bin/*")).decision


def test_code_asks_under_either_trust() -> None:
    """Whoever listed the program did not list this code."""
    lines = CODE.strip().splitlines()
    found = [
        one
        for one in lines
        for policy in (CLASSICAL, STRICT)
        if verdict(one, policy) != Decision.ASK
    ]
    assert found == []


def test_plain_uses_pass_under_classical_trust() -> None:
    """The control: the same programs, with words that are no code."""
    lines = PLAIN.strip().splitlines()
    assert [one for one in lines if verdict(one, CLASSICAL) != Decision.ALLOW] == []


def test_names_without_end_ask() -> None:
    """Behind an option each word may be the name; of too many, not all are looked at."""
    options = " ".join(f"--with {count}" for count in range(70))
    assert verdict(f"uv run {options} git log", CLASSICAL) is Decision.ASK
    assert verdict("uv run --with 1 --with 2 git log", CLASSICAL) is Decision.ALLOW


@pytest.mark.parametrize("words", [("-a", "run"), ("-s", "run"), ("-a", "tool", "run", "-a")])
def test_subcommands_without_end_take_no_time(words: tuple[str, ...]) -> None:
    """Each of them was read as the one that counts, with all options behind it: 0.8 s."""
    inline = inline_of(names_started("uv"))
    assert inline is not None
    began = process_time()
    inline.looked_for(words * (4_600 // len(words)))
    assert process_time() - began < _LONG_S


def test_starters_among_options_are_found_once() -> None:
    """The control: each of them may start all that follow, in more ways than can be looked at."""
    found = [*commands_started(("npx", *("-a", "npx") * 3_000))]
    assert len(found) == len({len(one.command) for one in found}) <= 64


def test_a_program_that_is_started_is_known_with_its_words() -> None:
    """Planning binds what these words name."""
    found = [*commands_started(("uv", "run", "x.py", "-q"))]
    assert found == [("uv", Start.PROGRAM, ("x.py", "-q"))]
    assert is_starter("/usr/bin/npx")
    assert not is_starter("/usr/bin/git")
