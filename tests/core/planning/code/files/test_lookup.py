"""List the names that an interpreter tries for a word, in its order."""

import subprocess
from pathlib import Path

import pytest

from core.planning.code.files.lookup import NODE, look, lookups, readings, required


@pytest.mark.parametrize(
    ("there", "path", "files", "ahead"),
    [
        (["x"], "x", ["x"], []),
        (["x.js"], "x", ["x.js"], ["x"]),
        (["x.js", "x.node"], "x", ["x.js", "x.node"], ["x"]),
        (["x.js", "x/data"], "x", ["x.js"], ["x/"]),
        (["d/index.js"], "d", ["d/index.js"], ["d/", "d.js", "d.node", "d/package.json"]),
        ([], "no", [], ["no", "no.js", "no.node", "no/package.json", "no/index.js"]),
    ],
)
def test_what_node_tries(
    tmp_path: Path, there: list[str], path: str, files: list[str], ahead: list[str]
) -> None:
    """The existing files, and what is tried before the first of them."""
    for name in there:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = look(f"{tmp_path}/{path}", NODE)

    assert [one.removeprefix(f"{tmp_path}/") for one in found.files] == files
    tried = [one.removeprefix(f"{tmp_path}/") for one in found.ahead]
    assert tried[: len(ahead) or None] == ahead


def test_the_main_of_a_package_is_tried_in_its_place(tmp_path: Path) -> None:
    """What it names comes before the index, and after the package itself."""
    (tmp_path / "package.json").write_text('{"main": "lib"}')
    (tmp_path / "index.js").touch()
    found = look(str(tmp_path), NODE)

    assert [Path(one).name for one in found.files][:2] == ["package.json", "index.js"]
    assert {f"{tmp_path}/lib", f"{tmp_path}/lib.js", f"{tmp_path}/lib/index.js"} <= set(found.ahead)


@pytest.mark.parametrize("line", ["node ./d", "node ./x"])
def test_real_node_tries_no_others_before(tmp_path: Path, line: str) -> None:
    """Each name, alone next to the one found last, is taken only if it is known."""
    tried = ("x", "x.js", "x.json", "x.mjs", "x.cjs", "x.ts", "d.js", "d.mjs", "d/index.mjs")
    (tmp_path / "d").mkdir()
    name = "d" if "d" in line[5:] else "x"
    last = "d/index.js" if name == "d" else "x.node"
    known = set(look(f"{tmp_path}/{name}", NODE).ahead)
    for one in tried:
        (tmp_path / last).write_text("")
        (tmp_path / one).write_text("1" if one.endswith("json") else "process.exit(7)")
        done = subprocess.run(
            line.split(), cwd=tmp_path, capture_output=True, check=False, timeout=20
        )
        (tmp_path / one).unlink()
        assert (done.returncode == 7) <= (f"{tmp_path}/{one}" in known), one


def test_a_path_is_read_by_its_letters_first() -> None:
    """Node removes `..` and a slash at the end, and what an address adds."""
    assert readings("lk/../x.js", "/w", NODE) == ("/w/x.js", "/w/lk/../x.js")
    assert readings("x/", "/w", NODE)[0] == "/w/x"
    assert "/w/x.js" in readings("./%78.js?1#2", "/w", NODE)
    assert readings("a\0b", "/w", NODE) == ()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("-r ./x -e 1", {"./x"}),
        ("-r./x -e 1", {"./x"}),
        ("--require=../x y.js", {"../x"}),
        ("--import /w/x.mjs y.js", {"/w/x.mjs"}),
        ("-r dotenv/config y.js", set()),
        ("--prof ./x.js", set()),
    ],
)
def test_what_options_name(words: str, named: set[str]) -> None:
    """A path must exist; a name is looked up in the packages of the project."""
    assert required(["node", *words.split()]) == named


@pytest.mark.parametrize(
    ("line", "count"),
    [("node x", 1), ("python3 d", 1), ("timeout 9 node x", 1), ("sh x", 0), ("cat node", 1)],
)
def test_whose_order_it_is(line: str, count: int) -> None:
    """Of the interpreter itself, or of one behind a program that is not one."""
    assert len(lookups(line.split(), "/usr/bin/any")) == count
