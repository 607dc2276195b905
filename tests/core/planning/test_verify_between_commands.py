"""Bind what a line's later commands depend on again before each of them.

On the code before (commit 6a3dcf4), with rules that let git, sleep and `cp <PATH> <PATH>` pass::

    $ sayso run -c 'cp evilcfg .git/config && git diff'          # diff.external = ~/p/evil.sh
    exit 0; canary: fired
    $ (sleep 0.5; cp evilcfg .git/config) & sayso run -c 'sleep 1 && git diff'
    exit 0; canary: fired
    $ (sleep 0.5; ln -s ~/outside out) & sayso run -c 'sleep 1 && cp a out'
    exit 0; ~/outside: data
    $ (sleep 0.5; cp evilcfg .git/config) & sayso run -c "sh -c 'sleep 1; git diff'"
    exit 0; canary: fired
"""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import PlanDrift
from core.files.file_identity import identity
from core.model.result import Finished
from core.planning.verify import Recheck, recheck
from core.runner import runner as process
from core.runner.runner import Runner
from tests.support.runs import Start, copy_of, new_run, planned, request, run, script
from tests.support.waiting import until

Change = Callable[[Path], object]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a repository of one changed file, an evil program and its settings."""
    folder = tmp_path / "place"
    folder.mkdir()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "f"), ("commit", "-qm", "x")):
        (folder / "f").write_text("one\n")
        subprocess.run((*git, *words), cwd=folder, check=True)
    (folder / "f").write_text("two\n")
    evil = script(folder / "evil.sh", f"#!/bin/sh\necho fired >{tmp_path}/canary\ncat\n")
    config = (folder / ".git/config").read_text()
    (folder / "evilcfg").write_text(f'{config}[filter "x"]\n\tclean = {evil}\n')
    (folder / ".git/info/attributes").write_text("* filter=x\n")
    (folder / "data").write_text("data\n")
    script(folder / "change", "#!/bin/sh\ncp evilcfg .git/config\n")
    script(folder / "wait", "#!/bin/sh\n: >here; until [ -e go ]; do sleep 0.02; done\n")
    (tmp_path / "outside").write_text("precious\n")
    return folder


def canary(place: Path) -> bool:
    """Return whether the evil program ran."""
    return (place.parent / "canary").exists()


def harmed(place: Path) -> bool:
    """Return whether anything outside the folder was written."""
    return (place.parent / "outside").read_text() != "precious\n"


def without_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the second check off."""
    monkeypatch.setattr(process, "recheck", lambda *_, **__: Recheck())


async def stolen(runner: Runner, line: str, place: Path, change: Change) -> Finished:
    """Run a line that waits, and change something while it does."""
    running = asyncio.ensure_future(run(runner, request(line, cwd=place)))
    await until(lambda: (place / "here").exists() or running.done())
    change(place)
    (place / "go").touch()
    return await running


def steer(place: Path) -> None:
    """Name a program in the repository's configuration."""
    shutil.copy(place / "evilcfg", place / ".git/config")


def link_out(place: Path) -> None:
    """Make the name of the copy lead out of the folder."""
    (place / "out").symlink_to("../outside")


