import asyncio
import os
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.errors import PlanDrift
from core.model.command import Connector, ExecPlan, ExecRequest, PinnedFile, PlannedCommand
from core.model.decision import DenialReason
from core.model.identity import AgentId, SessionKey
from core.model.policy import ExecHost
from core.planning.digest import digest_of
from core.planning.paths.pins import LARGEST_PIN
from core.planning.planner import Planner
from core.planning.request_checks import LARGEST_COMMAND
from core.planning.verify import verify
from tests.support.runs import POLICY, copy_of, planned, refused, request, script
from tests.support.tables import rows


def executable(command: PlannedCommand) -> PinnedFile:
    """Return the executable of a command that has one."""
    assert command.executable is not None, command.problem
    return command.executable


def test_a_bare_name_is_found_on_the_fixed_path() -> None:
    """The requested PATH plays no part, and a linked /bin has its real name."""
    plan = planned(request("ls -l", env=(("PATH", "/nowhere"),)))
    found = executable(plan.commands[0])

    assert found.path == os.path.realpath("/bin") + "/ls"
    assert found.inode == Path("/bin/ls").stat().st_ino
    assert plan.commands[0].argv == ("ls", "-l")


@rows(
    "line, asked",
    [
        ("chmod -x made && ./made", True),
        ("chmod 644 made && ./made", True),
        ("chmod +x other && ./made", True),
        ("chmod +x ../made; ./made", True),
        ("./chmod +x made; ./made", True),
        ("echo chmod +x made; ./made", True),
        ("touch made; ./made -v", True),
        ("chmod +x made && ls && ./made", False),
        ("cp a gone && ./gone", True),
        ("ls && gone", False),
        ("./made", False),
        ("./made && ls", False),
        ("chmod +x made && ls", False),
    ],
)
def test_a_program_that_a_line_makes_is_to_be_asked_for_by_itself(line: str, asked: bool) -> None:
    """It is looked up before anything runs, so the reason says what to do."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "made").touch()
        commands = planned(request(line, cwd=folder)).commands

    assert asked == any("request that command first" in one.problem for one in commands)


@rows(
    "line",
    [
        "chmod +x x.sh && ./x.sh",
        "chmod 755 x.sh; ./x.sh",
        "chmod 0700 y x.sh && ls && ./x.sh",
        "chmod u+rwx,g=rx x.sh && timeout 9 ./x.sh",
        "chmod a+x ./x.sh && ../$d/x.sh",
        "chmod +x *.sh && ./x.sh",
        "cd .. && chmod +x $d/x.sh && cd $d && ./x.sh",
        "chmod +x {at}/x.sh && {at}/x.sh",
    ],
)
def test_a_file_that_the_line_makes_executable_is_found(line: str) -> None:
    """It is bound as it is now; the line alone makes no other file a program."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "x.sh").write_text("#!/bin/sh\necho hi\n")
        words = line.replace("{at}", folder).replace("$d", Path(folder).name)
        *_, last = planned(request(words, cwd=folder)).commands
        assert not last.problem
        assert any(one.path.endswith("/x.sh") for one in (executable(last), *last.operands))

        (alone,) = planned(request("./x.sh", cwd=folder)).commands
        assert "is not executable" in alone.problem


