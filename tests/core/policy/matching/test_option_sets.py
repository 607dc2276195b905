"""Take options out of a vector, wherever they are, by option sets (`<OPTS:name>`)."""

import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.model.decision import Decision
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.option_sets import operands_of, option_set, shipped_sets
from core.policy.matching.template_element import Surroundings
from core.policy.rules.compiled import BadRule, Provisions, compiled, rule_mistakes
from core.policy.rules.self_test import broken_examples, examples
from core.programs.profiles.tables import section, table
from core.settings import CoreSettings
from core.settings.rules import OptionSetSection, RuleSection
from tests.core.policy.configured_rules import rule
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

HERE = Surroundings("/srv/app")
CURL = shipped_sets()["curl-read"]
URL = "http://<HOST:local>:<PORT><URL_PATH><QUERY>"
READ = rule("allow", "curl", "<OPTS:curl-read>", URL)
TESTS = {
    "flags": ["-q", "-x", "--lf"],
    "values": {"-k": "<NAME>", "--maxfail": "<INT>", "-p": ["no:cacheprovider", "<GLOB:x*>"]},
}


def held(*rules: dict[str, Any], sets: dict[str, Any] | None = None) -> Provisions:
    """Compile rules and option sets."""
    exec_settings = {"rules": rules, "optionSets": sets or {}}
    settings = CoreSettings.model_validate({"tools": {"exec": exec_settings}})
    return compiled(settings, "/home/alice").everyone


def decided(provisions: Provisions, *argv: str) -> Decision:
    """Return the decision on a command of /usr/bin."""
    return evaluate(plan_of(command(*argv)), LISTED, listed(), provisions=provisions).decision


@pytest.mark.parametrize(
    "argv",
    [
        ("-s", "http://localhost:3030/api/x?y=1", "-H", "Accept: application/json"),
        ("-s", "-H", "Accept: */*", "http://localhost:3030/"),
        ("http://localhost:3030/",),
        ("-sSf", "http://127.0.0.1:80/", "-o/dev/null", "-w", "%{http_code}\\n"),
        ("-sXHEAD", "http://[::1]:80/x", "-m5"),
    ],
)
def test_one_rule_is_about_reading_from_a_local_address(argv: tuple[str, ...]) -> None:
    """Options before, between and after the operand, in clusters and glued."""
    assert decided(held(READ), "curl", *argv) is Decision.ALLOW


@rows(
    "argv",
    [
        ("-s",),
        ("-s", "http://localhost:1/", "http://localhost:1/"),
        ("-s", "http://evil:1/"),
        ("-s", "http://localhost:1/", "-o", "x"),
        ("-s", "http://localhost:1/", "x"),
        ("http://localhost:1/", "-d", "x"),
        ("-d@/etc/passwd", "http://localhost:1/"),
        ("-K", "-s", "http://localhost:1/"),
        ("-o", "-s", "http://localhost:1/"),
        ("-x", "http://localhost:1/", "http://localhost:1/"),
        ("--", "http://localhost:1/"),
        ("--", "-s", "http://localhost:1/"),
        ("-L", "http://localhost:1/"),
        ("-sL", "http://localhost:1/"),
        ("-T", "http://localhost:1/", "http://localhost:1/"),
        ("-H", "http://localhost:1/"),
        ("-H", "Host: evil", "http://localhost:1/"),
        ("--next", "http://localhost:1/"),
        ("-sXPOST", "http://localhost:1/"),
        ("--url", "http://localhost:1/", "http://localhost:1/"),
        ("http://localhost:1/", "-w"),
        ("-", "http://localhost:1/"),
        ("", "http://localhost:1/"),
    ],
)
def test_the_rule_is_about_nothing_else(argv: tuple[str, ...]) -> None:
    """No option outside the set, no value that does not fit, no second operand."""
    assert decided(held(READ), "curl", *argv) is Decision.ASK


def test_the_shipped_sets_hold_their_examples() -> None:
    """They match what they say, and a weakened set is noticed."""
    assert not [one for one in broken_examples() if "option_sets" in one]
    assert operands_of(CURL, ["-d", "x"], HERE) is None
    assert operands_of(option_set("x", ["-d"], {}), ["-d", "x"], HERE) == ["x"]


