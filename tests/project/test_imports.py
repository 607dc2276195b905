import ast
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the tree in a folder."""
    program = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [program, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the product's source, to break."""
    for package in ("bot", "channels", "core"):
        sources = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=sources)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.timeout(120)
def test_every_contract_is_kept() -> None:
    """The dependency rule of the design is kept in the whole tree."""
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


_PLANTED = (
    ("bot/factories/rules.py", "import bot.intake.table", "inside bot"),
    ("bot/intake/callers/caller.py", "import bot.intake.results.outcomes", "inside intake"),
    ("bot/api/http/bodies.py", "import bot.api.rest.route", "inside the API"),
    ("channels/slack/render/layout.py", "import channels.slack.inbound", "inside a platform"),
    ("core/errors.py", "import channels", "bot on channels on core"),
    ("core/model/policy.py", "import core.gate", "a request only moves down"),
    ("core/store/__init__.py", "import core.runner", "people's wing never sees"),
    ("core/runner/__init__.py", "import core.approvals", "machines' wing never sees"),
    ("core/policy/judge/evaluate.py", "import sqlite3", "SQL stays in core.store"),
    ("channels/cards/build.py", "import telegram", "chat SDKs stay in their platform"),
    ("core/approvals/ids.py", "import apscheduler", "core knows no scheduler"),
    ("channels/slack/settings.py", "import channels.discord", "one platform never imports"),
    ("core/policy/judge/evaluate.py", "import cryptography", "keys and signatures stay in"),
    ("core/planning/digest.py", "import core.runner", "a request only moves down"),
    ("core/planning/digest.py", "import core.store", "machines' wing never sees"),
    ("core/text/render.py", "import core.approvals", "what both wings use sees neither"),
    ("core/files/private.py", "import core.remote", "what both wings use sees neither"),
    ("core/shell/reader.py", "import core.errors", "imports core.model only"),
    ("core/shell/reader.py", "import core.settings", "imports core.model only"),
    (
        "core/runner/supervisor/main.py",
        "import core.model.command",
        "and two leaf modules only",
    ),
    ("core/runner/supervisor/spawn.py", "import pydantic", "and two leaf modules only"),
    ("bot/executor/executor.py", "import bot.settings", "bot.executor needs the standard"),
    ("bot/executor/main.py", "import core.isolation.client", "bot.executor needs the standard"),
    ("core/isolation/wire.py", "import pydantic", "bot.executor needs the standard"),
    ("core/isolation/client.py", "import core.isolation.pool", "core.isolation: executors on"),
    ("core/runner/runner.py", "import core.isolation", "a request only moves down"),
    (
        "core/runner/supervisor/spawn.py",
        "import core.runner.job",
        "core.runner: the gateway's side",
    ),
    (
        "core/runner/supervisor/protocol.py",
        "import core.runner.supervisor.main",
        "core.runner.supervisor: the launcher",
    ),
    ("core/store/schema/tables.py", "import core.store.engine", "core.store: views on runs"),
    ("core/store/people/people.py", "import core.store.runs", "core.store: views on runs"),
    ("core/programs/wrappers.py", "import core.policy.rules", "core.policy: the judge"),
    ("core/planning/paths/pins.py", "import core.planning.git", "core.planning: the planner"),
    ("core/remote/trust/envelope.py", "import core.remote.wire", "core.remote: both ends"),
    ("core/approvals/file/file.py", "import core.approvals.ask", "core.approvals: the broker"),
    (
        "core/hosts/sandbox/memfd.py",
        "import core.hosts.sandbox.host",
        "core.hosts.sandbox: the",
    ),
)
"""The module, what is planted there, and words of the contract that it breaks."""


