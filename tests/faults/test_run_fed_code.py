"""Swap what an interpreter gets by pipe, redirection or wrapper, after its approval.

Each line is planned, as it is for the question; then a file is swapped, and the line is run.
"""

import os
import shlex
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan, PlannedCommand
from core.planning import verify
from core.planning.digest import bind
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, request, running, script

GOOD, EVIL = "echo good\n", "echo evil\n"
PYTHON = "print('good')\n"
CONTENTS = {
    ".py": PYTHON,
    "js": "console.log('good')\n",
    "mk": "all:\n\t@echo good\n",
    "pl": 'print "good\\n";\n',
    ".pm": 'print "good\\n"; sub DB::DB {} 1;\n',
    "awk": 'BEGIN { print "good" }\n',
    "sed": "s/.*/good/\n",
    "sql": ".print good\n",
    ".java": 'class X { public static void main(String[] a) { System.out.println("good"); } }\n',
    "args": "-Dword=good -XshowSettings:properties -version\n",
    ".cmake": "execute_process(COMMAND echo good)\n",
    "time": 'BEGIN { print "good" }\n',
    "cssh": "Host h\n  ProxyCommand echo good >&2\n",
    "cgit": "[alias]\n  q = !echo good\n[core]\n  sshCommand = echo good >&2;\n",
    "csftp": "!echo good\n",
    "cspecs": "*cc1_options:\n\n\n.c:\n\n@c:\ngood\n",
    ".jsh": 'System.out.println("good");\n/exit\n',
    "cgdb": "shell echo good\n",
    "ccurl": 'silent\nurl = "file:///dev/null"\nwrite-out = "good"\n',
    "cossl": "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\nCN = good\n",
    ".ninja": "rule say\n  command = echo good\nbuild all: say\n",
}
"""Code of its kind, by how the name ends."""

PROJECT = "cmake_minimum_required(VERSION 3.21)\nproject(x NONE)\n"
PROGRAM = "#!/bin/sh\ncat >/dev/null\necho {} >>{}/ran\n"