@pytest.mark.parametrize("bound", [True, False])
async def test_a_configuration_that_the_line_itself_changes(
    runner: Runner, place: Path, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hole 5: what a command does to the configuration, unseen by policy, stops git after it."""
    if not bound:
        without_binding(monkeypatch)

    done = await run(runner, request("./change && git diff", cwd=place))

    assert canary(place) is not bound
    assert ("`git` (command 2 of 2) was not started" in done.drift) is bound


async def test_a_hook_that_the_line_itself_puts_there(runner: Runner, place: Path) -> None:
    """Hole 5: `cp h .git/hooks/post-index-change && git diff` runs both, and no hook."""
    line = "cp evil.sh .git/hooks/post-index-change && git diff"

    done = await run(runner, request(line, cwd=place))

    assert not canary(place)
    assert (done.exit_code, done.drift) == (0, "")


async def test_code_that_the_line_itself_puts_there(runner: Runner, place: Path) -> None:
    """Always allowed without a `Tool.pm`, perl does not load the one that the line makes."""
    (place / "data").write_text(f"open my $f, '>', '{place.parent}/canary'; 1;\n")
    (place / "a.pl").touch()

    done = await run(runner, request("cp data Tool.pm && perl -I. -MTool a.pl", cwd=place))

    assert not canary(place)
    assert "`perl` (command 2 of 2) was not started" in done.drift


@pytest.mark.parametrize("bound", [True, False])
async def test_a_configuration_that_somebody_changes_meanwhile(
    runner: Runner, place: Path, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hole 5: what steers git is checked after the pause, too."""
    if not bound:
        without_binding(monkeypatch)

    done = await stolen(runner, "./wait && git diff", place, steer)

    assert canary(place) is not bound
    assert bool(done.drift) is bound


@pytest.mark.parametrize("bound", [True, False])
async def test_a_configuration_that_changes_while_a_shell_runs(
    runner: Runner, place: Path, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hole 5: `sh -c 'sleep 4; git diff'` is run without the shell, each command bound again."""
    if not bound:
        monkeypatch.setattr(process, "as_started", lambda plan: plan)

    done = await stolen(runner, "sh -c './wait; git diff'", place, steer)

    assert canary(place) is not bound
    assert ("`git` (command 2 of 2) was not started" in done.drift) is bound


@pytest.mark.parametrize("bound", [True, False])
async def test_a_link_that_somebody_makes_meanwhile(
    runner: Runner, place: Path, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hole 6: `sleep 4 && cp a out` does not follow a link that did not exist."""
    if not bound:
        without_binding(monkeypatch)

    done = await stolen(runner, "./wait && cp data out", place, link_out)

    assert harmed(place) is not bound
    assert ("leads elsewhere" in done.drift) is bound


def swap_script(place: Path) -> None:
    """Put another content into the script."""
    (place / "x.sh").write_text("echo evil")


def swap_folder(place: Path) -> None:
    """Replace a folder with another."""
    (place / "sub").rename(place / "gone")
    (place / "sub").mkdir()


def swap_program(place: Path) -> None:
    """Replace a program with another."""
    copy_of("false", place / "other").rename(place / "tool")


def add_module(place: Path) -> None:
    """Make the script that did not exist."""
    (place / "main.py").write_text("print('evil')")


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("./wait && sh x.sh", swap_script),
        ("./wait ; cd sub && ls", swap_folder),
        ("./wait || true ; ./tool", swap_program),
        ("./wait && python3 main.py", add_module),
        ("./wait && cat data | env git diff", steer),
    ],
)
async def test_whatever_else_is_bound_is_bound_again(
    runner: Runner, place: Path, line: str, change: Change
) -> None:
    """Scripts, folders, programs, code that did not exist, and what a wrapper starts."""
    (place / "x.sh").write_text("echo good")
    (place / "sub").mkdir()
    copy_of("true", place / "tool")

    done = await stolen(runner, line, place, change)

    assert done.drift
    assert done.exit_code == 126
    assert not done.output.text.startswith("evil")


async def test_what_ran_before_is_kept_and_what_follows_does_not_run(
    runner: Runner, place: Path
) -> None:
    """The line ends: not even `||` and `;` continue; output stays, and the reason comes last."""
    line = "echo first; ./change; git diff || echo second; touch third"

    done = await run(runner, request(line, cwd=place))

    first, last = done.output.text.splitlines()
    assert (first, last.startswith("sayso: `git` would")) == ("first", True)
    assert not (place / "third").exists()


async def test_a_first_command_still_denies_the_run(runner: Runner, place: Path) -> None:
    """Before anything ran, drift is what it was: an error, and not the end of a run."""
    plan = planned(request("git diff && sleep 0", cwd=place))
    steer(place)

    with pytest.raises(PlanDrift, match="nothing ran"):
        await runner.run(new_run(), plan, Start())


