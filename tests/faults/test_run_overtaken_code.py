"""Put a file where an interpreter looks first, or in Python's cache of its code, after approval.

The file that was approved stays as it is. Each line is planned, as it is for the question; then
other files appear, and the line is run.
"""

import importlib.util
import marshal
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan, PlannedCommand
from core.model.decision import Decision
from core.planning import verify
from core.planning.digest import bind
from core.policy.judge.evaluate import evaluate
from core.runner.runner import Runner
from tests.support.plans import LISTED, listed
from tests.support.runs import Start, new_run, planned, request, running

GOOD_JS, EVIL_JS = "console.log('good')\n", "console.log('evil')\n"
GOOD_PY, EVIL_PY = "print('good')\n", "print('evil')\n"
GOOD_MK, EVIL_MK = "all:\n\t@echo good\n", "all:\n\t@echo evil\n"
EVIL_SH, EVIL_PM = "echo evil\n", "print 'evil'; 1;\n"
GOOD = {
    "x.js": GOOD_JS,
    "d/index.js": GOOD_JS,
    "e/package.json": '{"main": "lib"}',
    "e/lib.js": GOOD_JS,
    "f/package.json": "{}",
    "f/index.js": GOOD_JS,
    "other/x.js": GOOD_JS,
    "tool.py": GOOD_PY,
    "pk/__init__.py": "",
    "pk/__main__.py": GOOD_PY,
    "pk/sub.py": GOOD_PY,
    "bare/sub.py": GOOD_PY,
    "cawk.awk": 'BEGIN { print "good" }\n',
    "mk": GOOD_MK,
    "notes": "echo good\n",
    "Tool.pm": EVIL_PM.replace("evil", "good"),
}
PACKAGE = {"tool/__init__.py": "", "tool/__main__.py": EVIL_PY}
MAIN = {"d/package.json": '{"main": "evil.js"}', "d/evil.js": EVIL_JS}
TAKEN_FIRST: tuple[tuple[str, dict[str, str]], ...] = (
    ("node ./x", {"x": EVIL_JS}),
    ("node x", {"x": EVIL_JS}),
    ("node ./x/", {"x": EVIL_JS}),
    ("timeout 9 node ./x", {"x": EVIL_JS}),
    ("setsid -w node ./x", {"x": EVIL_JS}),
    ("node ./x > log; cat log", {"x": EVIL_JS}),
    ("sh -c 'node ./x'", {"x": EVIL_JS}),
    ("node -r ./x -e 1", {"x": EVIL_JS}),
    ("node --require=./x -e 1", {"x": EVIL_JS}),
    ("node -r ./no -r ./x -e 1", {"no.js": EVIL_JS}),
    ("node ./no", {"no.js": EVIL_JS}),
    ("node ./d", {"d.js": EVIL_JS}),
    ("node d", MAIN),
    ("node ./d > log; cat log", MAIN),
    ("cd d && node .", MAIN),
    ("node ./e", {"e/lib": EVIL_JS}),
    ("node ./f", {"f.js": EVIL_JS}),
    ("python3 -m tool", PACKAGE),
    ("timeout 9 python3 -m tool", PACKAGE),
    ("setsid -w python3 -m tool", PACKAGE),
    ("python3 -m runpy tool", PACKAGE),
    ("python3 -m tool > log; cat log", {"tool/__init__.py": EVIL_PY}),
    ("python3 -m pk.sub", {"pk/sub/__init__.py": "", "pk/sub/__main__.py": EVIL_PY}),
    ("python3 -m bare.sub", {"bare/__init__.py": EVIL_PY}),
    ("python3 -m bare.sub", {"bare.py": EVIL_PY}),
    ("sh -c 'python3 -m bare.sub'", {"bare/__init__.py": EVIL_PY}),
    ("python3 empty", {"empty/__main__.py": EVIL_PY}),
    ("env FILE=./x sh -c 'node $FILE'", {"x": EVIL_JS}),
    ("env 'LINE=python3 -m tool' sh -c '$LINE'", PACKAGE),
    ("gawk -f ./cawk", {"cawk": 'BEGIN { print "evil" }\n'}),
    ("python3 -m tool", {"contextlib.py": EVIL_PY}),
    ("timeout 9 python3 -m tool", {"types.py": EVIL_PY}),
    ("setsid -w python3 -m tool", {"functools/__init__.py": EVIL_PY}),
    ("python3 -m tool > log; cat log", {"contextlib.py": EVIL_PY}),
    ("python3 -m runpy tool", {"importlib/__init__.py": EVIL_PY}),
    ("python3 pk", {"pk/contextlib.py": EVIL_PY}),
    ("python3 pk > log; cat log", {"pk/contextlib.py": EVIL_PY}),
    ("make -f mk", {"mk.sh": EVIL_MK}),
    ("timeout 9 make -f mk all", {"mk.sh": EVIL_MK}),
    ("make -f no", {"no.sh": EVIL_MK}),
    ("make -f mk > log; cat log", {"mk.sh": EVIL_MK}),
    ("setsid -w make -f mk", {"mk.sh": EVIL_MK}),
    ("sh -c 'make -C other -f ../mk 2>&1'", {"mk.sh": EVIL_MK}),
    ("perl -I. -MTool -e 1", {"Tool.pmc": EVIL_PM}),
    ("perl -Iother -I. -MTool -e 1", {"other/Tool.pm": EVIL_PM}),
    ("perl -Mlib=other,. -mTool -e 1", {"other/Tool.pm": EVIL_PM}),
    ("timeout 9 perl -Iother -I . -MTool -e 1", {"other/Tool.pm": EVIL_PM}),
    ("timeout 9 bash -c 'PATH=other:/bin; . notes'", {"other/notes": EVIL_SH}),
    ("bash -c 'PATH=other:$PATH; . notes'", {"other/notes": EVIL_SH}),
    ("PATH=other:$PATH; . notes > log; cat log", {"other/notes": EVIL_SH}),
    ("export PATH=$PWD/other:$PATH; . notes", {"other/notes": EVIL_SH}),
)
"""Lines, with files that appear and are read before the approved one."""