SHELL_LINES = (
    "cat notes | sh",
    "cat no* | sh",
    "cat notes | sh -s log",
    "head -n 5 notes | sed s/x/y/ | bash",
    "cat notes | timeout 9 sh",
    "cat notes | setsid sh",
    "cat notes | tee copy | sh",
    "dd if=notes status=none | sh",
    "base64 -w0 notes | base64 -d | sh",
    "echo 'sh < notes' | sh",
    "echo notes | xargs sh",
    "cat notes | xargs -I{} sh -c '{}'",
    "sh -c 'cat notes | sh'",
    "sh -c 'sh < notes'",
    "env -C sub sh -c 'sh < ../notes'",
    "sh < notes",
    "sh -e < notes > log; cat log",
    "sh +e < notes",
    "timeout 9 sh < notes",
    'sh < "no"tes',
    's""h < notes',
    "X=sh; $X < notes",
    "F=notes; sh < $F",
    "exec < notes; sh",
    "{ cat notes; } | sh > log; cat log",
    "if true; then sh; fi < notes",
    "while read -r one; do $one; done < notes",
    "sh notes > log; cat log",
    ". ./notes > log; cat log",
    'eval "$(cat notes)"',
    'sh -c "$(cat notes)"',
    "bash -c 'bash <(cat notes)'",
    "sh <<E\n. ./notes\nE",
    "cd sub && sh < ../notes",
    "env BASH_ENV=./notes bash -c true",
    "find . -maxdepth 0 -exec sh -c true \\; -exec sh notes \\;",
    "sh - notes",
    "sh + notes",
    "sh -- notes",
    "bash - notes",
    "bash -x - notes",
    "bash + -x notes",
    "dash -x +e - notes",
    "env sh - notes",
    "timeout 5 sh - notes",
    "nice bash - notes",
    "setsid -w sh - notes",
    "env -u sh bash - notes",
    "echo | xargs sh - notes",
    "find . -maxdepth 0 -exec sh - notes \\;",
    "bash -c -x '. ./notes'",
    "sh +c '. ./notes'",
    "bash -co posix -- '. ./notes'",
    "timeout 5 $(cat notes)",
    "env $(cat notes)",
    "nice $(cat notes)",
    "nohup $(cat notes)",
    "exec $(cat notes)",
    "command $(cat notes)",
    "echo | xargs $(cat notes)",
    "find /etc/hostname -exec $(cat notes) \\;",
    'trap "$(cat notes)" EXIT',
    'command eval "$(cat notes)"',
    "command . ./notes",
    "bash -c 'builtin . ./notes'",
    "bash -c 'exec -a name bash notes'",
    "alias a='. ./notes'\na",
    "bash -c 'function f { sh notes; }; f'",
    "sh -c '. \"$1\"' x ./notes",
    "sh -c 'sh \"$@\"' x notes",
    "bash -c 'exec \"$0\" notes' sh",
    "sh //dev/stdin < notes",
    ". /dev/./stdin < notes",
    "sh /proc/thread-self/fd/0 < notes",
    "cat notes | sh /proc/self/fd/../fd/0",
    "sh /dev/fd/3 3< notes",
    "exec 3<notes; . /dev/fd/3",
    "bash /proc/$$/fd/0 < notes",
    "cat /proc/self/cwd/notes | sh",
    "sh < /proc/self/cwd/notes",
    ". /proc/self/cwd/notes",
    "sh /proc/self/cwd/notes",
    "xargs -anotes echo | sh",
    "env -S 'sh\\_notes'",
    "env '-Ssh notes'",
    "sh no\\\ntes",
    "sh no\\\ntes > log; cat log",
    "sh < notes >> notes",
    "for f in notes; do . ./$f; done",
    "xargs --arg-file=notes -I{} sh -c {}",
    "git -c alias.q='!sh notes' q",
    "tar -xf a.tar --to-command='sh ./notes'",
    "env -iS'sh notes'",
    "dash -o errexit - notes",
    "busybox sh - notes",
    "printf 'sh notes\\n' | sh",
    "printf 'sh\\x20notes' | bash",
    "printf '. ./notes\\n' | timeout 5 sh",
    "printf 'sh %s\\n' notes | sh",
    "sh -c \"$(printf 'sh notes\\n')\"",
    "bash -c \"$(echo 'sh notes;')\"",
    "echo sh:notes | tr : ' ' | sh",
    "echo x | sed 's/x/sh notes/' | sh",
    "su -s /bin/sh root < notes",
    "script -qc'sh notes' /dev/null",
    "script -qc sh /dev/null < notes",
    "cat notes | linux64",
    "cat notes | setarch -R",
    "flock lock -c sh < notes",
    "tar -cf /dev/null --checkpoint=1 --checkpoint-action='exec=sh notes' log",
    "tar -cf copy -Ish\\ notes log; cat copy",
    "git -c alias.q='!sh notes' q > copy; cat copy",
    "bash --rcfile notes -ic :",
    "bash --rcfile ./notes -i -c : > copy; cat copy",
    "bash -c 'sh ${x:-notes}'",
    "bash -c 'x=a; sh ${x/a/notes}'",
    "bash -c '. \"${x-./notes}\"'",
    "bash -c '${x:-sh notes}'",
    "env FOO='sh notes' sh -c '$FOO'",
    "FOO='sh notes' sh -c 'sh -c \"$FOO\"'",
    "env X=notes sh -c 'sh $X'",
    "timeout 5 env X=notes sh -c '. ./$X'",
    "export X=notes; sh -c 'sh $X'",
    "A='!sh notes' git --config-env=alias.q=A q",
    "cat notes | xargs timeout 5",
    "cat notes | xargs nice -n 5",
    "cat notes | xargs -0 env -S",
    "cat notes | xargs --replace=@ sh -c @",
    "cat notes | xargs -I 1 sh -c 1",
    "cat notes | xargs -n2 env X=1",
    "su root notes",
    "su -s /bin/sh root notes",
    "runuser -s /bin/sh root notes",
    "sed 's/1/sh notes/e' log",
    "sed '1s/1/sh notes/e' log",
    "find notes -exec sh {} \\;",
    "find -H ./notes -type f -exec bash {} +",
    "su root -- -e notes",
    "su root -- -c 'sh \"$1\"' x notes",
    "cmake -E env sh notes",
    "cmake -E env A=1 sh notes",
    "cmake -E time sh notes",
    "cmake -E chdir sub sh ../notes",
    "cmake -E env sh notes > copy; cat copy",
    "find notes -exec sh -c 'sh $0' {} \\;",
    "find notes -exec sh -c '. ./$1' x {} \\;",
    "find notes -exec sh -c 'sh {}' \\;",
    "find notes -exec sh ./{} \\;",
    "find -D tree notes -exec sh {} \\;",
    "find -- notes -exec sh {} \\;",
    "sed --expression='s/1/sh notes/e' log",
    "sed '1esh notes' log",
    "sed 's_1_sh notes_e' log",
    "sed 'sa1ash notesae' log",
    "sed 's/1/sh\\tnotes/e' log",
    "sed 's/1/sh\\o40notes/e' log",
    "sed 's/1/sh no\\x74es/e' log",
    "sed e notes",
    "find log -exec sed '1esh notes' {} \\;",
    "setsid -w sed '1esh notes' log",
    "sed e < notes",
    "cat notes | sed e",
    "sed 's/^//e' notes",
    f"sed '/{'e' * 70}/p;s_1_sh notes_e' log",
    "awk '{print | \"sh\"}' notes",
    "cat notes | awk '{print | \"sh\"}'",
    "cat notes | mawk -F: '{system($0)}'",
    "awk '{print | \"sh\"}' < notes",
    "timeout 9 awk '{print | \"sh\"}' notes",
    "awk -v f=notes 'BEGIN{system(\"sh \" f)}'",
    "awk '{print | \"sh\"}' notes > copy; cat copy",
    "find notes -exec awk '{print | \"sh\"}' {} \\;",
    "cmake -E __run_co_compile --source=log --cpplint=true -- sh notes",
    "ctest --build-and-test sub b --build-generator 'Unix Makefiles' --test-command sh $PWD/notes",
    "ctest --launch -- sh notes",
    "gdb -batch -ex run --args sh notes",
    "sed -n '1rnotes' log | sh",
    "sed 1Rnotes log | sh",
    "env A=no B=tes sh -c 'sh $A$B'",
    "env F=n timeout 9 sh -c 'sh ${F}otes'",
    "a=no; sh < ${a}tes",
    "A='no'; sh ${A}tes > copy; cat copy",
)
"""``notes`` has no suffix and may not be executed, and a shell runs what it contains."""

