"""Ask about what a project's file chooses: a version manager's shim is not harmless."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation, Reason
from core.planning import shims
from core.planning.paths.search_path import DEFAULT_SEARCH_PATH
from core.planning.planner import Planner
from core.policy.judge.evaluate import evaluate
from core.programs import carriers
from core.programs.profiles.tables import section, table
from core.programs.shims import managers
from core.runner.runner import Runner
from tests.support.plans import LISTED, listed
from tests.support.runs import Start, drifts, new_run, planned, request, script
from tests.support.version_managers import canary, hard_linked, manager

EVERYTHING = listed("/**")


Install = Callable[[Path, Path], Path]
"""Puts a manager's program under another name into a folder; returns its path there."""


def linked(manager: Path, tool: Path) -> Path:
    """Install by a symbolic link, as rustup, mise and Volta do."""
    tool.symlink_to(manager.name)
    return tool


def hard_linked_elsewhere(manager: Path, tool: Path) -> Path:
    """Install by a hard link in another folder, where no name reveals the manager."""
    other = tool.parent / "elsewhere"
    other.mkdir()
    os.link(manager, other / tool.name)
    return other / tool.name


def copied(manager: Path, tool: Path) -> Path:
    """Install by a copy, as on a file system without links."""
    other = tool.parent / "elsewhere"
    other.mkdir()
    return Path(shutil.copy(manager, other / tool.name))


INSTALLS = (linked, hard_linked, hard_linked_elsewhere, copied)


def judged(line: str, cwd: Path, *search: str | Path) -> Evaluation:
    """Judge a line under strict trust with every path listed."""
    return evaluate(plan_of(line, cwd, *search), LISTED, EVERYTHING)


def plan_of(line: str, cwd: Path, *search: str | Path) -> ExecPlan:
    """Plan a line with further folders first on the search path."""
    return planned(request(line, cwd=cwd), Planner((*map(str, search), *DEFAULT_SEARCH_PATH)))


def asks(found: Evaluation, *words: str) -> bool:
    """Return whether a person is asked because of the surroundings, and sees all these words."""
    steered = (found.decision, found.reason) == (Decision.ASK, Reason.STEERED)
    return steered and all(word in found.why for word in words)


def by_hand(argv: list[str | Path], cwd: Path) -> None:
    """Run a program as a user who is not asked would."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    subprocess.run(argv, cwd=cwd, env=environ, check=False, capture_output=True, timeout=60)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a work tree."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("install", INSTALLS)
@pytest.mark.parametrize(
    ("name", "mark", "chooser", "tool"),
    [
        ("rustup", "rust-toolchain.toml", "rust-toolchain.toml", "cargo"),
        ("volta-shim", "VOLTA_HOME", ".hooks.json", "node"),
        ("mise", "mise.local.toml", "mise.toml", "node"),
        ("proto-shim", ".prototools", ".prototools", "go"),
        ("asdf", "asdf-plugin:", ".tool-versions", "terraform"),
        ("elan", "lean-toolchain", "lean-toolchain", "gcc"),
    ],
)
def test_a_managers_program_is_known_however_it_is_installed(
    tmp_path: Path, tree: Path, install: Install, name: str, mark: str, chooser: str, tool: str
) -> None:
    """Linked, hard linked here or elsewhere, or copied: it would run the work tree's program."""
    made = manager(tmp_path / "bin", name, mark, chooser)
    shim = install(made, made.with_name(tool))
    query = "version" if tool in {"go", "terraform"} else "--version"
    before = judged(f"{shim} {query}", tree)
    evil, flag = canary(tree)

    (tree / chooser).write_text(f"{evil}\n")
    found = judged(f"{shim} {query}", tree)

    by_hand([shim, query], tree)
    assert flag.exists(), "the trap does not work"
    if shim.is_symlink() and name in {"mise", "asdf"}:  # by its own name it starts what it is told
        assert found.decision is Decision.ASK
    else:
        assert asks(found, name.removesuffix("-shim"), f"{tree}/{chooser}"), found
        assert before.decision is Decision.ALLOW


