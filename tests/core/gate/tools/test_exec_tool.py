"""Check the ten acceptance criteria of S3, in its order and under its words (S3 §8)."""

import ast
import time
from pathlib import Path
from typing import Any

import pytest

from core.gate.tools.builtin import register_builtin_tools
from core.gate.tools.protocol import ToolError
from core.gate.tools.registry import DENIED, DISPATCHED, Tools
from core.model.decision import DenialReason
from core.model.result import Finished
from core.planning.paths.search_path import SearchPath
from core.policy.rules.compiled import NO_COMPILED
from tests.core.gate.tools.tool_calls import bench
from tests.support.gate import request

ROOT = Path(__file__).resolve().parents[4]


async def test_criterion_01_opt_in(tmp_path: Path) -> None:
    """`register_exec_tool` is NOT called by `register_builtin_tools`; Exec is opt-in."""
    async with bench(tmp_path, exec_tool=False) as at:
        tools = Tools(NO_COMPILED, at.gate.journal)
        register_builtin_tools(tools, SearchPath())
        answer = await at.refused({"argv": ["/bin/echo", "hello"]})

    assert {"Which"} == tools.names
    assert ToolError.UNKNOWN_TOOL is answer.error


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("/bin/echo hello", "argv must be a list of strings, not a string"),
        ({"0": "/bin/echo"}, "argv must be a list of strings, not an object"),
        (None, "argv must be a list of strings, not null"),
        (["/bin/echo", 7], "argv[1] must be a string, not a number"),
        (["/bin/echo", True], "argv[1] must be a string, not true or false"),
        (["/bin/echo", ""], "argv[1] is empty"),
        ([], "argv is empty"),
        (["echo", "hello"], "argv[0] must be an absolute path"),
        (["./echo"], "argv[0] must be an absolute path"),
        (["~/bin/echo"], "argv[0] must be an absolute path"),
        (
            ["/usr/bin/no-such-program"],
            "argv[0] '/usr/bin/no-such-program' does not exist or is not a file",
        ),
        (["/usr/bin"], "argv[0] '/usr/bin' does not exist or is not a file"),
    ],
)
async def test_criterion_02_argv_validation(tmp_path: Path, argv: Any, says: str) -> None:
    """What is not a vector with an absolute program is refused before anything else.

    S3: Argv validation rejects: non-list, list with non-str, empty list, relative path argv[0],
    non-existent argv[0].
    """
    async with bench(tmp_path) as at:
        answer = await at.refused({"argv": argv})
        records = at.journal(DENIED)

    assert (ToolError.INVALID_ARGS, None) == (answer.error, answer.run_id)
    assert says in answer.message
    assert ["invalid_args"] == [record["error"] for record in records]


async def test_criterion_03_no_shell(tmp_path: Path) -> None:
    """Arguments reach the program as they are.

    S3: `shell=True` is never used; metachars in args don't shell-expand:
    `Exec(["/bin/echo", "; pwd"])` outputs `"; pwd"`.
    """
    words = ["; pwd", "$(id)", "`id`", "$HOME", "*", "a | b", "> made", "&& touch made"]
    async with bench(tmp_path) as at:
        literal = await at.done("/bin/echo", "; pwd")
        every = await at.done("/bin/echo", *words)
        left = list(at.work.iterdir())

    assert "; pwd\n" == literal["stdout"]
    assert f"{' '.join(words)}\n" == every["stdout"]
    assert [] == left
    assert [] == list(shells_asked_for())