PYTHON_LINES = (
    "python3 < notes",
    "cat notes | python3",
    "cat notes | python3 -",
    "cat notes | python3 -u - log",
    "cat notes | env python3",
    "python3 notes > log; cat log",
    'python3 -c "$(cat notes)"',
    'x=$(cat notes); python3 -c "$x"',
    "python3 - <<E\n$(cat notes)\nE",
    "cat notes | python3 /proc/thread-self/fd/0",
    "script -qc 'python3' /dev/null < notes",
    "python3 -m code < notes",
    "cat notes | python3 -qm code",
    "cat notes | timeout 9 python3 -mcode",
    "python3 -m asyncio < notes",
    "python3 -m runpy code < notes",
    "python3 -m cProfile -m code < notes",
    "cat notes | python3 -m pdb log",
)
OTHER_CODE = {
    "env -C sub sh - s": "sub/s",
    "python3 -m tool": "tool.py",
    "python3 -mtool": "tool.py",
    "python3 -W error -m tool": "tool.py",
    "python3 -im tool": "tool.py",
    "timeout 9 python3 -m tool": "tool.py",
    "python3 -m tool > log; cat log": "tool.py",
    "python3 -m pk": "pk/__main__.py",
    "python3 -m pk.sub": "pk/sub.py",
    "python3 -m pdb -c continue -c quit tool.py": "tool.py",
    "java X.java": "X.java",
    "java -cp . -Xshare:auto X.java > log; cat log": "X.java",
    "timeout 9 java X.java log": "X.java",
    "cmake -P c.cmake": "c.cmake",
    "cmake -DA=1 -P ./c.cmake > log; cat log": "c.cmake",
    "ninja -f b.ninja": "b.ninja",
    "ninja -C sub -f ../b.ninja": "b.ninja",
    "ninja -Csub -f../b.ninja > log; cat log": "b.ninja",
    "echo b.ninja | xargs ninja -f": "b.ninja",
    "echo c.cmake | xargs cmake -P": "c.cmake",
    "cmake --toolchain=../c.cmake -S sub -B b": "c.cmake",
    "cmake -DCMAKE_TOOLCHAIN_FILE=../c.cmake -S sub -B b": "c.cmake",
    "ctest -S c.cmake": "c.cmake",
    "ctest -S c.cmake,log -V": "c.cmake",
    "ctest -V --script c.cmake": "c.cmake",
    "cpack --config c.cmake -G TGZ": "c.cmake",
    "java @args": "args",
    "perl -I. -MTool -e 1": "Tool.pm",
    "perl -I . '-MTool qw(a)' log": "Tool.pm",
    "timeout 9 perl -wMlib=sub -MA::Tool -e 1": "sub/A/Tool.pm",
    "sh -c 'perl -Mlib=sub -MA::Tool -e 1' > copy; cat copy": "sub/A/Tool.pm",
    "env PERL5LIB=sub perl -MA::Tool -e 1": "sub/A/Tool.pm",
    "perl -I. -d:T -e 1": "Devel/T.pm",
    "java -Da=b @args log": "args",
    "ssh -vF cssh h": "cssh",
    "ssh -F cssh h > log; ssh -Fcssh -v h": "cssh",
    "git -c include.path=$PWD/cgit q": "cgit",
    "git -c user.name=x -c includeIf.gitdir:/.path=$PWD/cgit -c include.path=$PWD/cgit q": "cgit",
    "gdb -batch -init-c cgdb": "cgdb",
    "gdb -batch -early-init-c cgdb": "cgdb",
    "git clone -cinclude.path=$PWD/cgit ssh://localhost/x y": "cgit",
    "git clone -q --config=include.path=$PWD/cgit ssh://localhost/x y": "cgit",
    "sftp -b csftp -D /usr/lib/openssh/sftp-server": "csftp",
    "cp log k.c && gcc -specs=cspecs k.c": "cspecs",
    "pdb3 -c c -c q tool.py": "tool.py",
    "pydoc3 ./tool.py": "tool.py",
    "jshell X.jsh": "X.jsh",
    "json_pp -f eval < cpl": "cpl",
    "cat cpl | json_pp -f=eval": "cpl",
    "gdb -batch -comm=cgdb": "cgdb",
    "gdb -batch -ix cgdb": "cgdb",
    "curl -K ccurl": "ccurl",
    "curl -sKccurl > log; cat log": "ccurl",
    "curl --config ccurl": "ccurl",
    "openssl req -new -newkey rsa:2048 -nodes -keyout k -subject -noout -config cossl": "cossl",
    "openssl req -config=cossl -new -newkey rsa:2048 -nodes -keyout k -subject -noout": "cossl",
    "make MAKEFILES=cmk -f /dev/null all": "cmk",
    "cmake -DCMAKE_PROJECT_INCLUDE=../c.cmake -S sub -B b": "c.cmake",
    "gawk -E time": "time",
    "gawk -E time > copy; cat copy": "time",
    "java @/dev/null X.java": "X.java",
    "env D=sub sh -c 'sh $D/s'": "sub/s",
    "make --makef mk": "mk",
    "make --f=mk": "mk",
    "make --dir sub --fil mk": "sub/mk",
    "node n": "n/app.js",
    "node n > log; cat log": "n/app.js",
    "cd n && node .": "n/app.js",
    'perl -e "$(cat cpl)"': "cpl",
    'read -r x < cpl; perl -w -e "$x"': "cpl",
    'node -e "$(cat cjs)"': "cjs",
    'node -p "$(cat cjs)"': "cjs",
    'awk "$(cat cawk)"': "cawk",
    'sed "$(cat csed)" log': "csed",
    'sed -n -e "$(cat csed)" -e p log': "csed",
    "gawk -E cawk": "cawk",
    "gawk --exec cawk": "cawk",
    "gawk -i ./cawk 'BEGIN { }'": "cawk",
    "gawk --incl=./cawk 'BEGIN { }'": "cawk",
    "mawk -W exec cawk": "cawk",
    "make -E 'include cmk' -f /dev/null": "cmk",
    "sqlite3 x.db < csql": "csql",
    "cat csql | sqlite3": "csql",
    "sqlite3 -init csql x.db .exit": "csql",
    "sqlite3 x.db '.read csql'": "csql",
    "sh -c 'cd sub && sh s'": "sub/s",
    "bash -c 'cd sub && source s'": "sub/s",
    "f=sub; sh $f/s > log; cat log": "sub/s",
    "sh -c 'cd sub && . ./s'": "sub/s",
    "timeout 5 sh -c 'cd sub && sh s'": "sub/s",
    "env -Csub cat s | sh": "sub/s",
    "env -Csub sh s": "sub/s",
    "node -p < cjs": "cjs",
    "cat cjs | node -p --no-warnings": "cjs",
    "node -e 1 -r ./cjs": "cjs",
    "NODE_OPTIONS='-r ./cjs' node -e 1": "cjs",
    "env NODE_OPTIONS=--require=./cjs node -e 1": "cjs",
    "sh -c 'NODE_OPTIONS=\"-r ./cjs\" node -e 1'": "cjs",
    "MAKEFILES=cmk make -f /dev/null all": "cmk",
    "env MAKEFILES=cmk make -f /dev/null all": "cmk",
    "printf '.read csql\\n' | sqlite3": "csql",
    "printf 'include cmk\\n' | make -f -": "cmk",
}
"""Lines with the file that is their code."""

