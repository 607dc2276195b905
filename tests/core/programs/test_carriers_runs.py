"""Run what the profiles call harmless, and check that nothing is written or started."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.policy.rules.self_test import examples
from core.programs.carriers import carrier_problem, profiled
from core.programs.profiles.tables import section, table

LOCAL = "awk date diff fd file find git gzip rg sed sort tar tree uniq unzip xxd xz"
HOSTILE = """-o out --output=out --output out -exec id ; -delete -fprint -i --in-place --pre id
-x --exec --to-command=id -I --use-compress-program=id --compress-program=id -w -W -f x -s now
--ext-diff --textconv -O -Oid --paginate -p -c core.pager=id -C . -r -k -d -z -R -- - input sub
a.tar repo branch tag new config a.b c stash drop reflog expire --all remote add""".split()  # noqa: SIM905 - a word list is easier to read than a column
STUB = '#!/bin/sh\n: > "$CANARY"\n'


def programs() -> list[str]:
    """Return the installed programs whose profiles need neither network nor service."""
    return [name for name in LOCAL.split() if shutil.which(name)]


def vocabulary(name: str) -> list[str]:
    """Return the words of a profile's own examples and of what attackers write."""
    holder = section(table(f"carriers/{profiled()[name]}"), name)
    known = [*examples(holder, "accept"), *examples(holder, "refuse")]
    return [*dict.fromkeys([*(word for line in known for word in line), *HOSTILE])]


@st.composite
def invocations(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return a program with words of its examples, mostly starting as an accepted one does."""
    name = draw(st.sampled_from(programs()))
    holder = section(table(f"carriers/{profiled()[name]}"), name)
    start = list(draw(st.sampled_from([*examples(holder, "accept"), ()])))
    more = draw(st.lists(st.sampled_from(vocabulary(name)), max_size=3))
    place = draw(st.integers(0, len(start)))
    return name, [*start[:place], *more, *start[place:]]


@pytest.mark.deep
@pytest.mark.timeout(300)
@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(invocations())
def test_harmless_invocations_leave_no_trace(
    tmp_path_factory: pytest.TempPathFactory, invocation: tuple[str, list[str]]
) -> None:
    """The real programs, run as a profile allows, change no file and start no stranger."""
    name, arguments = invocation
    if carrier_problem(f"/usr/bin/{name}", arguments) is None:
        assert trace(tmp_path_factory.mktemp("run"), name, arguments) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("find", ["input", "-delete"]),
        ("find", ["input", "-exec", "id", ";"]),
        ("sort", ["-o", "new", "input"]),
        ("git", ["branch", "new"]),
        ("git", ["-c", "core.pager=id", "-c", "alias.z=!id", "z"]),
        ("uniq", ["-", "new"]),
        ("sed", ["-i", "s/a/b/", "input"]),
        ("tar", ["cf", "new", "input"]),
    ],
)
def test_refused_invocations_do_leave_traces(
    tmp_path: Path, name: str, arguments: list[str]
) -> None:
    """Negative control: the checker sees what the refused ones do."""
    assert carrier_problem(f"/usr/bin/{name}", arguments) is not None
    assert trace(tmp_path, name, arguments) is not None


def trace(folder: Path, name: str, arguments: list[str]) -> str | None:
    """Run a program in a small repository and return what it changed or started."""
    work, environment = set_up(folder)
    before = state(work)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [name, *arguments],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
            env=environment,
        )
    after = state(work)
    if (folder / "canary").exists():
        return f"{name} {arguments} started another program"
    changed = {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}
    return f"{name} {arguments} changed {sorted(changed)}" if changed else None


def set_up(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make a repository with a commit and an archive, and programs that reveal their start."""
    work, stubs = folder / "work", folder / "bin"
    stubs.mkdir(parents=True)
    for stub in ("id", "x", "touch", "pager", "vi", "editor"):
        (stubs / stub).write_text(STUB, encoding="utf-8")
        (stubs / stub).chmod(0o755)
    (work / "sub").mkdir(parents=True)
    (work / "input").write_text("a x 1\nb y 2\n", encoding="utf-8")
    environment = {
        "PATH": f"{stubs}:/usr/bin:/bin",
        "HOME": str(folder),
        "CANARY": str(folder / "canary"),
        "LANG": "C.UTF-8",
    }
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for argv in (
        ("git", "init", "-q", "-b", "main"),
        ("git", "add", "input"),
        ("git", *identity, "commit", "-q", "-m", "x"),
        ("tar", "cf", "a.tar", "input"),
    ):
        subprocess.run(argv, cwd=work, env=environment, check=True, capture_output=True)
    return work, environment


def state(work: Path) -> dict[str, bytes | None]:
    """Return every file's content except git's index, which reading commands may refresh."""
    return {
        str(one.relative_to(work)): one.read_bytes() if one.is_file() else None
        for one in work.rglob("*")
        if one.name not in {"index", "index.lock"}
    }