def shells_asked_for() -> list[str]:
    """Return where our code asks Python for a shell."""
    found = []
    for path in (
        path for top in ("bot", "channels", "core") for path in (ROOT / top).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            word = f"{node.arg}={ast.unparse(node.value)}" if isinstance(node, ast.keyword) else ""
            name = node.attr if isinstance(node, ast.Attribute) else ""
            if word == "shell=True" or name in {"create_subprocess_shell", "popen", "system"}:
                found.append(f"{path}:{getattr(node, 'lineno', 0)}")
    return found


@pytest.mark.parametrize("limited", [True, False], ids=["other tools", "no capabilities"])
async def test_criterion_04_capability_denied(tmp_path: Path, *, limited: bool) -> None:
    """Capability denied (no `"Exec"` in tool_grants) → tool_response.error=permission_denied."""
    async with bench(tmp_path, tools=["Which"], limited=limited) as at:
        answer = await at.refused({"argv": ["/bin/echo", "hello"]})
        records = at.journal(DENIED)

    assert ToolError.PERMISSION_DENIED is answer.error
    assert [("Exec", ["/bin/echo", "hello"])] == [
        (record["tool"], record["args"]["argv"]) for record in records
    ]


async def test_criterion_05_fs_denied(tmp_path: Path) -> None:
    """Fs denied on argv[0] → handler raises ToolFsDenied → tool_response.error=fs_denied."""
    outside = tmp_path / "echo"
    outside.write_bytes(Path("/usr/bin/echo").read_bytes())
    outside.chmod(0o755)
    async with bench(tmp_path) as at:
        (at.work / "inside").symlink_to(outside)
        plain = await at.refused({"argv": [str(outside), "hello"]})
        link = await at.refused({"argv": [str(at.work / "inside"), "hello"]})
        climbing = await at.refused({"argv": [f"{at.work}/../echo", "hello"]})
        absent = await at.refused({"argv": [str(tmp_path / "absent"), "hello"]})
        folder = await at.refused({"argv": ["/bin/echo"], "cwd": str(tmp_path)})
        inside = await at.done("/bin/echo", "hello", cwd=str(at.work))

    assert {ToolError.FS_DENIED} == {one.error for one in (plain, link, climbing, absent, folder)}
    assert "hello\n" == inside["stdout"]


async def test_criterion_06_env_scrub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child has the seven variables of S3's table and nothing of the gateway's.

    S3: env scrub: a child started without `args.env` and with `ANTHROPIC_API_KEY` set in the parent
    does not see it.
    """
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "CC_SESSION"):
        monkeypatch.setenv(name, "not-for-children")
    async with bench(tmp_path) as at:
        seen = await at.done("/usr/bin/printenv")
        added = await at.done("/usr/bin/printenv", env={"NO_COLOR": "1"})

    table = dict(line.split("=", 1) for line in seen["stdout"].splitlines())
    assert {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "SHELL": "/bin/sh",
    }.items() <= table.items()
    assert {"USER"} <= set(table)
    assert "not-for-children" not in seen["stdout"] + added["stdout"]
    assert "\nNO_COLOR=1\n" in f"\n{added['stdout']}"


async def test_the_threat_models_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 §1: `Exec(["echo", "; rm -rf /"])` prints it, `Exec(["env"])` shows no secret."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-children")
    async with bench(tmp_path) as at:
        printed = await at.done("/usr/bin/echo", "; rm -rf /")
        seen = await at.done("/usr/bin/env")
        started = await at.refused({"argv": ["/usr/bin/env", "-i", "/bin/cat", "/etc/passwd"]})

    assert "; rm -rf /\n" == printed["stdout"]
    assert "PATH=/usr/local/bin:/usr/bin:/bin\n" in seen["stdout"]
    assert "not-for-children" not in seen["stdout"]
    assert DenialReason.CAPABILITY_DENIED is started.reason


async def test_criterion_07_timeout(tmp_path: Path) -> None:
    """Wall clock ends a command, and says that it did.

    S3: timeout: `Exec(["/bin/sleep", "10"], timeout_s=1)` returns timed_out=True in under
    5 seconds.
    """
    async with bench(tmp_path) as at:
        began = time.monotonic()
        late = await at.done("/bin/sleep", "10", timeout_s=1)
        took = time.monotonic() - began
        early = await at.done("/bin/sleep", "0", timeout_s=10)

    assert (True, False) == (late["timed_out"], early["timed_out"])
    assert took < 5
    assert 1 <= late["duration_s"] < 5


async def test_criterion_08_output_cap(tmp_path: Path) -> None:
    """A stream is kept up to its cap, and the agent is told that it is incomplete.

    S3: output cap: a binary that prints 1 MB of stdout under `max_output_bytes=1024` returns
    stdout_truncated=True with stdout length ≤ 1024.
    """
    async with bench(tmp_path) as at:
        (at.work / "large").write_bytes(b"x" * 1_000_000)
        (at.work / "small").write_bytes(b"x" * 1_024)
        cut = await at.done("/usr/bin/cat", "large", max_output_bytes=1_024)
        whole = await at.done("/usr/bin/cat", "small", max_output_bytes=1_024)

    assert (True, 1024, False) == (
        cut["stdout_truncated"],
        len(cut["stdout"]),
        cut["stderr_truncated"],
    )
    assert (False, 1024) == (whole["stdout_truncated"], len(whole["stdout"]))
    assert (0, 0) == (cut["exit_code"], whole["exit_code"])


async def test_criterion_09_audited(tmp_path: Path) -> None:
    """End-to-end via runner_main + supervisor + dispatched audit event present."""
    async with bench(tmp_path) as at:
        result = await at.done("/bin/echo", "--token", "abcdefgh12345678", "hello")
        dispatched = at.journal(DISPATCHED)
        decisions = at.journal("decision")

    assert 0 == result["exit_code"]
    assert [("Exec", ["/bin/echo", "--token", "[secret: secret]", "hello"])] == [
        (record["tool"], record["args"]["argv"]) for record in dispatched
    ]
    assert [dispatched[0]["seq"] + 1] == [record["seq"] for record in decisions]


async def test_criterion_10_strictly_additive(tmp_path: Path) -> None:
    """No file outside `kernel/`, `tests/`, `docs/RFC/` modified: the tool only adds to the rest.

    An agent without the capability is judged, run and answered as if the tool had never been
    registered; the gate does not know it.
    """
    seen = []
    for offered in (False, True):
        folder = tmp_path / str(offered)
        folder.mkdir()
        async with bench(folder, exec_tool=offered, limited=False) as at:
            ran = await at.gate.submit(request("echo hello", cwd=at.work))
            assert isinstance(ran, Finished)
            answer = await at.refused({"argv": ["/bin/echo"]})
            seen.append((ran.exit_code, ran.output.text, ran.streams, answer.error))

    assert seen[0] == seen[1]
    assert not any("exec_tool" in source for source in sources_of_the_line())


def sources_of_the_line() -> list[str]:
    """Return the text of every module of the gate outside its tools."""
    gate = ROOT / "core" / "gate"
    return [
        path.read_text(encoding="utf-8")
        for path in gate.rglob("*.py")
        if path.relative_to(gate).parts[0] != "tools"
    ]