@pytest.mark.parametrize("tool", ["rustfmt", "some-tool"])
def test_a_tool_in_no_table_may_be_a_shim_too(tmp_path: Path, tree: Path, tool: str) -> None:
    """A user who lists a folder of rustup's proxies did not list what a project puts there."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain.toml")
    shim = copied(made, made.with_name(tool))
    (tree / "rust-toolchain.toml").write_text('[toolchain]\npath = "/x"\n')

    assert "rustup" in plan_of(f"{shim} x", tree).commands[0].steered


@pytest.mark.parametrize(
    ("install", "tool", "known"),
    [
        (hard_linked_elsewhere, "some-tool", True),
        (copied, "cargo", True),
        (copied, "some-tool", False),
    ],
)
def test_a_binary_of_the_distribution_is_what_its_name_says(
    tmp_path: Path,
    tree: Path,
    install: Install,
    tool: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    known: bool,
) -> None:
    """Unless it has other names too, or one that a manager serves: then its content is read."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain.toml")
    shim = install(made, made.with_name(tool))
    (tree / "rust-toolchain.toml").write_text('[toolchain]\npath = "/x"\n')
    monkeypatch.setattr(carriers, "SYSTEM_DIRECTORIES", f"{tmp_path}/bin/")

    assert ("rustup" in plan_of(f"{shim} x", tree).commands[0].steered) is known


def test_another_binary_of_that_name_is_itself(tmp_path: Path, tree: Path) -> None:
    """A binary with no manager's mark, name or folder is the program: no file chooses for it."""
    made = manager(tmp_path / "bin", "cargo", "nothing", "other.toml")
    (tree / "rust-toolchain.toml").write_text('[toolchain]\npath = "/x"\n')

    assert judged(f"{made} --version", tree).decision is Decision.ALLOW


SHIM_SCRIPTS = [
    (
        ".asdf/shims",
        "node",
        '#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\nexec asdf exec "node" "$@"\n',
    ),
    ("pyenv/shims", "python3", '#!/bin/sh\nexec "/x/libexec/pyenv" exec "${0##*/}" "$@"\n'),
    ("bin", "ruby", '#!/bin/sh\nexec "/x/libexec/rbenv" exec "${0##*/}" "$@"\n'),
    (".tfenv/bin", "terraform", "#!/bin/sh\nexec tfenv-exec $@\n"),
]
CHOOSERS = {
    "node": ".tool-versions",
    "python3": ".python-version",
    "ruby": ".ruby-version",
    "terraform": ".terraform-version",
}


@pytest.mark.parametrize(("place", "tool", "text"), SHIM_SCRIPTS)
def test_a_manager_that_writes_scripts_is_known(
    tmp_path: Path, tree: Path, place: str, tool: str, text: str
) -> None:
    """Its folder or its text reveals it, and a path in its file needs an answer."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    script(folder / tool, text)
    (tree / CHOOSERS[tool]).write_text(f"{tool} path:./evil\n")

    assert asks(judged(f"{folder}/{tool} --version", tree), f"{tree}/{CHOOSERS[tool]}")


@pytest.mark.parametrize("place", ["shims", "tools/shims"])
def test_a_shim_of_no_known_manager_asks(tmp_path: Path, tree: Path, place: str) -> None:
    """No one can say which file chooses, so a folder of shims is enough."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    script(folder / "rg", "#!/bin/sh\nexec whatever\n")

    assert asks(judged(f"{folder}/rg x", tree), f"{folder}/rg")


def test_a_script_is_not_the_binary_of_its_name(tmp_path: Path, tree: Path) -> None:
    """A wrapper called `node` may start anything, so the profile of node does not apply to it."""
    wrapper = script(tmp_path / "node", "#!/usr/bin/env bash\nexec ./node_modules/.bin/node\n")

    assert asks(judged(f"{wrapper} --version", tree), "is a script, not node itself")


def test_a_script_whose_interpreter_is_a_shim_asks(tmp_path: Path, tree: Path) -> None:
    """`#!/usr/bin/env node` finds the first node on the search path, here one of asdf's."""
    folder = tmp_path / ".asdf" / "shims"
    folder.mkdir(parents=True)
    script(folder / "node", '#!/bin/sh\nexec asdf exec "node" "$@"\n')
    tool = script(tmp_path / "npm", "#!/usr/bin/env node\n")
    (tree / ".tool-versions").write_text("nodejs path:./evil\n")

    assert asks(judged(f"{tool} --version", tree, folder), f"{tree}/.tool-versions")


PLAIN = [
    ("rust-toolchain", "1.78.0\n"),
    ("rust-toolchain", "nightly-2024-05-01-x86_64-unknown-linux-gnu\n"),
    ("rust-toolchain.toml", '[toolchain]\nchannel = "stable"\ncomponents = ["clippy"]\n'),
]
CHOOSING = [
    ("rust-toolchain", "evil\n"),
    ("rust-toolchain", "../evil\n"),
    ("rust-toolchain", '[toolchain]\npath = "/evil"\n'),
    ("rust-toolchain.toml", '[toolchain]\nchannel = "evil"\n'),
    ("rust-toolchain.toml", '[toolchain]\nchannel = "stable"\n"pa\\u0074h" = "/evil"\n'),
    ("rust-toolchain.toml", "toolchain = {path = '/evil'}\n"),
    ("rust-toolchain.toml", "not TOML"),
    ("rust-toolchain.toml", ""),
]