@rows(
    "line",
    [
        "chmod +x x && time ./x",
        "chmod +x x && flock lock ./x",
        "chmod +x x && find . -name lock -exec ./x {} \\;",
        "chmod +x x && xargs ./x < lock",
        "chmod +x x && env -S ./x",
        "chmod +x x && python3 -c 'import os; os.system(\"./x\")'",
        "chmod +x x && tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./x lock",
        "chmod -R +x . && flock lock ./x",
        "find . -exec chmod +x {} + && flock lock ./x",
        "(chmod +x x; ./x)",
        "chmod +x x; if true; then ./x; fi",
        "chmod +x d/t; PATH=d:$PATH t",
        "chmod +x d/t; export PATH=$PWD/d:$PATH; t",
        "sh -c 'chmod +x x && ./x'",
        "bash -c 'chmod +x x; for i in 1; do ./x; done'",
        'python3 -c \'import os; os.chmod("x", 0o755); os.system("./x")\'',
    ],
)
def test_what_a_line_makes_executable_is_bound_behind_other_programs(line: str) -> None:
    """Otherwise an agent could put other code there between the question and its answer."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "d").mkdir()
        for name in ("x", "d/t", "lock"):
            (place / name).write_text("#!/bin/sh\necho good\n")
        plan = planned(request(line, cwd=folder))
        assert not any(one.problem for one in plan.commands)
        name = "d/t" if "d/t" in line else "x"
        (place / "new").write_text("#!/bin/sh\necho evil\n")
        (place / "new").rename(place / name)
        with pytest.raises(PlanDrift), verify(plan):
            pass


@rows(
    "line",
    [
        "flock lock ./x",
        "flock lock ./later",
        "time ./x",
        "if true; then ./later; fi",
        "env -S ./x",
        "python3 -c 'import os; os.system(\"./x\")'",
        "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./later lock",
    ],
)
def test_data_that_became_a_program_is_not_started(line: str) -> None:
    """What a command names could not be run when it was judged, so no one saw that it would be."""
    with TemporaryDirectory() as folder:
        for name in ("x", "lock"):
            (Path(folder) / name).write_text("data\n")
        plan = planned(request(line, cwd=folder))
        with verify(plan):
            pass
        script(Path(folder) / ("later" if "later" in line else "x"), "#!/bin/sh\necho evil\n")
        with pytest.raises(PlanDrift), verify(plan):
            pass


@rows(
    "line, name",
    [
        ("({words}; ./x)", "x"),
        ("time {words}; ./x", "x"),
        ("if true; then {words}; ./x; fi", "x"),
        ("{words} & ./x", "x"),
        ("bash -c '{words}; if [ -d d ]; then ./x; fi'", "x"),
        ("python3 -c '# {words}\nimport os; os.system(\"./x\")'", "x"),
        ("find . -name {words} -exec ./x \\;", "x"),
        ("flock lock ./x {words}", "x"),
        ("(cd {words}; cd e/f;./x)", "e/f/x"),
        ("({words}; PATH=d:$PATH t)", "d/t"),
        ("({words}; cat notes | sh)", "notes"),
        ("({words}; . ./notes)", "notes"),
        ("(ls {folders}; d/t)", "d/t"),
        ("(ls {folders}; cd d && ./t)", "d/t"),
        ("flock lock find {folders} -exec ./t", "d/t"),
    ],
)
@pytest.mark.parametrize("count", [0, 10, 63, 300, 2_000])
def test_a_program_is_bound_whatever_words_there_are_before_it(
    count: int, line: str, name: str
) -> None:
    """An agent could fill what was looked at with words of no use."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for one in ("e/f", *(f"a{number}" for number in range(20)), "d"):
            (place / one).mkdir(parents=True)
        for one in ("x", "d/t", "e/f/x", "notes", "lock"):
            script(place / one, "#!/bin/sh\necho good\n")
        words = " ".join(("echo", *(f"w{number}" for number in range(count))))
        folders = " ".join((*(f"a{number}" for number in range(min(count, 20))), "d"))
        plan = planned(request(line.format(words=words, folders=folders), cwd=folder))
        assert not any(one.problem for one in plan.commands)
        with verify(plan):
            pass
        script(place / "new", "#!/bin/sh\necho evil\n")
        (place / "new").rename(place / name)
        with pytest.raises(PlanDrift), verify(plan):
            pass


@rows(
    "line",
    [
        "flock lock {at}/x",
        "find lock -exec {at}/x \\;",
        "cd {at} && flock lock ./x",
        "cat {at}/x | sh",
        "time {at}/x",
        "(cd {at}; ./x)",
        "(cat {at}/x | sh)",
        "python3 -c 'import os; os.system(\"{at}/x\")'",
    ],
)
def test_a_program_in_shared_memory_is_bound(line: str) -> None:
    """Whoever may write there may replace it, although devices are next to it."""
    with TemporaryDirectory(dir="/dev/shm") as there, TemporaryDirectory() as folder:
        for place in (folder, there):
            (Path(place) / "lock").touch()
        script(Path(there) / "x", "#!/bin/sh\necho good\n")
        plan = planned(request(line.format(at=there), cwd=folder))
        script(Path(there) / "new", "#!/bin/sh\necho evil\n")
        (Path(there) / "new").rename(Path(there) / "x")
        with pytest.raises(PlanDrift), verify(plan):
            pass