LINES = (*SHELL_LINES, *PYTHON_LINES, *OTHER_CODE)
PROGRAM_LINES = (
    "printf a | setsid ./x",
    "setsid -w ./x",
    "nohup ./x",
    "timeout 5 ./x",
    "env ./x",
    "env A=sub sh -c '$A/../x'",
    "env -S './x a'",
    "env PATH=.:/usr/bin:/bin x",
    "env -C sub ../x",
    "cmake -E env ./x",
    "flock lock ./x",
    "flock lock -c './x a'",
    "find . -maxdepth 0 -exec ./x {} ;",
    "find . -maxdepth 0 -execdir ./x {} ;",
    "echo a | xargs ./x",
    "tar -cf /dev/null -I ./x notes",
    "tar -xf a.tar --to-command=./x",
    "git -c alias.y=!./x y",
    "tar -cI./x -f/dev/null notes",
    "script -qc./x /dev/null",
    "sed 1e./x notes",
    "env --chdir=sub ../sub/../x",
    "timeout 5 env --chdir=sub ../sub/../x",
    "env --split-string='--chdir=sub ../sub/../x a'",
)
"""``x`` is a program in the folder; no shell is involved, so ``;`` is a word here."""


def good_of(line: str) -> str:
    """Return the code of a line; with another word it is the evil one."""
    if line in PYTHON_LINES:
        return PYTHON
    file = OTHER_CODE.get(line, "notes")
    return next((text for end, text in CONTENTS.items() if file.endswith(end)), GOOD)


