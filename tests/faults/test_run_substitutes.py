"""Replace an approved script: with a link, a folder, a file that is read instead.

The interpreter looks before it opens: for links on the way, for a folder to enter, for the name
with a suffix, for the name of its own folder. Each of these has to lead to what was approved (issue
10).
"""

import asyncio
import errno
import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from core.runner import pool
from core.runner.runner import Runner
from tests.faults.swaps import UNPROTECTED
from tests.support.runs import Start, new_run, planned, request, running, script
from tests.support.waiting import until

TEXTS = {
    "py": ("python3", 'print("{}")\n'),
    "js": ("node", 'console.log("{}")\n'),
    "sh": ("sh", "echo {}\n"),
    "pl": ("perl", 'print "{}\\n";\n'),
    "awk": ("awk -f", 'BEGIN {{ print "{}" }}\n'),
}


def hostile(path: Path, kind: str | None = None) -> Path:
    """Write a script that no one saw."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXTS[kind or path.suffix[1:]][1].format("evil"))
    return path


def aside(path: Path) -> None:
    """Remove what is at a path."""
    path.rename(f"{path}.old")


def link(place: Path, at: Path) -> None:
    """Replace it with a link to another script."""
    aside(at)
    at.symlink_to(hostile(place / "other" / at.name))


def link_to_descriptor(place: Path, at: Path) -> None:
    """Replace it with a link to a file that another process has open."""
    aside(at)
    fd = os.open(hostile(place / "other" / at.name), os.O_RDONLY)
    at.symlink_to(f"/proc/{os.getpid()}/fd/{fd}")


def fill(at: Path) -> None:
    """Make a folder that can be run."""
    hostile(at / "__main__.py")
    hostile(at / "index.js")


def folder(_: Path, at: Path) -> None:
    """Replace it with a folder that can be run."""
    aside(at)
    fill(at)


def linked_folder(place: Path, at: Path) -> None:
    """Replace it with a link to such a folder."""
    aside(at)
    fill(place / "other")
    at.symlink_to("../other")


def package(_: Path, at: Path) -> None:
    """Replace it with a folder that names a script elsewhere."""
    aside(at)
    hostile(at / "lib" / "main.js")
    (at / "package.json").write_text('{"main": "lib/main.js"}')


def suffix(_: Path, at: Path) -> None:
    """Remove it, and leave what is read instead."""
    aside(at)
    for end in ("js", "awk"):
        hostile(Path(f"{at}.{end}"), end)


def linked_above(place: Path, at: Path) -> None:
    """Replace its folder with a link."""
    aside(at.parent)
    hostile(place / "other" / at.name)
    at.parent.symlink_to("other")


def moved_above(place: Path, at: Path) -> None:
    """Replace its folder with another, and rename the one that they are in."""
    aside(at.parent)
    hostile(at)
    place.rename(place.with_name("moved"))


def moved_and_replaced(place: Path, at: Path) -> None:
    """Do so, and replace that one with another as well."""
    moved_above(place, at)
    hostile(at)


def pipe(_: Path, at: Path) -> None:
    """Replace it with a named pipe."""
    aside(at)
    os.mkfifo(at)
    text = TEXTS[at.suffix[1:]][1].format("evil")
    threading.Thread(target=offer, args=(at, text), daemon=True).start()


def offer(at: Path, text: str) -> None:
    """Write to whoever opens a named pipe, until it is removed; a blocking open waits longer."""
    with suppress(FileNotFoundError, BrokenPipeError):
        while not (opened := opened_by_a_reader(at)):
            time.sleep(0.005)
        with opened:
            opened.write(text)


def opened_by_a_reader(at: Path) -> TextIO | None:
    """Open a named pipe to write if someone has it open to read (fifo(7)).

    Raises:
        FileNotFoundError: it was removed.
    """
    try:
        return os.fdopen(os.open(at, os.O_WRONLY | os.O_NONBLOCK), "w")
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


CHANGES = (
    *(link, link_to_descriptor, folder, linked_folder, package, suffix),
    *(linked_above, moved_above, moved_and_replaced, pipe),
)

WAIT = "#!/bin/sh\ntouch ready\nwhile ! [ -e go ]; do sleep 0.01; done\n"


async def ran(runner: Runner, base: Path, kind: str, change: Callable[[Path, Path], None]) -> str:
    """Run a script of a kind after a command that waits for the change; return what it printed."""
    place = base / f"{kind}-{change.__name__}" / "work"
    at = place / "sub" / f"x.{kind}"
    at.parent.mkdir(parents=True)
    program, text = TEXTS[kind]
    script(at, text.format("good"))
    script(place / "wait", WAIT)
    line = f"./wait $(true); {program} sub/{at.name}"
    plan = planned(request(line, cwd=place, timeout_ms=60_000))
    task = asyncio.ensure_future(runner.run(new_run(), plan, Start()))
    await until((place / "ready").exists)
    change(place, at)
    for one in filter(Path.exists, (place, place.with_name("moved"))):
        (one / "go").touch()
    return (await task).output.text


@pytest.mark.parametrize("kind", TEXTS)
async def test_nothing_else_is_run_in_its_place(tmp_path: Path, kind: str) -> None:
    """The approved content runs or nothing does, whatever is put there."""
    async with running() as runner:
        for change in CHANGES:
            said = await ran(runner, tmp_path, kind, change)

            assert "evil" not in said.split(), (change.__name__, said)


@pytest.mark.parametrize(
    ("kind", "change"),
    [("js", one) for one in CHANGES] + [("py", folder), ("sh", moved_above), ("pl", link)],
)
async def test_without_the_delivery_it_is(
    tmp_path: Path, kind: str, change: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the same changes."""
    monkeypatch.setattr(pool, "BOOTSTRAP", UNPROTECTED)
    async with running() as runner:
        assert "evil" in (await ran(runner, tmp_path, kind, change)).split()


