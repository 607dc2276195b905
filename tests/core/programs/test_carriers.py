import pytest

from core.policy.rules.self_test import broken_examples
from core.programs.carriers import (
    carrier_problem,
    carrier_profile,
    effects,
    inline_code,
    inline_options,
    is_known,
    profiled,
)
from core.programs.profiles.carrier_profile import Effect
from core.programs.profiles.tables import FOLDER, section, table, words
from core.programs.wrappers import names_of, wrapper_kind
from tests.support.plans import corpus
from tests.support.tables import rows

CARRIERS = [
    entry["program"] for entry in corpus("carrier_names.json") if set(entry["effects"]) - {"reads"}
]


def is_asked(path: str, arguments: list[str]) -> bool:
    """Return whether strict trust asks about a listed program."""
    names = names_of(path)
    return bool(wrapper_kind(names, len(arguments)) or carrier_problem(path, arguments))


def test_each_table_accepts_and_refuses_what_it_says() -> None:
    """The lines of each table are its examples; each is named with its file."""
    assert broken_examples() == ()


@rows("program", CARRIERS)
def test_every_documented_carrier_asks_under_strict_trust(program: str) -> None:
    """Each program documented to run, write or connect asks, unknown arguments given."""
    assert is_asked(f"/usr/bin/{program}", ["--sayso-unknown", "x"])


def test_readers_that_surprise_ask_and_everyday_readers_pass() -> None:
    """Of the programs documented to only read, the everyday ones pass with operands."""
    readers = {e["program"] for e in corpus("carrier_names.json")} - set(CARRIERS)
    passed = {name for name in readers if not is_asked(f"/usr/bin/{name}", ["notes.txt"])}
    everyday = set(words(table("carriers"), "plain")) | {"file", "uniq", "diff", "readelf"}
    assert passed <= everyday
    assert {"cat", "head", "tail", "grep", "cut", "wc", "rev", "cmp", "od"} <= passed
    assert not passed & {"pr", "ptx", "7z", "ar", "xz", "nft"}


@rows(
    "path",
    """/usr/bin/python3.11 /usr/bin/mawk /usr/bin/gawk /usr/bin/vim.basic /usr/bin/nodejs
    /usr/bin/pip3.12 /usr/bin/x86_64-linux-gnu-gcc-12 /usr/bin/git-upload-pack
    /usr/bin/docker-compose /usr/bin/perl5.36.0 /usr/bin/nc.openbsd /usr/local/bin/gfind
    /usr/bin/GIT /opt/node/bin/npm-cli.js /usr/bin/clang-15 /usr/bin/ruby3.1
    /usr/bin/php8.2 /usr/bin/kubectl-foo /usr/bin/rg /usr/bin/fd /usr/bin/rm
    /usr/bin/touch /usr/bin/curl /usr/bin/dpkg /usr/bin/ping""".split(),  # noqa: SIM905 - a word list is easier to read than a column
)
def test_versions_and_aliases_are_carriers(path: str) -> None:
    """A carrier is one under each name that distributions give it."""
    assert carrier_problem(path, ["--sayso-unknown", "x"]) is not None


@rows(
    "path, arguments",
    [
        ("/usr/bin/ls", ["-la", "src"]),
        ("/usr/bin/date", ["-u", "+%F"]),
        ("/usr/bin/sort", ["-k5,5n", "notes.txt"]),
        ("/usr/bin/uniq", ["-c"]),
        ("/usr/bin/git", ["--version"]),
        ("/usr/bin/python3.11", ["--version"]),
        ("/opt/g++", []),
        ("/opt/mytool", ["--anything"]),
    ],
)
def test_harmless_invocations_pass(path: str, arguments: list[str]) -> None:
    """Everyday programs, known arguments and the owner's own tools need no one."""
    assert carrier_problem(path, arguments) is None


@rows(
    "program, arguments",
    [
        ("python3", ["-c", "x"]),
        ("python3", ["-Ic", "x"]),
        ("perl", ["-0777pe", "x"]),
        ("perl", ["-lane", "x"]),
        ("node", ["--eval=x"]),
        ("node", ["--ev", "x"]),
        ("ruby", ["-ne", "x"]),
        ("erl", ["-eval", "x"]),
        ("gdb", ["-ex", "shell id"]),
        ("make", ["--eval=$(shell id)"]),
        ("rg", ["--pre", "sh"]),
        ("find", [".", "-exec", "id", ";"]),
        ("deno", ["eval", "x"]),
        ("tar", ["x", "--to-comm=id"]),
        ("printf", ["-v", "a[0]", "x"]),
        ("test", ["-v", "a[0]"]),
    ],
)
def test_code_in_arguments_is_seen(program: str, arguments: list[str]) -> None:
    """Glued, clustered and abbreviated spellings of code-carrying options are found."""
    assert inline_code(inline_options(names_of(program)), arguments) is not None


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("python3", ["app.py"]), ("node", ["--version"]), ("make", ["test"]), ("test", ["-f", "x"])],
)
def test_plain_uses_carry_no_code(program: str, arguments: list[str]) -> None:
    """Classical trust keeps scripts and targets."""
    assert inline_code(inline_options(names_of(program)), arguments) is None


def test_the_tables_do_not_contradict_each_other() -> None:
    """No plain program is a wrapper, none has a profile as well, and each alias leads to one."""
    plain = words(table("carriers"), "plain")
    assert [name for name in plain if wrapper_kind({name}, 1)] == []
    assert [name for name in plain if name in profiled()] == []
    aliases = section(table("carriers"), "aliases")
    assert [name for name in aliases if name not in profiled()] == []
    listed = [word for name in aliases for word in words(aliases, name)]
    assert [word for word in listed if word in profiled() or listed.count(word) > 1] == []