@pytest.mark.parametrize(("name", "text"), [*PLAIN, *CHOOSING])
def test_a_version_of_rust_itself_is_no_question(
    tmp_path: Path, tree: Path, name: str, text: str
) -> None:
    """Most projects name a channel; a path, a custom name and unreadable text ask."""
    made = manager(tmp_path / "bin", "rustup", "x", name)
    linked(made, made.with_name("cargo"))
    (tree / name).write_text(text)

    found = judged(f"{made.parent}/cargo --version", tree)

    assert (found.decision is Decision.ALLOW) is ((name, text) in PLAIN), found.why


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.write_bytes(b"1.78.0 \xff\n"),
        lambda path: path.write_text("1.78.0" + "\n" * 65_536),
        lambda path: path.mkdir(),
        os.mkfifo,
    ],
    ids=["not UTF-8", "too long", "a folder", "a pipe"],
)
def test_what_cannot_be_read_as_a_version_asks(
    tmp_path: Path, tree: Path, put: Callable[[Path], object]
) -> None:
    """The manager may read it in another way than we do."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    put(tree / "rust-toolchain")

    assert asks(judged(f"{made.parent}/cargo --version", tree), f"{tree}/rust-toolchain")


@pytest.mark.parametrize("above", [1, 2, 3])
def test_a_folder_above_may_choose(tmp_path: Path, tree: Path, above: int) -> None:
    """The file is looked for in each folder up to the root."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    inner = tree / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner.parents[above - 1] / "rust-toolchain").write_text("evil\n")

    assert asks(judged(f"{made.parent}/cargo --version", inner), f"{inner.parents[above - 1]}/rust")


def test_what_lies_at_home_is_the_users(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file directly at home is a choice of the user's own."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    (tmp_path / "rust-toolchain").write_text("own\n")

    elsewhere = judged(f"{made.parent}/cargo --version", tree)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert asks(elsewhere, str(tmp_path))
    assert judged(f"{made.parent}/cargo --version", tree).decision is Decision.ALLOW


async def test_a_file_that_comes_between_question_and_start_is_noticed(
    tmp_path: Path, tree: Path, runner: Runner
) -> None:
    """It was allowed without the file, so nothing runs."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    evil, flag = canary(tree)
    plan = plan_of(f"{made.parent}/cargo --version", tree)

    (tree / "rust-toolchain").write_text(f"{evil}\n")

    with pytest.raises(PlanDrift, match="rust-toolchain"):
        await runner.run(new_run(), plan, Start())
    assert not flag.exists()


def test_a_rule_for_the_projects_own_code_is_not_asked_twice(tmp_path: Path, tree: Path) -> None:
    """`cargo build` runs build.rs anyway: which cargo does it makes no difference."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    (tree / "rust-toolchain").write_text("evil\n")

    assert plan_of(f"{made.parent}/cargo build", tree).commands[0].steered == ""
    assert plan_of(f"{made.parent}/cargo --version", tree).commands[0].steered != ""


LOADS = [
    ("yarn", ".yarnrc.yml", "yarnPath: ./evil.cjs\n"),
    ("yarn", "package.json", '{"packageManager": "yarn@9.9.9"}'),
    ("pnpm", ".pnpmfile.cjs", ""),
    ("pnpm", "package.json", '{"packageManager": "pnpm@9.9.9"}'),
    ("poetry", ".poetry/plugins/x.py", ""),
    ("jest", "node_modules/jest/package.json", "{}"),
]


@pytest.mark.parametrize(("tool", "name", "text"), LOADS)
def test_a_program_that_loads_the_projects_code_first_asks(
    tmp_path: Path, tree: Path, tool: str, name: str, text: str
) -> None:
    """A user who allows `yarn --version` did not allow the project's yarn to run."""
    path = script(tmp_path / tool, "#!/usr/bin/env node\n")
    (tree / "package.json").write_text('{"name": "x"}')
    before = plan_of(f"{path} --version", tree).commands[0].steered

    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)

    assert before == ""
    assert str(tree) in plan_of(f"{path} --version", tree).commands[0].steered