ROOTS = {
    "a link to the script": "ln -s sub/x.js x.js; node x.js",
    "a link to its folder": "ln -s sub linked; node linked/x.js",
    "two links": "ln -s sub one; ln -s one two; ln -s two/x.js x.js; node x.js",
}


@pytest.mark.parametrize("case", ROOTS)
async def test_links_that_were_there_lead_where_they_led(tmp_path: Path, case: str) -> None:
    """Node looks for what a script requires next to the file that the links lead to."""
    links, _, run = ROOTS[case].rpartition("; ")
    (tmp_path / "sub").mkdir()
    script(tmp_path / "sub" / "x.js", 'require("./y"); console.log(process.cwd())\n')
    (tmp_path / "sub" / "y.js").write_text('console.log("beside")\n')
    words = ("sh", "-c", links)
    await asyncio.to_thread(subprocess.run, words, cwd=tmp_path, check=True)
    async with running() as runner:
        done = await runner.run(new_run(), planned(request(run, cwd=tmp_path)), Start())

    assert done.output.text.split() == ["beside", str(tmp_path)]


@pytest.mark.parametrize(
    "line",
    [
        "rm x.js; mkdir x.js; cp evil.js x.js/index.js; node x.js $(true)",
        "cp evil.js x.js.js; rm x.js; node x.js $(true)",
        "rm x.js; ln -s evil.js x.js; node x.js $(true)",
        "mv sub old; mkdir sub; cp evil.js sub/x.js; cd sub; node x.js $(true)",
    ],
)
async def test_what_the_command_itself_puts_there_is_read(tmp_path: Path, line: str) -> None:
    """The text that was approved says so."""
    (tmp_path / "sub").mkdir()
    for at in (tmp_path / "x.js", tmp_path / "sub" / "x.js"):
        script(at, 'console.log("good")\n')
    hostile(tmp_path / "evil.js")
    async with running() as runner:
        done = await runner.run(new_run(), planned(request(line, cwd=tmp_path)), Start())

    assert done.output.text == "evil\n"


async def test_a_script_may_read_what_is_called_like_it(tmp_path: Path) -> None:
    """`cli` that requires `./cli.js`, as packages do."""
    script(tmp_path / "cli", '#!/usr/bin/env node\nrequire("./cli.js")\n')
    (tmp_path / "cli.js").write_text('console.log("good")\n')
    async with running() as runner:
        for line in ("./cli", "node cli", "./cli $(true)", "node cli.js"):
            done = await runner.run(new_run(), planned(request(line, cwd=tmp_path)), Start())

            assert done.output.text == "good\n", line


SLOW = "touch ready\nwhile ! [ -e go ]; do sleep 0.01; done\n" + "#" * 70 + "\n"


@pytest.mark.parametrize(
    ("mode", "group", "says"),
    [(0o664, 61234, "good"), (0o666, 0, "good"), (0o644, 61234, "evil"), (0o664, 0, "evil")],
    ids=["another group", "everybody", "nobody else (control)", "own group (control)"],
)
async def test_others_change_nothing_of_a_script_that_is_read(
    tmp_path: Path, mode: int, group: int, says: str
) -> None:
    """In place, when no lease holds writers any more: a shell reads the rest of a long script.

    Others who may write to it change nothing; its owner's own change shows, as documented.
    """
    text = SLOW + f"{'#' * 60}\n" * 1500 + "echo good\n"
    at = script(tmp_path / "x.sh", text)
    os.chown(at, -1, group)
    at.chmod(mode)
    async with running() as runner:
        plan = planned(request("dash x.sh", cwd=tmp_path, timeout_ms=60_000))
        task = asyncio.ensure_future(runner.run(new_run(), plan, Start()))
        await until((tmp_path / "ready").exists)
        await asyncio.to_thread(overwritten, at, text.replace("good", "evil"))
        (tmp_path / "go").touch()
        done = await task

    assert done.output.text == f"{says}\n"


def overwritten(path: Path, text: str) -> None:
    """Write to a file that stays the same one; it waits for the end of a lease."""
    with path.open("r+") as file:
        file.write(text)