def test_an_own_set_is_read_as_it_is_written() -> None:
    """Without clusters a glued letter is not an option of the set."""
    tests = held(rule("allow", "pytest", "<OPTS:tests>", "<PATH>…"), sets={"tests": TESTS})
    for words, wanted in (
        ("-q tests", Decision.ALLOW),
        ("tests/a.py -x tests/b.py --maxfail 3", Decision.ALLOW),
        ("--maxfail=3 -k name tests", Decision.ALLOW),
        ("-p no:cacheprovider -p xdist tests", Decision.ALLOW),
        ("-q", Decision.ASK),
        ("-qx tests", Decision.ASK),
        ("-kname tests", Decision.ASK),
        ("-k=name tests", Decision.ASK),
        ("--maxfail=0 tests", Decision.ASK),
        ("--max=3 tests", Decision.ASK),
        ("-p evil tests", Decision.ASK),
        ("-q ../tests", Decision.ASK),
        ("tests -k", Decision.ASK),
        ("--rootdir=/ tests", Decision.ASK),
    ):
        assert decided(tests, "pytest", *words.split()) is wanted, words


def test_options_come_behind_what_precedes_their_element() -> None:
    """`git -q log` differs from `git log -q`."""
    logs = held(rule("allow", "git", "log", "<OPTS:log>"), sets={"log": {"flags": ["-q"]}})
    assert decided(logs, "git", "log", "-q", "-q") is Decision.ALLOW
    assert decided(logs, "git", "log") is Decision.ALLOW
    assert decided(logs, "git", "-q", "log") is Decision.ASK
    assert decided(logs, "git", "log", "x") is Decision.ASK


def test_a_rule_that_forbids_looks_for_its_operands_among_all_words() -> None:
    """Options that the set does not know hide nothing; nor do further operands."""
    denied = held(rule("deny", "curl", "<OPTS:curl-read>", "http://evil<URL_PATH>"))
    for words in ("http://evil/", "-d x http://evil/x -o f", "a http://evil/\u00e9 b"):
        assert decided(denied, "curl", *words.split()) is Decision.DENY
    assert decided(denied, "curl", "http://good/") is Decision.ASK


def test_an_entry_of_the_allowlist_knows_the_shipped_sets() -> None:
    """Those of the configuration are for rules, as its roots are."""
    entry = AllowlistEntry("/usr/bin/curl", argv=("<OPTS:curl-read>", URL))
    plan = plan_of(command("curl", "-s", "http://localhost:1/"))
    allowlist = Allowlist([entry], "/home/alice")
    assert evaluate(plan, LISTED, allowlist).decision is Decision.ALLOW
    unknown = Allowlist([AllowlistEntry("/usr/bin/curl", argv=("<OPTS:mine>",))], "/home/alice")
    assert "names no option set" in unknown.lint()[0]


@rows(
    "argv, words",
    [
        (["curl", "<OPTS:none>"], "names no option set"),
        (["curl", "<OPTS>"], "<OPTS:name>"),
        (["curl", "x<OPTS:curl-read>"], "<OPTS:name>"),
        (["curl", "<OPTS:curl-read>", "<REST>"], "cannot precede"),
        (["curl", "<OPTS:curl-read>", "<OPTS:curl-read>"], "cannot precede"),
        (["curl", "<OPTS:curl-read>", "<PATH>…", "<PATH>…"], "Two elements"),
        (["curl", "-d", "<OPTS:curl-read>", URL], "Put it into the set"),
        (["curl", "<OPTS:curl-read>", "-d", "<ANY>"], "Put it into the set"),
        (["curl", "<OPTS:curl-read>", "<GLOB:-*>"], "Put it into the set"),
        (["curl", "<OPTS:curl-read>", "--port=<PORT>"], "Put it into the set"),
    ],
)
def test_an_ill_placed_set_says_what_to_write(argv: list[str], words: str) -> None:
    """An option outside the set could take a word of it as its value."""
    with pytest.raises(ConfigError, match=words):
        ArgvTemplate.of_rule(argv)


