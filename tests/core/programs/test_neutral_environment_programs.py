"""Prove with the real program that each row for a program other than git does what it says.

Without a row the program obeys its surroundings; with all rows it does not. The rows of go
(1.21 and later), rustup, pip and terraform need what Debian 12 lacks: here they are only set.
"""

import contextlib
import json
import os
import pty
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.model.command import PinnedFile
from core.programs.neutral_environment import Row, When, neutral_environment, rows_of
from core.programs.profiles.tables import table
from tests.faults.program_traps import Listener, listening
from tests.support.runs import script


def rows(program: str) -> tuple[Row, ...]:
    """Return the rows of a program that are not git's."""
    path = shutil.which(program) or f"/usr/bin/{program}"
    return tuple(
        row for row in rows_of(program, path, path) if not row.is_setting and "GIT" not in row.name
    )


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Yield a port that counts its callers."""
    with listening() as found:
        yield found


def npm(folder: Path, settings: str, *words: str) -> Callable[[dict[str, str]], None]:
    """Return the command that runs npm in a project whose .npmrc says this, with an empty home."""
    (folder / "package.json").write_text(json.dumps({"name": "x", "dependencies": {"y": "1"}}))
    (folder / ".npmrc").write_text(settings)
    (folder / "home").mkdir()

    def start(more: dict[str, str]) -> None:
        base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder / "home")}
        argv = [shutil.which("npm") or "npm", *words]
        subprocess.run(argv, cwd=folder, env=base | more, check=False, stdout=-3, stderr=-3)

    return start


NPM = {
    "npm_config_update_notifier": ("registry={url}\n", ("prefix",)),
    "npm_config_offline": ("registry={url}\nfetch-retries=0\n", ("view", "y", "version")),
    "npm_config_cache": ("cache={folder}\n", ("prefix",)),
    "npm_config_logs_max": ("logs-dir={folder}\n", ("prefix",)),
}
ISOLATED = {
    "npm_config_update_notifier": {"npm_config_offline"},
    "npm_config_cache": {"npm_config_update_notifier"},
}
"""Rows that would hide what another one does are left out on both sides."""


@pytest.mark.parametrize("name", NPM)
def test_npm_does_not_obey_the_projects_npmrc(
    name: str, tmp_path: Path, listener: Listener
) -> None:
    """Hole 8: `npm ls` sent requests to its registry, `npm prefix` wrote into its folders."""
    settings, words = NPM[name]
    evil = tmp_path / "written"
    filled = settings.format(url=f"http://127.0.0.1:{listener.port}/", folder=evil)
    start = npm(tmp_path, filled, *words)
    every = {row.name: row.value for row in rows("npm") if row.name not in ISOLATED.get(name, ())}

    start({key: value for key, value in every.items() if key != name})
    obeyed = bool(listener.calls) or evil.exists()
    listener.calls.clear()
    shutil.rmtree(evil, ignore_errors=True)
    start(every)

    assert obeyed, "the row makes no difference"
    assert not listener.calls
    assert not evil.exists()


def test_every_row_for_npm_is_tried() -> None:
    """A row that nothing proves is a promise."""
    assert {row.name for row in rows("npm")} == NPM.keys()


READINGS = [
    ("npm ls", "npm_config_offline"),
    ("go version", "GOTOOLCHAIN"),
    ("cargo --version", "RUSTUP_AUTO_INSTALL"),
    ("rustc -V", "RUSTUP_AUTO_INSTALL"),
    ("pip list", "PIP_DISABLE_PIP_VERSION_CHECK"),
    ("terraform version", "CHECKPOINT_DISABLE"),
]


@pytest.mark.parametrize(("line", "name"), READINGS)
def test_a_reading_gets_its_rows(line: str, name: str) -> None:
    """The rows are set for harmless invocations, and not for what a person approves."""
    program = line.split(maxsplit=1)[0]
    file = PinnedFile(f"/usr/bin/{program}", f"/usr/bin/{program}", 1, 1, 1, "")

    assert name in dict(neutral_environment(tuple(line.split()), file))
    assert name not in dict(neutral_environment((program, "install", "x"), file))


def test_only_git_sets_what_a_person_may_mean() -> None:
    """Few rows also apply to approved commands: npm's update check."""
    always = {
        row.name
        for program in table("neutral")
        if program != "git"
        for row in rows(program)
        if row.when is not When.READING
    }

    assert always == {"npm_config_update_notifier"}


PAGERS = [
    ("man", ("-l", "page.1")),
    ("systemctl", ("--help",)),
    ("journalctl", ("--help",)),
]


@pytest.mark.parametrize(("program", "words"), PAGERS)
def test_no_pager_on_a_terminal(program: str, words: tuple[str, ...], tmp_path: Path) -> None:
    """A pager is found on the search path, and there a key starts a shell."""
    flag = tmp_path / "paged"
    for name in ("pager", "less", "more"):
        script(tmp_path / name, f"#!/bin/sh\n: > '{flag}'\ncat\n")
    (tmp_path / "page.1").write_text(".TH X 1\n.SH NAME\nx\n" + "line\n.br\n" * 99)
    base = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "xterm"}

    on_a_terminal([program, *words], tmp_path, base)
    paged = flag.exists()
    flag.unlink(missing_ok=True)
    more = {row.name: row.value for row in rows(program)}
    on_a_terminal([program, *words], tmp_path, base | more)

    assert paged, "the row makes no difference"
    assert not flag.exists()


def on_a_terminal(argv: list[str], folder: Path, environ: dict[str, str]) -> None:
    """Run a program on a terminal to its end; its output is read and dropped."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        argv, cwd=folder, env=environ, stdin=follower, stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        with contextlib.suppress(OSError):
            while os.read(leader, 65_536):
                pass
        process.wait(30)
    os.close(leader)


CONFIGURED = [
    ("rg", ("x", "."), {"RIPGREP_CONFIG_PATH": "conf"}),
    ("less", ("conf",), {"LESSOPEN": "|./evil %s"}),
]


@pytest.mark.parametrize(("program", "words", "obeyed"), CONFIGURED)
def test_a_variable_that_names_a_program_is_overruled(
    program: str, words: tuple[str, ...], obeyed: dict[str, str], tmp_path: Path
) -> None:
    """No request may set such a variable; if one is set all the same, the row is stronger."""
    flag = tmp_path / "ran"
    evil = script(tmp_path / "evil", f"#!/bin/sh\n: > '{flag}'\ncat \"$1\"\n")
    (tmp_path / "conf").write_text(f"--pre={evil}\n")
    base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **obeyed}
    more = {row.name: row.value for row in rows(program)}

    fired = []
    for environ in (base, base | more):
        flag.unlink(missing_ok=True)
        subprocess.run([program, *words], cwd=tmp_path, env=environ, check=False, stdout=-3)
        fired.append(flag.exists())

    assert fired == [True, False]