@rows(
    "line",
    [
        "python3 -c 'import os; print(os.listdir(\"/proc/self/fd\"), {fd})'",
        "(ls /proc/self/fd; echo {fd})",
        "(ls /dev/fd; echo {fd})",
        "(ls //proc/self/fd /tmp/../proc/self/fd /./proc/self/fd; echo {fd})",
        "time ls -l /proc/self/fd/{fd} /dev/fd/{fd}",
        "find lock -exec echo /proc/self/fd/{fd} \\;",
    ],
)
def test_what_the_gateway_has_open_is_nothing_that_a_command_starts(line: str) -> None:
    """Below /proc/self, a path means something else to a command than to its planner."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "lock").touch()
        program = script(Path(folder) / "x", "#!/bin/sh\n")
        with program.open() as opened:
            fd = opened.fileno()
        plan = planned(request(line.format(fd=fd), cwd=folder))
        with program.open() as opened, verify(plan):
            assert opened.fileno() == fd


def test_an_alternative_shows_both_its_paths(tmp_path: Path) -> None:
    """A link on the search path keeps its own name next to the real one."""
    (tmp_path / "bin").mkdir()
    real = script(tmp_path / "mawk", "#!/bin/sh\n")
    (tmp_path / "bin" / "awk").symlink_to(real)

    found = executable(planned(request("awk"), Planner((str(tmp_path / "bin"),))).commands[0])

    assert (found.path, found.realpath) == (str(tmp_path / "bin" / "awk"), str(real))


def test_the_first_executable_file_wins(tmp_path: Path) -> None:
    """Absent folders, folders of that name and plain files are skipped as by a shell."""
    places = [tmp_path / name for name in ("gone", "folder", "plain", "first", "second")]
    for place in places[1:]:
        place.mkdir()
    (places[1] / "tool").mkdir()
    (places[2] / "tool").write_text("not executable")
    script(places[3] / "tool", "#!/bin/sh\n")
    script(places[4] / "tool", "#!/bin/sh\n")

    planner = Planner(tuple(str(place) for place in places))

    assert executable(planned(request("tool"), planner).commands[0]).path == str(places[3] / "tool")


def test_a_relative_folder_is_no_search_path() -> None:
    """Neither the lookup nor the child's PATH ever depends on a working directory."""
    planner = Planner(("", ".", "bin", "/usr/bin"))

    assert dict(planned(request("true"), planner).env)["PATH"] == "/usr/bin"