LEGITIMATE = """
git add f && git commit -m y
git add -A ; git status ; git log --oneline
git status && git diff | cat && git log --oneline | head -1
git init -q fresh && git status
git branch other && git switch -q other && git status
git remote add origin ssh://example.org/x && git status
git config user.name b && git log -1
git tag v1 && git describe --tags
git stash -q && git stash pop -q && git diff
git mv f g && git status && cat g
mkdir -p a && cp data a/ && cat a/data
mkdir -p a/b/c && touch a/b/c/d && ls a/b/c
touch new && cat new
touch new && rm new && touch new
cp data copy && diff data copy
cp -r a-dir b-dir && ls b-dir
mv data moved && cat moved
rm -f data && ls
echo x | tee out && cat out
seq 3 | sort -r | head -1 ; echo done
ls missing || echo none
false || true && echo yes
sh x.sh && sh x.sh
sh x.sh | cat ; python3 x.py
python3 x.py && git status
sed -i s/data/other/ data && cat data
cat link && cp data new && cat link
rm -f link && cp data link && cat link
rm -f link && ln -s data link
cd a-dir && ls && cat inner ; pwd
env LANG=C ls && nice ls
chmod 600 data && stat data
truncate -s 0 data && wc -c data
tar cf a.tar data && tar tf a.tar
"""


@pytest.mark.parametrize("line", LEGITIMATE.strip().splitlines())
async def test_what_a_line_may_change_is_no_drift(runner: Runner, place: Path, line: str) -> None:
    """Commands that work on what earlier ones made continue as before."""
    (place / ".git/info/attributes").unlink()
    with (place / ".git/config").open("a") as config:
        config.write("[user]\n\tname = a\n\temail = a@b.c\n")
    (place / "x.sh").write_text("echo good")
    (place / "x.py").write_text("print('good')")
    (place / "a-dir").mkdir()
    (place / "a-dir/inner").write_text("inner")
    (place / "link").symlink_to("f")

    done = await run(runner, request(line, cwd=place))

    assert (done.drift, done.exit_code) == ("", 0), done.output.text


@pytest.mark.parametrize(
    "line",
    [
        "chmod +x x.sh && ./x.sh",
        "touch x.sh; ./x.sh",
        "chmod +x x.sh && timeout 9 ./x.sh",
        "chmod +x x.sh && sh x.sh",
        "touch tool && ./tool hi",
        "touch x.sh && true && chmod +x x.sh && ./x.sh | cat",
    ],
)
async def test_a_command_may_change_the_times_of_what_follows(
    runner: Runner, place: Path, line: str
) -> None:
    """The content is what was approved; it is compared again, as before the first command."""
    script(place / "x.sh", "#!/bin/sh\necho hi\n")
    copy_of("echo", place / "tool")
    done = await run(runner, request(line, cwd=place))

    assert (done.drift, done.exit_code, done.output.text) == ("", 0, "hi\n")


@pytest.mark.parametrize(
    ("line", "output", "drifts"),
    [
        ("chmod +x x.sh && ./x.sh", "good\n", False),
        ("chmod 755 x.sh; timeout 9 ./x.sh", "good\n", False),
        ("chmod +x x.sh; cp evil x.sh; ./x.sh", "", True),
        ("chmod +x x.sh; mv evil x.sh; ./x.sh", "", True),
        ("chmod +x x.sh; chmod -x x.sh; ./x.sh", "", False),
    ],
)
async def test_a_line_may_make_a_script_executable(
    runner: Runner, place: Path, line: str, output: str, *, drifts: bool
) -> None:
    """The script runs as it was approved, or not at all."""
    (place / "x.sh").write_text("#!/bin/sh\necho good\n")
    script(place / "evil", "#!/bin/sh\necho evil\n")
    done = await run(runner, request(line, cwd=place))

    assert (bool(done.drift), "evil" in done.output.text) == (drifts, False)
    assert done.output.text.startswith(output)


async def test_what_a_line_changed_counts_for_no_later_line(runner: Runner, place: Path) -> None:
    """A supervisor that serves again expects the files of its new job only."""
    done = []
    for turn in range(12):
        script(place / "x.sh", f"#!/bin/sh\necho {turn}\n")
        line = "chmod +x x.sh && ./x.sh" if turn % 4 == 0 else "./x.sh"
        done.append(await run(runner, request(line, cwd=place)))

    assert [one.output.text for one in done] == [f"{turn}\n" for turn in range(12)]


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("#!/bin/sh\necho no\n"),
        lambda file: script(file.with_name("y"), "#!/bin/sh\necho no\n").rename(file),
        lambda file: file.chmod(0o700),
    ],
    ids=["overwritten", "replaced", "only its times"],
)
@pytest.mark.parametrize("line", ["chmod +x x.sh && ./x.sh", "chmod +x x.sh && timeout 9 ./x.sh"])
async def test_a_change_after_the_second_look_ends_the_line(
    runner: Runner, place: Path, monkeypatch: pytest.MonkeyPatch, line: str, change: Change
) -> None:
    """What was seen then is compared once more as the command starts."""
    file = script(place / "x.sh", "#!/bin/sh\necho hi\n")
    look = recheck

    def looked(*args: Any, **options: Any) -> Recheck:
        found = look(*args, **options)
        change(file)
        return found

    monkeypatch.setattr(process, "recheck", looked)
    done = await run(runner, request(line, cwd=place))

    assert "changed after it was approved" in done.drift
    assert "no" not in done.output.text.splitlines()
    assert "hi" not in done.output.text.splitlines()