def folder(at: Path, content: str, file: str = "notes") -> Path:
    """Make a folder with the code, and with data next to it."""
    for name in ("sub", "pk", "n"):
        (at / name).mkdir(parents=True)
    (at / "pk" / "__init__.py").touch()
    (at / "n" / "package.json").write_text('{"main": "app"}')
    (at / "sub" / "CMakeLists.txt").write_text(PROJECT)
    (at / "notes").write_text(content)
    (at / file).parent.mkdir(parents=True, exist_ok=True)
    (at / file).write_text(content)
    (at / "log").write_text("1\n")
    script(at / "x", PROGRAM.format("good", at))
    with tarfile.open(at / "a.tar", "w") as archive:
        archive.add(at / "notes", "notes")
    return at


def renamed(path: Path, content: str) -> None:
    """Put other content under the same name, with one rename."""
    mode = path.stat().st_mode
    other = path.with_name("other")
    other.write_text(content)
    other.chmod(mode)
    other.rename(path)


def overwritten(path: Path, content: str) -> None:
    """Write other content into the same file, and restore its time."""
    before = path.stat()
    path.write_text(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def as_it_was(command: PlannedCommand) -> PlannedCommand:
    """Return a command that is bound to nothing but its programs."""
    inner = tuple(map(as_it_was, command.inner))
    kept = tuple(one for one in command.operands if one.realpath.startswith("/usr/"))
    return PlannedCommand(
        **{
            name: getattr(command, name)
            for name in PlannedCommand.__dataclass_fields__
            if name not in {"operands", "inner"}
        },
        operands=kept,
        inner=inner,
    )


def unbound(plan: ExecPlan) -> ExecPlan:
    """Return a plan without the code that it was bound to: the negative control."""
    fields = {name: getattr(plan, name) for name in ExecPlan.__dataclass_fields__}
    fields["commands"] = tuple(map(as_it_was, plan.commands))
    return bind(ExecPlan(**fields))


async def said(runner: Runner, plan: ExecPlan, change: Callable[[], None] = lambda: None) -> str:
    """Run what was approved; return what it printed, or ``drift``."""
    change()
    try:
        return (await runner.run(new_run(), plan, Start())).output.text
    except PlanDrift as found:
        assert "is not the file that was approved" in str(found)  # noqa: PT017
        return "drift"


def placed(at: Path, line: str) -> tuple[ExecPlan, Path, str]:
    """Return the plan of a line in a new folder, the file of its code, and the evil content."""
    name, good = OTHER_CODE.get(line, "notes"), good_of(line)
    folder(at, good, name)
    plan = planned(request(line, cwd=at, timeout_ms=20_000))
    return plan, at / name, good.replace("good", "evil")


@pytest.mark.slow
@pytest.mark.parametrize("change", [renamed, overwritten])
async def test_code_that_was_exchanged_does_not_run(
    tmp_path: Path, change: Callable[[Path, str], None]
) -> None:
    """By a pipe, a redirection, a substitution, a wrapper: the run ends as drift."""
    async with running() as runner:
        for number, line in enumerate(LINES):
            plan, file, evil = placed(tmp_path / str(number), line)

            printed = await said(runner, plan, partial(change, file, evil))

            assert printed == "drift", line


@pytest.mark.deep
@pytest.mark.slow
async def test_without_the_binding_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the same lines, the same swap."""
    monkeypatch.setattr(verify, "appeared", lambda *_: "")
    monkeypatch.setattr(verify, "became_program", lambda *_, **__: "")
    async with running() as runner:
        for number, line in enumerate(LINES):
            plan, file, evil = placed(tmp_path / str(number), line)

            printed = await said(runner, unbound(plan), partial(renamed, file, evil))

            assert "evil" in printed, (line, printed)


@pytest.mark.slow
async def test_what_was_approved_runs(tmp_path: Path) -> None:
    """Nothing was swapped: each line does what it says, although the data next to it changes."""
    async with running() as runner:
        for number, line in enumerate(LINES):
            plan, file, _ = placed(tmp_path / str(number), line)

            printed = await said(runner, plan, (file.parent / "new").touch)

            assert "good" in printed, (line, printed)


async def exchanged_program(
    runner: Runner, at: Path, line: str, plan_of: Callable[[ExecPlan], ExecPlan]
) -> str:
    """Swap a program that a wrapper starts; return what ran, or ``drift``."""
    folder(at, GOOD)
    vector = None if "|" in line else tuple(shlex.split(line))
    wish = request(None if vector else line, argv=vector, cwd=at, timeout_ms=20_000)
    plan = plan_of(planned(wish))
    printed = await said(runner, plan, lambda: renamed(at / "x", PROGRAM.format("evil", at)))
    ran = at / "ran"
    return printed if printed == "drift" or not ran.exists() else ran.read_text()


async def test_a_program_that_was_exchanged_is_not_started(tmp_path: Path) -> None:
    """After a wrapper, whether it is unwrapped or not, and in an option that names one."""
    async with running() as runner:
        for number, line in enumerate(PROGRAM_LINES):
            printed = await exchanged_program(runner, tmp_path / str(number), line, lambda one: one)

            assert printed == "drift", line


async def test_without_the_binding_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the same lines, the same swap."""
    monkeypatch.setattr(verify, "became_program", lambda *_, **__: "")
    async with running() as runner:
        for number, line in enumerate(PROGRAM_LINES):
            printed = await exchanged_program(runner, tmp_path / str(number), line, unbound)

            assert "evil" in printed, (line, printed)


@pytest.mark.parametrize(
    "line",
    [
        "tail -n 1 log | grep -c 1",
        "cat log | python3 -c 'import sys; print(len(sys.stdin.read()))'",
        "cat log | perl -ne 'print'",
        "java X.java log",
        "cmake -P c.cmake log",
        "cat log | awk '{ print $1 }'",
        "awk '{ print $1 | \"sort -rn\" }' log",
        "awk '{ print | \"cat 1>&2\" }' log",
        "sed -i '1i #!/usr/bin/env python3' log",
        'cat log | awk \'{ print | "sort" } END { close("sort"); system("date +%s") }\'',
        "awk 'BEGIN { \"date\" | getline d } { print d, $1 }' log",
        "cat log | grep -E time",
        "cat log | grep -E chdir",
        "git -c color.ui=false -c core.pager=cat grep -n --no-index 1 log",
        "cat log | sh -c 'wc -l'",
        "cat log | xargs -n1 echo",
        "cat log | setsid -w cat",
        "setsid -w tail -n 1 log",
        "sed 's/rlog/x/' log | sort",
        "cat log | json_pp -f json",
        "gdb -batch -ex 'info line' --args cat log",
        "find log -exec sh -c 'wc -l \"$1\"' x {} \\;",
        "sed 's/1/x/' log > copy",
        "sed --expression='s/1/e/' log",
        "find log -exec sh -c 'echo $1' x {} \\;",
        "cmake -E env tail log",
        "cmake -P c.cmake -DA=log",
        "env D=. sh -c 'tail $D/log'",
        "find . -name log -exec tail -n 1 {} +",
        "sort < log | head -n 1",
        "sh x < log > copy; cat log",
        "sh -s log < notes",
        "cat notes | sh -s log",
        "while read -r one; do echo $one; done < log",
        "sh < notes | tee -a log",
        "sh notes | tee -a log; sh < notes",
        "python3 - <<'E'\nprint(open('log').read())\nE",
        "tail -n 1 log; python3 - <<'E'\nprint(open('log').read() or 1 | 2)\nE",
        "bash <<'E'\ncat log > copy\nE",
        "[ -f log ] && sh < notes",
        "test -f log && sh < notes",
        "git commit -m log; sh < notes",
        'python3 -c "print(1)" "$(cat log)"',
        'sed "s/x/$HOME/" log > copy',
        'timeout 9 tail -n "$((1))" log',
        "make -n -f /dev/null LOG=log .DEFAULT",
        "node --prof -e 1 log",
        "ssh -F /dev/null -o BatchMode=yes nowhere.invalid <<E\ntail log\nE",
        "cat log | xargs grep time",
        "cat log | setarch -R sort",
        "script -qc 'wc -l' /dev/null < log",
        "env LOG=log cat log",
        "LOG=log sh x.sh > copy; tail log",
        'x=5; sed "s/a/$x/" log > copy',
        'x="a b"; sed "s/a/$x/" log > copy',
        "tail ${F:-log} > copy",
        "printf 'x\\n' >> log; tail log",
        "tar -cf copy --exclude='a b' log",
        "perl -ne 'print' log",
        "node -p 1 < log",
    ],
)
async def test_data_may_grow_meanwhile(tmp_path: Path, line: str) -> None:
    """What no interpreter gets as code is read as it is when the command runs."""
    at = folder(tmp_path / "at", GOOD)
    async with running() as runner:
        plan = planned(request(line, cwd=at))
        with (at / "log").open("a") as log:
            log.write("2\n")

        assert await said(runner, plan) != "drift"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("echo 'echo made' > fresh; sh < fresh", "made"),
        ("echo 'echo made' > notes; sh < notes", "made"),
        ("echo 'echo made' | tee notes | sh", "made"),
        ("cp notes fresh && cat fresh | sh", "good"),
        ("echo 'echo made' > notes && sh < notes > log; cat log", "made"),
    ],
)
async def test_what_the_line_makes_itself_runs(tmp_path: Path, line: str, says: str) -> None:
    """The text that was approved says so."""
    at = folder(tmp_path / "at", GOOD)
    async with running() as runner:
        plan = planned(request(line, cwd=at, timeout_ms=20_000))

        assert says in (await said(runner, plan)).split()


async def test_a_named_pipe_is_not_bound(tmp_path: Path) -> None:
    """It has no content until something is written to it, so the line does what it did."""
    os.mkfifo(tmp_path / "pipe")
    plan = planned(request("sh < pipe", cwd=tmp_path))

    assert plan.commands[0].operands == ()