def test_a_program_has_one_profile() -> None:
    """Each table of each family is found by its heading; none is in two families."""
    families = [path.stem for path in (FOLDER / "carriers").glob("*.toml")]
    held = [name for family in families for name in table(f"carriers/{family}")]
    assert sorted(held) == sorted(profiled())
    assert len(held) >= 60


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/usr/bin/kubectl-foo", ["get", "pods"]),
        ("/usr/bin/git-upload-pack", ["status"]),
        ("/usr/bin/docker-credential-x", ["ps"]),
        ("/usr/lib/git-core/git-diff", ["diff"]),
    ],
)
def test_a_relative_has_no_part_in_a_profile(path: str, arguments: list[str]) -> None:
    """A program that only begins like a profiled one asks: it is another program."""
    assert carrier_problem(path, arguments) is not None
    assert carrier_problem(path, []) is not None


@rows(
    "line, wanted",
    [
        ("ls -la", "reads"),
        ("git status", "reads"),
        ("/usr/bin/git push --force", "network runs writes"),
        ("rm -rf x", "writes"),
        ("touch x", "writes"),
        ("find . -name x", "reads"),
        ("find . -delete", "reads runs writes"),
        ("npm install x", "network runs writes"),
        ("kubectl get pods", "network reads"),
        ("kubectl delete pod x", "network writes"),
        ("gh pr merge 5", "network writes"),
        ("python3.11 app.py", "network reads runs writes"),
        ("gunzip x", "writes"),
    ],
)
def test_effects_are_told(line: str, wanted: str) -> None:
    """Rules see what a command reads, writes, reaches or runs."""
    found = effects(line.split())
    assert found is not None
    assert wanted == " ".join(sorted(found))


@pytest.mark.parametrize("line", ["mytool x", "git -c a=b log", "git zz", "docker zz", ""])
def test_unknown_effects_are_none(line: str) -> None:
    """What is in no table, after an unknown option or an unknown subcommand is not known."""
    assert effects(line.split() or [""]) is None


def test_what_passes_only_reads() -> None:
    """No profile calls anything harmless that writes or runs others."""
    reading = {name: carrier_profile(name).reading for name in profiled()}
    harm = {Effect.WRITES, Effect.RUNS}
    assert {name for name, found in reading.items() if found & harm} == set()
    reaching = {name for name, found in reading.items() if Effect.NETWORK in found}
    assert reaching == {"gh", "helm", "kubectl", "lsof"}


def test_every_profiled_program_is_known() -> None:
    """A wildcard covers profiled programs, and their profile then decides."""
    assert [name for name in profiled() if not is_known(f"/usr/bin/{name}")] == []


@rows(
    "program",
    [
        *("editor", "mg", "gold", "wdiff", "gpgv", "msgfmt", "xsltproc", "uudecode", "hardlink"),
        *("fuser", "add-apt-repository", "delv", "kdig", "sntp", "ldapmodify", "rcp", "jmap"),
        *("uclampset", "coresched", "timelimit", "tini", "heaptrack", "mpirun", "apptainer"),
        *("swipl", "ocamlfind", "mitmproxy", "firefox", "zfs", "iptables-nft", "udevadm"),
    ],
)
def test_programs_beyond_the_documented_ones_ask_under_strict_trust(program: str) -> None:
    """Debian's wrappers, editors, file changers and clients are known without a profile."""
    assert is_asked(f"/usr/bin/{program}", ["x"])


@rows(
    "program",
    [
        *("ast-grep", "sg", "rga", "cursor-agent", "crush", "droid", "atuin", "prisma", "goose"),
        *(
            "staticcheck",
            "golangci-lint",
            "gemini",
            "qwen",
            "ollama",
            "llm",
            "turbo",
            "nx",
            "pulumi",
        ),
        *(
            "vite",
            "vitest",
            "mocha",
            "esbuild",
            "webpack",
            "playwright",
            "pylint",
            "isort",
            "hatch",
        ),
        *("manim", "twistd", "scrapy", "postcss", "mmdebstrap", "llvm-jitlink-14", "qsv", "modd"),
        *("rubocop", "phpunit", "sbt", "mix", "iex", "lazygit", "jj", "k9s", "flyctl", "supabase"),
        *(
            "duckdb",
            "mongosh",
            "hx",
            "micro",
            "et",
            "tsh",
            "op",
            "sops-exec",
            "rclone",
            "http",
            "mtr",
        ),
    ],
)
def test_agents_and_runners_ask_under_strict_trust(program: str) -> None:
    """Agents, runners, linters with plug-ins and clients are known wherever they are installed."""
    assert is_asked(f"/home/ana/.local/bin/{program}", ["x"])


def test_a_table_says_one_thing_about_a_program() -> None:
    """No name is in both tables of carriers without a profile, nor next to a profile."""
    known = table("carriers")
    more = section(known, "unprofiled")
    listed = [name for effect in more for name in words(more, effect)]
    assert len(listed) == len(set(listed)) > 1000
    others = {*section(known, "effects"), *words(known, "plain"), *profiled()}
    assert others.isdisjoint(listed)
    assert [name for name in listed if name != name.lower()] == []


def test_a_program_is_plain_under_its_name_of_the_toolchain_too() -> None:
    """On Debian strings is a link to x86_64-linux-gnu-strings."""
    assert not is_asked("/usr/bin/x86_64-linux-gnu-strings", ["f"])