def test_a_path_is_taken_from_the_working_directory(tmp_path: Path) -> None:
    """A name with a slash is never looked up, and its folder is reported by its real name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    copy_of("true", tmp_path / "real" / "ls")

    found = executable(planned(request("link/../link/ls", cwd=tmp_path)).commands[0])

    assert found.path == str(tmp_path / "real" / "ls")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-such-program", "no executable file `no-such-program` on the search path"),
        ("./plain", "plain` is not executable"),
        ("./folder", "folder` is not a regular file"),
        ("./gone", "gone` does not exist"),
        ("./pipe", "pipe` is not a regular file"),
        ("./huge", "huge` is larger than 536870912 bytes"),
    ],
)
def test_what_cannot_be_started_is_planned_with_the_problem(
    tmp_path: Path, name: str, words: str
) -> None:
    """The policy can still name the segment; the plan says why it will never run."""
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.truncate(script(tmp_path / "huge", ""), LARGEST_PIN + 1)

    (command,) = planned(request(name, cwd=tmp_path)).commands

    assert command.executable is None
    assert words in command.problem


def test_a_line_becomes_vectors_and_connectors() -> None:
    """Each simple command of a readable line is resolved on its own."""
    plan = planned(request("printf x | wc -c && true ; false"))

    assert [c.argv[0] for c in plan.commands] == ["printf", "wc", "true", "false"]
    assert plan.connectors == (Connector.PIPE, Connector.AND, Connector.THEN)
    assert plan.unreadable is None


def test_an_unreadable_line_is_one_pinned_shell() -> None:
    """The exact text goes to the shell, whose real file is pinned."""
    plan = planned(request("echo $USER"))
    (command,) = plan.commands

    assert plan.unreadable is not None
    assert command.argv == ("/bin/sh", "-c", "echo $USER")
    assert executable(command).realpath == os.path.realpath("/bin/sh")


def test_an_unreadable_text_is_never_an_option_of_the_shell() -> None:
    """A text that begins with a dash remains a text."""
    assert planned(request("-x $(id)")).commands[0].argv == ("/bin/sh", "-c", "--", "-x $(id)")


@pytest.mark.parametrize(
    ("argv", "pinned_names"),
    [
        (("python3", "x.py"), ["x.py"]),
        (("python3", "-u", "x.py", "data"), ["x.py"]),
        (("python3", "-W", "data", "x.py"), ["data", "x.py"]),
        (("python3", "-c", "pass", "data"), []),
        (("bash", "-e", "x.sh"), ["x.sh"]),
        (("bash", "--rcfile", "data", "x.sh"), ["data", "x.sh"]),
        (("sh", "-c", "./x.sh"), []),
        (("perl", "-ne", "print", "data"), []),
        (("perl", "-w", "x.py"), ["x.py"]),
        (("env", "-i", "python3", "x.py"), ["x.py", "python3"]),
        (("sed", "-n", "5p", "data"), []),
        (("awk", "-f", "x.py", "data"), ["x.py"]),
        (("awk", "-fx.py", "data"), ["x.py"]),
        (("sed", "-nf", "x.py", "data"), ["x.py"]),
        (("sed", "--file=x.py", "data"), ["x.py"]),
        (("sed", "--file", "x.py", "data"), ["x.py"]),
        (("make", "-fx.py", "data"), ["x.py"]),
        (("make", "--makefile", "x.py", "data"), ["x.py"]),
        (("psql", "-f", "x.py", "data"), ["x.py"]),
        (("gdb", "-batch", "-x", "x.py", "data"), ["x.py"]),
        (("node", "--import=x.py", "x.sh", "data"), ["x.py", "x.sh"]),
        (("node", "-r", "x.py", "x.sh", "data"), ["x.py", "x.sh"]),
        (("node", "module", "data"), ["module.js"]),
        (("deno", "run", "x.py", "data"), ["x.py"]),
        (("python3", "folder", "data"), ["__main__.py"]),
        (("find", ".", "-exec", "bash", "x.sh", "{}", ";"), ["x.sh", "bash"]),
        (("cat", "x.py"), []),
        (("python3", "absent.py"), []),
    ],
)
def test_script_operands_are_pinned(
    tmp_path: Path, argv: tuple[str, ...], pinned_names: list[str]
) -> None:
    """What an interpreter will read as code is bound, what is only data is not."""
    (tmp_path / "folder").mkdir()
    for name in ("x.py", "x.sh", "data", "module.js", "folder/__main__.py"):
        (tmp_path / name).write_text("pass\n")
    for name in {argv[0], "python3", "bash"}:
        copy_of("true", tmp_path / name)

    plan = planned(request(argv=argv, cwd=tmp_path), Planner((str(tmp_path),)))

    assert [Path(o.path).name for o in plan.commands[0].operands] == pinned_names


@pytest.mark.parametrize(
    ("argv", "absent"),
    [
        (("python3", "new.py"), ["new.py"]),
        (("python3", "-W", "new.py"), []),
        (("python3", "-"), []),
        (("bash", "-e", "new.sh", "data"), ["new.sh"]),
        (("sed", "-f", "new.sed"), ["new.sed"]),
        (("timeout", "5", "bash", "new.sh"), ["new.sh"]),
        (("bash", "/dev/stdin"), []),
        (("cat", "new.py"), []),
    ],
)
def test_code_that_is_not_there_is_bound_as_well(
    tmp_path: Path, argv: tuple[str, ...], absent: list[str]
) -> None:
    """What appears between the question and the run was not approved."""
    plan = planned(request(argv=argv, cwd=tmp_path))
    (leaf,) = plan.commands[0].effective
    with verify(plan):
        pass
    for path in leaf.absent:
        Path(path).write_text("touch evil\n")

    assert [Path(path).name for path in leaf.absent] == absent
    if absent:
        with pytest.raises(PlanDrift, match="did not exist when this was asked"), verify(plan):
            pass


@pytest.mark.parametrize(
    "line",
    [
        "bash x.sh > log",
        "./run > log",
        "python3 x.py $HOME/x",
        ". ./x.sh",
        "bash < x.sh -s",
        '"./x.sh" &',
    ],
)
def test_code_that_an_unread_line_names_is_bound(tmp_path: Path, line: str) -> None:
    """A swapped script is noticed, whatever the shell makes of the line; data may change."""
    for name in ("x.sh", "x.py", "run", "data.csv"):
        script(tmp_path / name, "#!/bin/sh\n")
    (tmp_path / "data.csv").chmod(0o644)
    plan = planned(request(f"{line} data.csv", cwd=tmp_path))
    (tmp_path / "data.csv").write_text("1,2\n")
    with verify(plan):
        pass
    for name in ("x.sh", "x.py", "run"):
        script(tmp_path / name, "#!/bin/sh\ntouch evil\n")

    with pytest.raises(PlanDrift, match="is not the file that was approved"), verify(plan):
        pass


def test_the_interpreter_of_a_script_is_pinned(tmp_path: Path) -> None:
    """A `#!` file runs another program, which is bound as well, through `env` too."""
    script(tmp_path / "plain", "#!/bin/sh -e\ntrue\n")
    script(tmp_path / "by-env", "#!/usr/bin/env -S sh -e\ntrue\n")

    plain = planned(request("./plain", cwd=tmp_path)).commands[0]
    by_env = planned(request("./by-env", cwd=tmp_path)).commands[0]

    shell = os.path.realpath("/bin/sh")
    assert [o.realpath for o in plain.operands] == [shell]
    assert [o.realpath for o in by_env.operands] == [os.path.realpath("/usr/bin/env"), shell]


def test_a_missing_interpreter_is_a_problem(tmp_path: Path) -> None:
    """A script without its interpreter cannot run, and the plan says so beforehand."""
    script(tmp_path / "tool", "#!/nowhere/sh\n")

    (command,) = planned(request("./tool", cwd=tmp_path)).commands

    assert command.executable is None
    assert "/nowhere/sh" in command.problem


def test_the_working_directory_is_pinned_by_its_real_path(tmp_path: Path) -> None:
    """A link to a directory is shown as where it leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    cwd = planned(request("true", cwd=tmp_path / "link")).cwd

    assert cwd.path == str(tmp_path / "real")
    assert cwd.inode == (tmp_path / "real").stat().st_ino


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder", "/etc/passwd", "", "/tmp/\0"])
def test_a_bad_working_directory_is_refused(cwd: str) -> None:
    """Relative, absent, not a directory, empty and NUL are all refused, never replaced."""
    assert refused(request("true", cwd=cwd)).reason is DenialReason.BAD_CWD