@pytest.mark.parametrize("name", ["script", "program"])
async def test_a_change_within_a_tick_of_the_clock_is_found_by_its_content(
    runner: Runner, place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file that was changed a moment ago proves nothing by its times."""
    script(place / "script", "#!/bin/sh\necho hi\n")
    copy_of("echo", place / "program")
    other = {"script": b"#!/bin/sh\necho no\n", "program": Path("/bin/printf").read_bytes()}
    look = recheck

    def looked(*args: Any, **options: Any) -> Recheck:
        look(*args, **options)
        file = place / name
        file.write_bytes(other[name])
        return Recheck(identities={str(file): identity(file.stat())})

    monkeypatch.setattr(process, "recheck", looked)
    done = await run(runner, request(f"chmod +x {name} && ./{name} no", cwd=place))

    assert "changed after it was approved" in done.drift
    assert "no" not in done.output.text.splitlines()


async def test_the_look_waits_for_no_answer_longer_than_the_run_may_last(
    runner: Runner, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time limit that passes while the gateway checks ends the run and frees the supervisor.

    Its late answer must not be taken for another job's first byte.
    """

    def slow(*_: object, **__: object) -> Recheck:
        time.sleep(0.6)
        return Recheck()

    monkeypatch.setattr(process, "recheck", slow)
    done = await run(runner, request("true && echo no", cwd=place, timeout_ms=300))
    assert (done.timed_out, done.output.text) == (True, "")

    monkeypatch.undo()
    again = [await run(runner, request("true && echo yes", cwd=place)) for _ in range(3)]
    assert [one.output.text for one in again] == ["yes\n"] * 3


async def test_a_cancellation_between_two_commands_ends_the_line(
    runner: Runner, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation is handled while the supervisor waits for the check."""
    looked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*_: object, **__: object) -> Recheck:
        loop.call_soon_threadsafe(looked.set)
        time.sleep(0.3)
        return Recheck()

    monkeypatch.setattr(process, "recheck", slow)
    run_id, plan = new_run(), planned(request("true && echo no", cwd=place))
    running = asyncio.ensure_future(runner.run(run_id, plan, Start()))
    await looked.wait()

    assert await runner.cancel(run_id)
    done = await running

    assert (done.cancelled, done.output.text) == (True, "")


@pytest.mark.parametrize(
    ("line", "output", "code"),
    [
        ("sh -c 'echo a; echo b'", "a\nb\n", 0),
        ("bash -c 'echo b | cat && false || echo c'", "b\nc\n", 0),
        ("sh -c 'ls missing' 2>/dev/null", "", 2),
        ("sh -c 'false; echo $HOME'", "/", 0),
        ("sh -ec 'false && echo a'", "", 1),
        ("bash -c \"sh -c 'true; false'\"", "", 1),
        ("sh -c 'echo a; echo b' >/dev/null", "", 0),
    ],
)
async def test_a_shell_that_is_left_out_is_not_missed(
    runner: Runner, place: Path, line: str, output: str, code: int
) -> None:
    """Output and status are those that the shell would have had."""
    done = await run(runner, request(line, cwd=place))

    assert (done.output.text[: len(output)], done.exit_code) == (output, code)
    assert bool(done.output.text) is bool(output)


async def test_nothing_is_left_open(runner: Runner, place: Path) -> None:
    """Each check closes what it opened."""
    (place / "x.sh").write_text("true")
    line = "; ".join(["sh x.sh"] * 5)
    await run(runner, request(line, cwd=place))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of names

    for _ in range(3):
        await run(runner, request(line, cwd=place))

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count of names