@rows(
    "bad, words",
    [
        ({"flags": ["q"]}, "is not an option"),
        ({"flags": ["--"]}, "is not an option"),
        ({"flags": ["-x y"]}, "is not an option"),
        ({"flags": ["--x=y"]}, "is not an option"),
        ({"flags": ["-x"], "values": {"-x": "<INT>"}}, "Write it once"),
        ({"values": {"-x": "<REST>"}}, "one word"),
        ({"values": {"-x": "<PATH>…"}}, "one word"),
        ({"values": {"-x": "<FOO>"}}, "unknown template"),
        ({"values": {"-x": "<PATH:none>"}}, "names no root"),
        ({"flags": ["-ab"], "clusters": True}, "Leave clusters out"),
    ],
)
def test_a_set_that_cannot_be_right_stops_the_load(bad: dict[str, Any], words: str) -> None:
    """The error names the set."""
    with pytest.raises(BadRule, match=words) as caught:
        held(sets={"mine": bad})
    assert caught.value.path == ("tools", "exec", "optionSets", "mine")
    section_of = OptionSetSection.model_validate(bad)
    (found,) = rule_mistakes([], [], "/home/alice", {"mine": section_of})
    assert found.path == caught.value.path


def test_a_shipped_set_keeps_its_name() -> None:
    """What `curl-read` means in a rule is what the manual says."""
    with pytest.raises(BadRule, match="another name"):
        held(sets={"curl-read": {"flags": ["-d"]}})


def test_rules_are_checked_with_the_sets_beside_them() -> None:
    """`sayso config check` knows them too."""
    one = RuleSection.model_validate(rule("allow", "pytest", "<OPTS:tests>"))
    path = ("tools", "exec", "rules", 0)
    sets = {"tests": OptionSetSection.model_validate(TESTS)}
    assert rule_mistakes([(path, one)], [], "/home/alice", sets) == ()
    assert len(rule_mistakes([(path, one)], [], "/home/alice")) == 1


WORDS = [
    "-s",
    "-sS",
    "-o",
    "/dev/null",
    "x",
    "-X",
    "GET",
    "POST",
    "-H",
    "A: b",
    "-m5",
    "-L",
    "--",
    "-",
]


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_nothing_is_lost_or_made_up(words: list[str]) -> None:
    """Operands are words of the vector, in order; what is forbidden is wider."""
    found = operands_of(CURL, words, HERE)
    if found is not None:
        left = iter(words)
        assert all(one in left for one in found)
        assert not any(len(one) > 1 and one.startswith("-") for one in found)
    template = ArgvTemplate.of_rule(["curl", "<OPTS:curl-read>", "x"])
    argv = ["curl", *words]
    assert template.may_fit(argv, HERE) or not template.fits(argv, HERE)


class Seen(BaseHTTPRequestHandler):
    """Record each request's method."""

    methods: list[str]

    def _note(self) -> None:
        self.methods.append(self.command)
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _note  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a real server, and the methods that it saw."""
    methods: list[str] = []
    handler = type("Handler", (Seen,), {"methods": methods})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/x", methods
        http.shutdown()


def test_whatever_fits_makes_curl_read_and_write_nothing(
    server: tuple[str, list[str]], tmp_path: Path
) -> None:
    """The real curl, with random options of the set: GET and HEAD, and no file appears."""
    address, methods = server
    curl, draw = shutil.which("curl"), Random(9)
    assert curl is not None
    taken = [list(one) for one in examples(section(table("option_sets"), "curl-read"), "accept")]
    for _ in range(20):
        words = [word for one in draw.sample(taken, 2) for word in one]
        argv = ["curl", *words, address]
        assert decided(held(READ), *argv) is Decision.ALLOW, argv
        _run(curl, [*words, "--max-time", "5", address], tmp_path)
    assert len(methods) >= 20
    assert set(methods) <= {"GET", "HEAD"}
    assert list(tmp_path.iterdir()) == []
    _run(curl, ["-s", "-d", "x", "-o", "out", address], tmp_path)
    assert methods[-1] == "POST"  # the control: outside the set the server and the folder notice
    assert list(tmp_path.iterdir()) != []


def _run(curl: str, words: list[str], folder: Path) -> None:
    subprocess.run(
        [curl, "-q", *words],
        cwd=folder,
        env={"NO_PROXY": "*"},
        capture_output=True,
        check=False,
        timeout=20,
    )