@pytest.mark.parametrize(("tool", "name", "text"), LOADS)
def test_what_a_program_loads_first_may_not_change(
    tmp_path: Path, tree: Path, tool: str, name: str, text: str
) -> None:
    """It was seen with its content, and with that of the file that it names."""
    path = script(tmp_path / tool, "#!/usr/bin/env node\n")
    for one in (tree / name, tree / "evil.cjs"):
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(text)
    plan = plan_of(f"{path} --version", tree)
    unchanged = drifts(plan)
    changed = tree / ("evil.cjs" if "evil.cjs" in text else name)
    changed.write_text(f"{text}\n")

    assert (unchanged, drifts(plan)) == (False, True)


def test_what_a_shim_obeys_may_not_change(tmp_path: Path, tree: Path) -> None:
    """Neither the file, nor the program that it names."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    linked(made, made.with_name("cargo"))
    evil, _ = canary(tree)
    (tree / "rust-toolchain").write_text(f"{evil}\n")
    plan = plan_of(f"{made.parent}/cargo --version", tree)
    unchanged = drifts(plan)
    script(evil, "#!/bin/sh\ntrue\n")
    other = drifts(plan)
    (tree / "rust-toolchain").write_text(f"{evil}\n\n")

    assert (unchanged, other, drifts(plan)) == (False, True, True)


def test_an_npmrc_that_leads_elsewhere_is_asked_about(tree: Path) -> None:
    """`npm view` asks the registry that the project names; `npm test` runs the project anyway."""
    npmrc = tree / ".npmrc"
    npmrc.write_text("save-exact=true\n; a comment\nregistry=https://registry.npmjs.org/\n")
    before = plan_of("npm view x version", tree).commands[0].steered

    npmrc.write_text("@x:registry=http://evil.example/\n")

    assert before == ""
    assert "obeys" in plan_of("npm view x version", tree).commands[0].steered
    assert plan_of("npm test", tree).commands[0].steered == ""


def test_without_detection_nothing_asks(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: with the guard off, the hard link of hole 10 is allowed and runs the canary."""
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    shim = hard_linked(made, made.with_name("cargo"))
    evil, flag = canary(tree)
    (tree / "rust-toolchain").write_text(f"{evil}\n")
    monkeypatch.setattr(shims, "_manager_of", lambda _: None)

    found = judged(f"{shim} --version", tree)
    by_hand([shim, "--version"], tree)

    assert found.decision is Decision.ALLOW
    assert flag.exists()


def test_every_manager_can_be_known() -> None:
    """Each row says how it is recognised, and its files are read in an existing way."""
    assert all(one.programs or one.paths for one in managers())
    assert len(managers()) == len(section(table("shims"), "managers"))


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        ("/bin/bash", "cat", "evil.sh"),
        ("/bin/bash", "bin/head", "evil.sh"),
        ("/bin/bash", "node_modules/.bin/ls", "evil.sh"),
        ("/usr/bin/env", "od", "touch x"),
    ],
)
def test_a_binary_of_the_work_tree_is_not_the_program_of_its_name(
    source: str, name: str, words: str, tree: Path
) -> None:
    """Copied under an everyday name it would pass wherever every path is listed."""
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, tree / name)
    (tree / "sub").mkdir()
    (tree / ".git").mkdir()
    found = judged(f"./{name} {words}", tree)
    assert asks(found, "a program of the work tree")
    assert asks(judged(f"../{name} {words}", tree / "sub"), "a program of the work tree")
    assert asks(judged(f"{tree / name} {words}", tree / "sub"), "a program of the work tree")
    itself = judged(f"{Path(name).name} {words}", tree)
    assert not asks(itself)


def test_a_tool_that_is_installed_for_a_project_keeps_its_name(tree: Path, tmp_path: Path) -> None:
    """What a package manager put below the project, and what is outside the work tree."""
    for place in (tree / ".venv/bin", tmp_path / "elsewhere"):
        place.mkdir(parents=True)
        shutil.copy("/bin/bash", place / "ruff")
        assert not asks(judged(f"{place / 'ruff'} --version", tree))


def test_the_seeds_example_covers_a_tool_of_another_project(tree: Path, tmp_path: Path) -> None:
    """S1 lists ``~/Projects/**/bin/rg``: by its path from elsewhere or by name, not from within."""
    tool = tmp_path / "elsewhere/bin/rg"
    tool.parent.mkdir(parents=True)
    shutil.copy("/usr/bin/true", tool)
    assert judged(f"{tool} -n TODO", tree).decision is Decision.ALLOW
    assert judged("rg -n TODO", tool.parent, tool.parent).decision is Decision.ALLOW
    assert asks(judged(f"{tool} -n TODO", tool.parent.parent), "a program of the work tree")