@rows(
    "wish, words",
    [
        (request(), "exactly one"),
        (request("true", argv=("true",)), "exactly one"),
        (request(""), "empty"),
        (request("   "), "empty"),
        (request(argv=()), "empty"),
        (request(argv=("", "x")), "empty"),
        (request(argv=("true", "a\0b")), "NUL"),
        (request("true a\0b"), "NUL"),
        (request(argv=("true", "\ud800")), "surrogate"),
        (request("true", env=(("A", "\udc80"),)), "surrogate"),
        (request(argv=("true", "x" * LARGEST_COMMAND)), "the maximum is"),
        (request("true", env=(("A", "x" * LARGEST_COMMAND),)), "the maximum is"),
        (request("true", timeout_ms=0), "timeout"),
        (request("true", env=(("A=B", "x"),)), "`=`"),
        (request("true", env=(("", "x"),)), "empty"),
        (request("true", env=(("A", "x\0"),)), "NUL"),
        (request("true", env=(("A", "1"), ("A", "2"))), "twice"),
        (request("true", env=(("SAYSO_RUN", "other"),)), "reserved"),
    ],
)
def test_what_no_kernel_could_run_is_refused(wish: ExecRequest, words: str) -> None:
    """Each impossible request gets a sentence that names what is wrong with it."""
    refusal = refused(wish)

    assert refusal.reason is DenialReason.BAD_REQUEST
    assert words in refusal.why


