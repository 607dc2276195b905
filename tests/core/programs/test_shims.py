"""Read which files choose a program as narrowly as their managers can mean it."""

from core.programs.shims import (
    chooses_plainly,
    is_imitation,
    loaded_by,
    manager_named,
    own_paths,
    runs_code,
)
from tests.support.tables import rows

PLAIN = [
    ("version", "3.12.1\n"),
    ("version", "v20.11.0 # the team's\n\n3.9-dev pypy3.10-7.3\n"),
    ("version", "lts/*\n"),
    ("tools", "nodejs 20.1.0 18.0.0\n# more\npython 3.12.1 system\n"),
    ("rust", "nightly-2024-05-01\n"),
    ("rust", '[toolchain]\nchannel = "1.78"\ntargets = ["x"]\nprofile = "minimal"\n'),
    ("package", '{"name": "x", "scripts": {"test": "y"}}'),
    ("npmrc", "\n; x\n# y\nsave-exact = true\n//registry.npmjs.org/:_authToken=${TOKEN}\n"),
]
CHOOSING = [
    ("exists", ""),
    ("version", "../evil\n"),
    ("version", "/evil\n"),
    ("version", "path:evil\n"),
    ("version", "ref:evil 3.12\n"),
    ("version", ".evil\n"),
    ("tools", "nodejs path:/evil\n"),
    ("tools", "npm:evil 1.0\n"),
    ("tools", "python 3.12 ref:x\n"),
    ("rust", "evil\n"),
    ("rust", ""),
    ("rust", "stable/../evil\n"),
    ("rust", '[toolchain]\nchannel = "evil"\n'),
    ("rust", '[toolchain]\nchannel = "stable"\npath = "/evil"\n'),
    ("rust", "[toolchain]\nchannel = 1\n"),
    ("rust", '[toolchain]\nchannel = "stable"\n[other]\n'),
    ("package", '{"packageManager": "npm@9"}'),
    ("package", '{"volta": {"node": "1"}}'),
    ("package", '{"devEngines": {}}'),
    ("package", "[]"),
    ("package", "[" * 100_000),
    ("npmrc", "registry=http://evil.example/\n"),
    ("npmrc", "registry=https://registry.npmjs.org.evil.example/\n"),
    ("npmrc", "@x:registry=https://registry.npmjs.org/\n"),
    ("npmrc", "save-exact=true\rcache=/evil\n"),
    ("npmrc", "//evil.example/:_authToken=x\n"),
    ("npmrc", "${X}=y\n"),
]


@rows("reading, text", PLAIN)
def test_a_version_is_no_choice_of_a_program(reading: str, text: str) -> None:
    """What a manager installs on its own is the program by whose name the shim is called."""
    assert chooses_plainly(reading, text)


@rows("reading, text", CHOOSING)
def test_anything_else_chooses(reading: str, text: str) -> None:
    """A path, a reference, another source, and anything not understood."""
    assert not chooses_plainly(reading, text)


@rows(
    "path, name",
    [
        ("/home/a/.cargo/bin/rustup", "rustup"),
        ("/home/a/.asdf/shims/node", "asdf"),
        ("/home/a/.local/share/mise/shims/node", "mise"),
        ("/usr/lib/node_modules/corepack/dist/npm.js", "corepack"),
        ("/opt/x/shims/node", "a version manager"),
        ("/home/a/.volta/bin/node", "volta"),
        ("/usr/bin/node", None),
        ("/home/a/.cargo/bin/cargo", None),
    ],
)
def test_a_path_gives_a_manager_away(path: str, name: str | None) -> None:
    """By its name, or by the folder of its shims."""
    found = manager_named(path)

    assert (found.name if found else None) == name


def test_a_link_to_a_manager_is_what_it_is_called_by() -> None:
    """Any other link has two names, and both count."""
    assert own_paths("/x/cargo", "/x/rustup") == ("/x/cargo",)
    assert own_paths("/x/awk", "/x/mawk") == ("/x/awk", "/x/mawk")


@rows(
    "line, expected",
    [
        ("cargo build", True),
        ("npm test", True),
        ("yarn test", True),
        ("yarn --version", False),
        ("cargo --version", False),
        ("npm ls", False),
        ("ls -l", False),
        ("own-tool x", False),
    ],
)
def test_a_query_is_no_leave_to_run_code(line: str, expected: bool) -> None:
    """A rule for `yarn --version` lets a version be printed, one for `npm test` the project run."""
    program, *arguments = line.split()

    assert runs_code(f"/usr/bin/{program}", tuple(arguments)) is expected


def test_a_script_needs_the_language_of_its_program() -> None:
    """Npm is written for node; node is not a script at all."""
    assert not is_imitation("/x/npm", "node")
    assert not is_imitation("/x/pip", "python3.12")
    assert is_imitation("/x/npm", "bash")
    assert is_imitation("/x/node", "node")
    assert is_imitation("/x/cargo", "bash")


def test_npm_obeys_the_registry_of_a_project_in_queries_alone() -> None:
    """`npm ls` is kept from it by its environment, `npm test` runs the project anyway."""
    assert loaded_by("/usr/bin/npm", ("view", "x", "version"))
    assert loaded_by("/usr/bin/npm", ("outdated",))
    assert not loaded_by("/usr/bin/npm", ("ls",))
    assert not loaded_by("/usr/bin/npm", ("test",))