BY_LETTERS = (
    "node lk/../x.js",
    "node -r ./lk/../x.js -e 1",
    "node ./x.js/",
    "node other/../x.js",
    "node x.js/../x.js",
    "node --import ./%78.js -e 1",
    "node --import './x.js?1' -e 1",
    "node lk/../x.js > log; cat log",
    "node ./x.js/ > log; cat log",
    "node --import './x.js?1' -e 1 > log; cat log",
    "setsid -w node lk/../x.js",
)
"""Lines that run ``x.js``: ``lk`` leads to ``other/d``, and node never goes there."""

OWN_MODULES = (
    "python3 -m runpy pk.sub",
    "python3 -m pdb -c c -c q -m pk.sub",
    "python3 -m trace -t --module pk.sub",
    "python3 -m cProfile -m pk.sub",
    "python3 -m unittest pk.sub",
    "python3 -m unittest pk/sub.py",
    "python3 -m pydoc pk.sub",
)
"""Lines in which a standard module of Python runs ``pk/sub.py``."""

BOUND = (
    *((line, {"x.js": EVIL_JS}) for line in BY_LETTERS),
    *((line, {"pk/sub.py": EVIL_PY}) for line in OWN_MODULES),
)
"""Each line with the file that it runs, changed."""

KEPT = {
    "python3 -m tool": "tool.py",
    "python3 -O -m tool": "tool.py",
    "timeout 9 python3 -m tool": "tool.py",
    "setsid -w python3 -m tool": "tool.py",
    "python3 -m runpy tool": "tool.py",
    "python3 pk": "pk/__main__.py",
    "python3 -m pk": "pk/__main__.py",
    "python3 -m pk.sub": "pk/__init__.py",
    "python3 -m tool > log; cat log": "tool.py",
    "sh -c 'python3 -m tool'": "tool.py",
    "python3 -X pycache_prefix=kept -m tool": "tool.py",
    "env 'LINE=python3 -m tool' sh -c '$LINE'": "tool.py",
}
"""Lines with the file that Python reads from its cache."""


def folder(at: Path, more: dict[str, str] | None = None) -> Path:
    """Make a folder with good code."""
    written(at, GOOD)
    (at / "other" / "d").mkdir()
    (at / "empty").mkdir()
    (at / "lk").symlink_to(at / "other" / "d")
    written(at, more or {})
    return at