def test_the_policy_bounds_the_timeout() -> None:
    """A request may shorten its time, not lengthen it."""
    assert planned(request("true")).timeout_ms == POLICY.timeout_ms
    assert planned(request("true", timeout_ms=5)).timeout_ms == 5
    assert planned(request("true", timeout_ms=10**12)).timeout_ms == POLICY.timeout_ms


def test_equal_requests_have_equal_digests() -> None:
    """The digest depends on nothing but what is bound."""
    assert planned(request("ls -l")).digest == planned(request("ls -l")).digest
    assert digest_of(planned(request("ls -l"))) == planned(request("ls -l")).digest


def test_each_bound_part_changes_the_digest(tmp_path: Path) -> None:
    """No part of a plan can be replaced under a digest."""
    plan = planned(request("ls -l ; true"))
    command = plan.commands[0]
    pin = executable(command)
    others = [
        replace(plan, text="ls  -l ; true"),
        replace(plan, connectors=(Connector.AND,)),
        replace(plan, cwd=replace(plan.cwd, inode=1)),
        replace(plan, env=(*plan.env, ("A", "b"))),
        replace(plan, requested_env=("PATH",)),
        replace(plan, host=ExecHost.NODE),
        replace(plan, node="n1"),
        replace(plan, agent=AgentId("other")),
        replace(plan, session=SessionKey("other")),
        replace(plan, timeout_ms=plan.timeout_ms + 1),
        replace(plan, commands=plan.commands[:1]),
        replace(plan, commands=(replace(command, argv=("ls", "-a")), plan.commands[1])),
        replace(plan, commands=(replace(command, operands=(pin,)), plan.commands[1])),
        *(
            replace(plan, commands=(replace(command, executable=changed), plan.commands[1]))
            for changed in (
                replace(pin, path="/x"),
                replace(pin, realpath="/x"),
                replace(pin, device=1),
                replace(pin, inode=1),
                replace(pin, size=1),
                replace(pin, sha256="0" * 64),
            )
        ),
    ]

    digests = {digest_of(other) for other in others}

    assert plan.digest not in digests
    assert len(digests) == len(others)


def test_a_vector_is_shown_as_a_shell_would_need_it() -> None:
    """People and the journal read the text; a line stays as it was written."""
    assert planned(request(argv=("echo", "a b", "$HOME"))).text == "echo 'a b' '$HOME'"
    assert planned(request("echo  'a b'")).text == "echo  'a b'"


async def _turns_during(planning: Awaitable[object]) -> int:
    """Return how many turns an event loop takes while a plan is made."""
    turns = 0
    task = asyncio.ensure_future(planning)
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert isinstance(await task, ExecPlan)
    return turns


@pytest.mark.parametrize("off_loop", [True, False], ids=["thread", "control"])
@pytest.mark.parametrize(
    "line", ["sh large", "sh -c '" + "sh x; " * 20_000 + "'"], ids=["file", "text"]
)
async def test_what_takes_long_holds_up_no_event_loop(
    tmp_path: Path, line: str, *, off_loop: bool
) -> None:
    """A file is hashed, and a long line read, in a thread; otherwise lockdown would wait for it."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST_PIN // 2)
    planner, asked = Planner(), request(line, cwd=str(tmp_path))

    async def at_once() -> object:
        return planner.plan(asked, POLICY)

    turns = await _turns_during(
        planner.plan_without_blocking(asked, POLICY) if off_loop else at_once()
    )

    assert (turns > 3) is off_loop


def test_files_that_are_too_much_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them may be run alone."""
    monkeypatch.setattr("core.planning.planner._MOST_HASHED", 5_000_000)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(3_000_000))
    time.sleep(0.05)  # a younger one is hashed on each check

    found = refused(request("sh a; sh b", cwd=str(tmp_path)))

    assert found.reason is DenialReason.BAD_REQUEST
    assert "more than 5000000 bytes together" in found.why
    assert planned(request("sh a", cwd=str(tmp_path))).commands
