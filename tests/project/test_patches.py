"""A test replaces no function, method or class of ours, except where it says why."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.project.tracked import files

TESTS = Path(__file__).parents[1]
OURS = {"bot", "channels", "core", ""}
CONTROLS = {
    ("bot/gate_proof/test_tool.py", "register_exec_tool"),
    ("bot/policy_tools/importing/test_importing_differential.py", "_about_files"),
    ("bot/policy_tools/importing/test_importing_differential.py", "_with_inline"),
    ("bot/policy_tools/importing/test_importing_differential.py", "vectors_of"),
    ("bot/wiring/test_reload.py", "adopt"),
    ("core/planning/test_shims.py", "_manager_of"),
    ("core/planning/test_verify_between_commands.py", "as_started"),
    ("core/planning/test_verify_between_commands.py", "recheck"),
    ("core/shell/test_reader.py", "quote_reading"),
    ("core/shell/test_reader.py", "read"),
    ("faults/test_blind_planning.py", "check_looked"),
    ("faults/test_program_oracle.py", "chosen_by"),
    ("faults/test_program_oracle.py", "neutral_environment"),
    ("faults/test_run_fed_code.py", "appeared"),
    ("faults/test_run_fed_code.py", "became_program"),
    ("faults/test_run_overtaken_code.py", "appeared"),
    ("faults/test_run_overtaken_code.py", "became_program"),
    ("faults/test_sandbox_hide.py", "begin"),
    ("faults/test_sandbox_sweep.py", "filter_for"),
    ("faults/test_sandbox_sweep.py", "walk"),
    ("faults/test_sandbox_workspace.py", "_mounts"),
    ("faults/test_store_breaks.py", "_let_go"),
    ("faults/test_thief.py", "guard"),
}
"""They take a guard away, or break it, and show that the test would notice."""
EXCEPTIONS = {
    ("bot/api/http/test_rate_limits_places.py", "Turns"): "as many runs as fill a gateway are slow",
    ("bot/cli/run/test_run.py", "as_json"): "what `main` sets for the process, set back afterwards",
    ("bot/doctor/test_installation_scripts.py", "fault"): "another kernel's answer",
    ("bot/doctor/test_node.py", "time"): "a node whose clock is an hour behind",
    ("bot/page/test_session_cookie.py", "uid_of"): "counts how often the kernel is asked",
    ("bot/wiring/test_gate_shipped_tables.py", "section"): "a table that was shipped broken",
    ("channels/discord/test_self_check.py", "guild"): "the local server's, not ours",
    ("core/gate/journal/test_deferred.py", "_rest"): "shows in which pause it is",
    ("core/hosts/sandbox/filesystem/test_workspace_check.py", "walk"): "counts the searches",
    (
        "core/isolation/test_pool.py",
        "{call}",
    ): "a kernel that has no descriptor left",
    ("core/policy/rules/test_self_test.py", "section"): "a table that was shipped broken",
    ("core/runner/test_tcp_peer.py", "open"): "files of /proc of another namespace",
    ("faults/test_blind_planning.py", "name"): "each opening fails once, as without descriptors",
    ("faults/test_sandbox_protect.py", "walk"): "a disk that has an error while it is read",
}
"""What is left, each with its reason: add none without one, and take out what is gone."""


def replaced(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each ``setattr`` of a patch that replaces something of ours.

    What a local variable holds counts as ours; a constant is a bound, a path or a waiting time.
    """
    tree = ast.parse(text if ".setattr(" in text else "")
    origins = dict(_imports(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
            origin, name = _target(node.args, origins)
            if origin in OURS and not name.isupper():
                yield node.lineno, name


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                yield one.asname or top, top
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                yield one.asname or one.name, (node.module or "").partition(".")[0]


def _target(args: list[ast.expr], origins: dict[str, str]) -> tuple[str, str]:
    """Return the package from which the first argument is, and the name that is replaced."""
    first = args[0]
    if isinstance(first, ast.Constant | ast.JoinedStr):
        path = ast.unparse(first).lstrip("f").strip("'\"")
        return path.partition(".")[0], path.rpartition(".")[2]
    while isinstance(first, ast.Attribute | ast.Call | ast.Subscript):
        first = first.func if isinstance(first, ast.Call) else first.value
    origin = origins.get(first.id, "") if isinstance(first, ast.Name) else ""
    name = args[1] if len(args) > 1 else first
    return origin, str(name.value) if isinstance(name, ast.Constant) else ast.unparse(name)


def test_nothing_of_ours_is_replaced_without_a_reason() -> None:
    """A new control or exception is added above, with its reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for file in files():
        if file.suffix == ".py" and file.is_relative_to(TESTS):
            path = str(file.relative_to(TESTS))
            for line, name in replaced(file.read_text()):
                found.setdefault((path, name), []).append(f"{path}:{line}: {name}")
    known = CONTROLS | EXCEPTIONS.keys()
    new = "".join(f"\n{key}, at {', '.join(found[key])}" for key in sorted(found.keys() - known))

    here = "tests/project/test_patches.py"
    assert not new, f"use a real part, or write in CONTROLS or EXCEPTIONS of {here}:{new}"
    assert known - found.keys() == set(), f"replaced nowhere any more; delete each from {here}"


def test_what_replaces_ours_is_found() -> None:
    """The control: a module, a class, an object, by name; and what is not ours or a constant."""
    text = """
import os, time
import core.audit.journal
from bot import cli as module
from core.gate.gate import Gate
from tests.emulators import telegram
made = Gate()
monkeypatch.setattr(module, "call", print)
broken.setattr(Gate, "submit", print)
monkeypatch.setattr(made, "answer", print)
monkeypatch.setattr("channels.base.parse", print)
monkeypatch.setattr(f"core.isolation.{call}", print)
monkeypatch.setattr(core.audit.journal, "open", print)
monkeypatch.setattr(Gate.__mro__[1], name, print)
monkeypatch.setattr(module, "_PATIENCE_S", 1)
monkeypatch.setattr("bot.chat.runs.MOST", 1)
monkeypatch.setattr(os, "geteuid", print)
monkeypatch.setattr(time, "time", print)
monkeypatch.setattr("os.open", print)
monkeypatch.setattr(telegram.Rates, "take", print)
"""
    assert [name for _, name in replaced(text)] == [
        *("call", "submit", "answer", "parse", "{call}", "open", "name")
    ]