def written(at: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(content)


def keep_evil(at: Path, line: str) -> None:
    """Put evil code where Python caches a file's code, matching the file's size and time.

    It does so for each level of optimisation and in both places.
    """
    file = at / KEPT[line]
    status = file.stat()
    made = compile(EVIL_PY, str(file), "exec")
    times = struct.pack("<III", 0, int(status.st_mtime), status.st_size)
    data = importlib.util.MAGIC_NUMBER + times + marshal.dumps(made)
    for level in ("", ".opt-1"):
        name = f"{file.stem}.cpython-311{level}.pyc"
        for place in (file.parent, Path(f"{at}/kept/{file.parent}")):
            (place / "__pycache__").mkdir(parents=True, exist_ok=True)
            (place / "__pycache__" / name).write_bytes(data)
            (place / name).write_bytes(data)


def stripped(command: PlannedCommand, *, operands: bool = False) -> PlannedCommand:
    """Return a command without what it must not find: the negative control."""
    inner = tuple(stripped(one, operands=operands) for one in command.inner)
    found = replace(command, inner=inner, absent=(), ahead=(), cached=())
    if not operands:
        return found
    kept = tuple(one for one in found.operands if one.realpath.startswith("/usr/"))
    return replace(found, operands=kept)


def as_it_was(plan: ExecPlan, *, operands: bool = False) -> ExecPlan:
    """Return a plan that is bound as plans used to be."""
    return bind(
        replace(plan, commands=tuple(stripped(one, operands=operands) for one in plan.commands))
    )


def without_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the other guards: words are not followed again before the start."""
    monkeypatch.setattr(verify, "appeared", lambda *_: "")
    monkeypatch.setattr(verify, "became_program", lambda *_, **__: "")


async def said(runner: Runner, plan: ExecPlan) -> str:
    """Run what was approved; return what it printed, or ``drift``."""
    try:
        return (await runner.run(new_run(), plan, Start())).output.text
    except PlanDrift as found:
        assert "so nothing ran. Ask again." in str(found)  # noqa: PT017
        return "drift"


def asked(line: str, at: Path) -> ExecPlan:
    """Return the plan of a line."""
    return planned(request(line, cwd=at, timeout_ms=20_000))


async def test_what_would_be_taken_first_ends_the_run(tmp_path: Path) -> None:
    """A file that appears is drift, although everything that existed is unchanged."""
    async with running() as runner:
        for number, (line, files) in enumerate(TAKEN_FIRST):
            plan = asked(line, at := folder(tmp_path / str(number)))
            written(at, files)

            assert await said(runner, plan) == "drift", (line, files)


async def test_without_that_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the same lines, the same files."""
    without_second_look(monkeypatch)
    async with running() as runner:
        for number, (line, files) in enumerate(TAKEN_FIRST):
            plan = as_it_was(asked(line, at := folder(tmp_path / str(number))))
            written(at, files)

            printed = await said(runner, plan)
            assert "evil" in printed, (line, files, printed)


@pytest.mark.parametrize(
    ("line", "file", "evil"),
    [
        ("python3 -m tool", "contextlib.py", EVIL_PY),
        ("python3 pk", "pk/contextlib.py", EVIL_PY),
        ("make -f mk", "mk.sh", EVIL_MK),
    ],
)
async def test_what_is_there_and_read_first_is_bound(
    tmp_path: Path, line: str, file: str, evil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other content there is drift, as it is for the file that the line names."""
    async with running() as runner:
        at = folder(tmp_path / "at", {file: evil.replace("evil", "first")})
        plan = asked(line, at)
        written(at, {file: evil})

        assert await said(runner, plan) == "drift"
        without_second_look(monkeypatch)
        assert "evil" in await said(runner, as_it_was(plan, operands=True))


@pytest.mark.parametrize("line", ["node g", "node g > log; cat log"])
async def test_a_main_by_way_of_a_folder_that_is_not_there(tmp_path: Path, line: str) -> None:
    """Node takes `no/../lib` for `lib.js`, which exists: nothing has appeared."""
    more = {"g/package.json": '{"main": "./no/../lib"}', "g/lib.js": GOOD_JS}
    async with running() as runner:
        plan = asked(line, at := folder(tmp_path / "at", more))
        before = await said(runner, plan)
        written(at, {"g/lib": EVIL_JS})

        assert before == "good\n"
        assert await said(runner, plan) == "drift"


async def test_a_folder_that_becomes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node runs `x` then; while it is a folder, its content may be read and may change."""
    more = {"x/data.js": GOOD_JS, "x.js": "require('./x/data.js')\n"}
    async with running() as runner:
        plan = asked("node ./x", at := folder(tmp_path / "at", more))
        written(at, {"x/more.js": ""})
        before = await said(runner, plan)
        shutil.rmtree(at / "x")
        written(at, {"x": EVIL_JS})

        assert before == "good\n"
        assert await said(runner, plan) == "drift"
        without_second_look(monkeypatch)
        assert await said(runner, as_it_was(plan)) == "evil\n"


@pytest.mark.parametrize(("line", "evil"), BOUND)
async def test_code_without_its_name_in_the_line(
    tmp_path: Path, line: str, evil: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is finally read is bound, whatever the line calls it."""
    at = folder(tmp_path / "at")
    async with running() as runner:
        plan = asked(line, at)
        before = await said(runner, plan)
        shutil.rmtree(at / "pk" / "__pycache__", ignore_errors=True)
        written(at, evil)

        assert "good" in before
        assert await said(runner, plan) == "drift"
        without_second_look(monkeypatch)
        assert "evil" in await said(runner, as_it_was(plan, operands=True))


async def test_what_python_keeps_is_not_read(tmp_path: Path) -> None:
    """It is rebuilt from the approved code, and what it then writes is valid."""
    async with running() as runner:
        for number, line in enumerate(KEPT):
            plan = asked(line, at := folder(tmp_path / str(number)))
            keep_evil(at, line)

            assert await said(runner, plan) == "good\n", line
            assert await said(runner, plan) == "good\n", line


async def test_without_that_it_is_read(tmp_path: Path) -> None:
    """The negative control: the same lines, the same files."""
    async with running() as runner:
        for number, line in enumerate(KEPT):
            plan = as_it_was(asked(line, at := folder(tmp_path / str(number))))
            keep_evil(at, line)

            printed = await said(runner, plan)
            assert "evil" in printed, (line, printed)


@pytest.mark.parametrize("line", [*KEPT, *OWN_MODULES])
async def test_what_python_writes_itself_asks_no_question(tmp_path: Path, line: str) -> None:
    """A second run of the same plan, and of an allow-always: Python cached its code by then.

    Nothing is promised about unreadable lines.
    """
    at = folder(tmp_path / "at")
    plan = asked(line, at)
    promises = evaluate(plan, LISTED, listed()).promise
    async with running() as runner:
        first = await said(runner, plan)
        written(at, {"pk/new.py": "", "data": ""})

        assert "good" in first
        assert list(at.rglob("*.pyc")) or "trace" in line or "pydoc" in line
        assert "good" in await said(runner, plan)
    if promises:
        assert evaluate(asked(line, at), LISTED, listed(*promises)).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *("node ./x", "node d", "node ./e", "node lk/../x.js", "python3 -m tool", "python3 pk"),
        *("python3 -m pk.sub", "gawk -f ./cawk", "node ./x > log; cat log"),
        *("perl -I. -MTool -e 'print qq(\\n)'", "env PATH=other:/usr/bin:/bin sh notes"),
        *("make -f mk > log; cat log", "PATH=other:$PATH; sh notes > log; cat log"),
    ],
)
async def test_other_files_may_come_about(tmp_path: Path, line: str) -> None:
    """Data, folders, other modules: none of them is read first."""
    at = folder(tmp_path / "at")
    async with running() as runner:
        plan = asked(line, at)
        data = {"x.json": "{}", "x.txt": "", "d/lib.js": "", "pk/data.json": "", "sub.py": ""}
        written(at, {**data, "d/lib/x.js": "", "tool.txt": "", "tools/__init__.py": ""})
        written(at, {"other/notes": "", "other/log": "", "all.sh": "", "Tools.pm": ""})

        assert await said(runner, plan) == "good\n"


async def test_what_the_line_makes_itself_is_found(tmp_path: Path) -> None:
    """A command that writes such a file reads what it wrote."""
    at = folder(tmp_path / "at", {"x.js": "require('fs').writeFileSync('x', 'made')\n"})
    async with running() as runner:
        plan = asked("sh -c 'node ./x; cat x'", at)

        assert await said(runner, plan) == "made"


@pytest.mark.parametrize(
    "makes",
    [
        "printf '#!/bin/sh\\necho made\\n' > other/ls; chmod +x other/ls",
        "printf '#!/bin/sh\\necho made\\n' > new; chmod +x new; ln -s ../new other/ls",
    ],
)
async def test_a_program_that_the_line_makes_itself_is_found(tmp_path: Path, makes: str) -> None:
    """As a line does that makes a virtual environment and puts it first in PATH."""
    at = folder(tmp_path / "at")
    async with running() as runner:
        plan = asked(f"{makes}; PATH=other:$PATH; ls > log; cat log", at)

        assert await said(runner, plan) == "made\n"


@pytest.mark.parametrize(
    "line", ["python3 empty", "node ./no", "node -r ./no -e 1", "node ./empty"]
)
def test_nothing_is_promised_about_code_that_is_not_there(tmp_path: Path, line: str) -> None:
    """Whatever appeared there would run without asking."""
    plan = asked(line, folder(tmp_path / "at"))

    assert not evaluate(plan, LISTED, listed()).promise


@pytest.mark.parametrize(("line", "files"), TAKEN_FIRST)
def test_always_holds_for_what_was_seen(tmp_path: Path, line: str, files: dict[str, str]) -> None:
    """A file that appears and would be taken first needs an answer."""
    at = folder(tmp_path / "at")
    promises = evaluate(asked(line, at), LISTED, listed()).promise or ()
    written(at, files)

    found = evaluate(asked(line, at), LISTED, listed(*promises))
    assert found.decision is Decision.ASK