def _rounds() -> list[list[tuple[str, str, str]]]:
    """Spread what is planted over few copies, with each contract and each module once in each."""
    rounds: list[list[tuple[str, str, str]]] = []
    for one in _PLANTED:
        module, _, contract = one
        for others in rounds:
            if all(module != taken and contract != broken for taken, _, broken in others):
                others.append(one)
                break
        else:
            rounds.append([one])
    return rounds


@pytest.mark.timeout(120)
@pytest.mark.parametrize("planted", _rounds(), ids=len)
def test_a_forbidden_import_is_reported(copy: Path, planted: list[tuple[str, str, str]]) -> None:
    """Each contract still bites: an import planted against it breaks it, and is named."""
    for module, line, _ in planted:
        path = copy / module
        path.write_text(f"{path.read_text()}\n{line}\n")

    done = lint_imports(copy)

    assert done.returncode == 1
    sections = done.stdout.partition("Broken contracts")[2].split("\n---")
    for module, line, contract in planted:
        arrow = f"{_name(module)} -> {line.removeprefix('import ')} (l."
        told = [
            one
            for title, one in pairwise(sections)
            if contract in title.rstrip().rpartition("\n")[2]
        ]
        assert any(arrow in one for one in told), (arrow, contract, done.stdout)


def _name(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.mark.timeout(120)
def test_a_stray_module_in_core_is_reported(copy: Path) -> None:
    """A module of core that no layer names would be outside the rule."""
    (copy / "core" / "stray.py").write_text('"""Stray."""\n')

    done = lint_imports(copy)

    assert done.returncode != 0
    assert "stray" in done.stdout + done.stderr


LEAVES = {"core.files.file_identity", "core.shell.placeholders"}
"""Everything of ours that the supervisor may import besides itself."""


def _ours() -> set[str]:
    """Return the widest modules of ours that contain nothing the supervisor may import."""
    found = {"bot", "channels"}
    parents = {name.rpartition(".")[0] for name in LEAVES}
    for path in (*(ROOT / "core").iterdir(), *(ROOT / "core").glob("*/*.py")):
        if path.suffix == ".py" or (path / "__init__.py").exists():
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            parent = name.rpartition(".")[0]
            if parent in {"core", *parents} and path.stem != "__init__":
                found.add(name)
    return found - parents - LEAVES - {"core.runner"}


def _packages() -> set[str]:
    """Return the import names of the product's dependencies."""
    tree = [*(ROOT / "bot").rglob("*.py"), *(ROOT / "channels").rglob("*.py")]
    imported: set[str] = set()
    for path in (*tree, *(ROOT / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Import):
                imported.update(name.name.partition(".")[0] for name in node.names)
    return imported - sys.stdlib_module_names - {"bot", "channels", "core"}


def test_the_supervisors_contract_names_everything_else() -> None:
    """Everything but the standard library, the supervisor and one of two leaves is forbidden."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (
        one
        for one in contracts["contracts"]
        if one.get("source_modules") == ["core.runner.supervisor"]
    )

    assert _ours() | _packages() <= set(contract["forbidden_modules"])


EXECUTOR = {
    *("bot.executor", "core.isolation.wire", "core.runner.remains", "core.runner.supervisor"),
    "core.runner.tcp_peer",
    "core.files.removal",
    *LEAVES,
}
"""Everything of ours that `sayso-executor` consists of."""


def test_the_executors_contract_names_everything_else() -> None:
    """No code for keys, the store or the network is in a process that runs as another user."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (
        one
        for one in contracts["contracts"]
        if "bot.executor" in one.get("source_modules", ()) and one["type"] == "forbidden"
    )
    parents = {name.rpartition(".")[0] for name in EXECUTOR}
    found = {"channels"}
    for parent in parents:
        for path in (ROOT / parent.replace(".", "/")).iterdir():
            if (path.suffix == ".py" and path.stem != "__init__") or (
                path / "__init__.py"
            ).exists():
                found.add(f"{parent}.{path.stem}")

    assert found - parents - EXECUTOR | _packages() <= set(contract["forbidden_modules"])
