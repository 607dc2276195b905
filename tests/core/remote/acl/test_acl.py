"""Load exec-acl.toml by S4 "ACL location", "Minimal ACL", "Pre-flight validation"."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError
from core.remote.acl.acl import Acl
from core.remote.acl.load import DEFAULT_PATH, load_acl
from tests.support.tables import rows

AGENT, MACHINE = "a" * 64, "b" * 64
AT = "exec.allow.0.commands.0"
PAGE = f"""
[exec]
enabled = true
max_stdout_bytes = 16777216
max_stderr_bytes = 16777216
max_stdin_bytes = 1048576
max_duration_secs = 300
max_concurrent_per_agent = 4
max_concurrent_total = 32
warn_stdout_bytes = 8388608
warn_stderr_bytes = 8388608
warn_duration_secs = 60
audit_log_path = "/var/log/x0x/exec.log"

[[exec.allow]]
description = "ops-laptop"
agent_id = "{AGENT}"
machine_id = "{MACHINE}"

[[exec.allow.commands]]
argv = ["systemctl", "status", "x0xd"]

[[exec.allow.commands]]
argv = ["journalctl", "-u", "x0xd", "-n", "<INT>"]

[[exec.allow.commands]]
argv = ["curl", "-s", "http://127.0.0.1:12600<URL_PATH>"]
"""
"""The page's "Minimal ACL", with ids filled in."""


def allows(text: str, *argv: str) -> bool:
    """Return whether a list lets the page's pair run a vector."""
    entry = Acl.parse(text).entry(AGENT, MACHINE)
    return entry is not None and entry.allows(argv)


def listing(*argv: Any, **more: Any) -> str:
    """Return a list with one vector."""
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in more.items())
    return (
        f'[exec]\nenabled = true\n{keys}\n[[exec.allow]]\nagent_id = "{AGENT}"\n'
        f'machine_id = "{MACHINE}"\n[[exec.allow.commands]]\nargv = {json.dumps(argv)}\n'
    )


def test_the_minimal_acl_of_the_page_is_read_as_written() -> None:
    """Every key of S4's example has the value that it has there."""
    table = Acl.parse(PAGE).table

    assert (table.enabled, table.max_stdout_bytes, table.max_stderr_bytes) == (
        True,
        16_777_216,
        16_777_216,
    )
    assert (table.max_stdin_bytes, table.max_duration_secs) == (1_048_576, 300)
    assert (table.max_concurrent_per_agent, table.max_concurrent_total) == (4, 32)
    assert (table.warn_stdout_bytes, table.warn_duration_secs) == (8_388_608, 60)
    assert table.audit_log_path == "/var/log/x0x/exec.log"
    assert table.allow[0].description == "ops-laptop"
    assert allows(PAGE, "systemctl", "status", "x0xd")


def test_the_default_path_is_in_etc() -> None:
    """S4 "Default path", under this product's name."""
    assert Path("/etc/sayso/exec-acl.toml") == DEFAULT_PATH


def test_missing_default_acl_means_exec_is_disabled(tmp_path: Path) -> None:
    """Nothing is an error if no one named a file; an existing one counts."""
    path = tmp_path / "exec-acl.toml"
    assert load_acl(default=path) is None
    path.write_text(PAGE)

    assert load_acl(default=path) is not None


def test_a_missing_path_supplied_explicitly_is_an_error(tmp_path: Path) -> None:
    """A named file must exist."""
    with pytest.raises(ConfigError, match="does not exist"):
        load_acl(tmp_path / "none.toml")


def test_an_acl_that_others_may_write_fails_closed(tmp_path: Path) -> None:
    """A user who can write the list decides what runs; the same file, private, is accepted."""
    path = tmp_path / "acl.toml"
    path.write_text(PAGE)
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="chmod go-w"):
        load_acl(default=path)

    path.chmod(0o644)
    assert load_acl(path) is not None


@pytest.mark.parametrize("linked", [False, True])
def test_an_acl_that_others_may_replace_fails_closed(tmp_path: Path, *, linked: bool) -> None:
    """A folder that others may write to counts at its own name and where a link leads."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    path = folder / "acl.toml"
    path.write_text(PAGE)
    named = tmp_path / "link.toml" if linked else path
    if linked:
        named.symlink_to(path)
    assert load_acl(named) is not None

    folder.chmod(0o777)
    with pytest.raises(ConfigError, match=f"other users can write to {folder}"):
        load_acl(named)


def _chained(shared: Path, named: Path, path: Path) -> None:
    """Lead from a private link over one in a shared folder to a private file."""
    shared.chmod(0o777)
    (shared / "middle").symlink_to(path)
    named.symlink_to(shared / "middle")


def _chained_folder(shared: Path, named: Path, path: Path) -> None:
    """The link in the shared folder is one to a folder, and both are relative."""
    shared.chmod(0o777)
    (shared / "middle").symlink_to(os.path.relpath(path.parent, shared))
    named.symlink_to(f"{shared.name}/middle/../{path.parent.name}/{path.name}")


def _link_of_another(shared: Path, named: Path, path: Path) -> None:
    """In a sticky folder, such as /tmp, others cannot rename what is ours."""
    shared.chmod(0o1777)
    (shared / "middle").symlink_to(path)
    os.lchown(shared / "middle", 65534, 65534)
    named.symlink_to(shared / "middle")


def _folder_of_another(shared: Path, named: Path, path: Path) -> None:
    """Only its owner may write there, who is neither we nor root."""
    (shared / "middle").symlink_to(path)
    os.chown(shared, 65534, 65534)
    named.symlink_to(shared / "middle")


@pytest.mark.parametrize("lead", [_chained, _chained_folder, _link_of_another, _folder_of_another])
def test_no_link_on_the_way_to_an_acl_may_be_changed_by_others(
    tmp_path: Path, lead: Callable[[Path, Path, Path], None]
) -> None:
    """File and name are ours alone, but others lead to another list; each is refused."""
    shared, private = tmp_path / "shared", tmp_path / "private"
    for folder in (shared, private):
        folder.mkdir(mode=0o755)
    path, named = private / "acl.toml", tmp_path / "named.toml"
    path.write_text(PAGE)
    lead(shared, named, path)
    assert named.resolve() == path

    with pytest.raises(ConfigError, match="cannot be trusted"):
        load_acl(named)
    # The control: the same links, once no one else can change them.
    os.chown(shared, 0, 0)
    if (shared / "middle").is_symlink():
        os.lchown(shared / "middle", 0, 0)
    shared.chmod(0o755)
    assert load_acl(named) is not None


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_list_that_would_deny_everything_stops_the_start(stream: str) -> None:
    """Every run keeps some of a stream, so a cap of 0 is a mistake; a warning from 0 is not."""
    table = "[exec]\nenabled = true\n"
    assert Acl.parse(f"{table}warn_{stream}_bytes = 0\nmax_{stream}_bytes = 1").table.enabled
    with pytest.raises(ConfigError, match=f"max_{stream}_bytes"):
        Acl.parse(f"{table}max_{stream}_bytes = 0")


@pytest.mark.parametrize("found", ["a folder", "a link to nothing", "not UTF-8"])
def test_an_acl_that_cannot_be_read_fails_closed(tmp_path: Path, found: str) -> None:
    """A file that exists and is not a readable list is never taken for no list."""
    path = tmp_path / "acl.toml"
    if found == "a folder":
        path.mkdir()
    elif found == "a link to nothing":
        path.symlink_to(tmp_path / "gone")
    else:
        path.write_bytes(b"\xff\xfe")

    why = {"a folder": "Is a directory", "not UTF-8": "it is not UTF-8"}.get(
        found, "does not exist"
    )
    with pytest.raises(ConfigError, match=why) as refused:
        load_acl(path)
    assert "Errno" not in str(refused.value)


@pytest.mark.parametrize("word", ["1", "9", "10", "100", "999999"])
def test_int_is_a_positive_integer_from_1_to_999999(word: str) -> None:
    """S4 "Supported templates"."""
    assert allows(PAGE, "journalctl", "-u", "x0xd", "-n", word)


@rows(
    "word",
    [
        "0",
        "007",
        "01",
        "1000000",
        "-1",
        "+5",
        "5.0",
        "1e3",
        "1_0",
        " 5",
        "5\n",
        "",
        "all",
        "\uff15",
        "1\uff15",
        "\u0665",
        "\u00b2",
    ],
)
def test_int_takes_nothing_else(word: str) -> None:
    """Leading zeros, full-width and other digits, signs and blanks included."""
    assert not allows(PAGE, "journalctl", "-u", "x0xd", "-n", word)


@pytest.mark.parametrize("path", ["/", "/a/b_c-d.e/F9", "/.well-known/x", "/" + "a" * 256])
def test_url_path_is_an_absolute_path_of_257_characters_at_most(path: str) -> None:
    """Counting the leading slash; it contains only A-Za-z0-9/_.- ."""
    assert allows(PAGE, "curl", "-s", f"http://127.0.0.1:12600{path}")
    assert allows(listing("tool", "<URL_PATH>"), "tool", path)


@rows(
    "path",
    [
        "",
        "a",
        "/" + "a" * 257,
        "/../etc",
        "/a/..",
        "/..a",
        "/a?x=1",
        "/a b",
        "/é",
        "/%2e%2e/a",
        "//evil.example/a",
        ".evil.example/a",
        "@evil.example/",
        "/a\n",
        "/a{b}",
        "/a[1]",
        "/a\\b",
    ],
)
def test_url_path_takes_nothing_else(path: str) -> None:
    """258 characters, `..` in any place, and what is outside the alphabet."""
    assert not allows(PAGE, "curl", "-s", f"http://127.0.0.1:12600{path}")


def test_a_literal_prefix_has_to_be_there() -> None:
    """The prefix ends where the template begins, and nothing may stand in for it."""
    assert not allows(PAGE, "curl", "-s", "https://127.0.0.1:12600/a")
    assert not allows(PAGE, "curl", "-s", "/a")


@rows(
    "word",
    [
        "<FOO>",
        "<int>",
        "<PATH>",
        "<NAME>",
        "<ANY>",
        "x<INT>",
        "<INT>x",
        "<URL_PATH>x",
        "<>",
        "<INT><INT>",
        "<URL_PATH><URL_PATH>",
        "< INT >",
    ],
)
def test_any_other_template_is_a_parse_error(word: str) -> None:
    """S4: "Any other `<...>` token is a parse error"; the line is named."""
    with pytest.raises(ConfigError, match=r"exec-acl\.toml:8: .*unknown template"):
        Acl.parse(listing("tool", word))


@pytest.mark.parametrize("shell", ["sh", "bash", "/bin/sh", "/usr/bin/bash", "zsh", "dash"])
def test_no_sh_c_and_no_bash_c(shell: str) -> None:
    """S4: "no `/bin/sh -c`, `bash -c`": a list that starts a shell is refused as a whole."""
    with pytest.raises(ConfigError, match="is a shell"):
        Acl.parse(listing(shell, "-c", "id"))


@pytest.mark.parametrize("pattern", ["*.log", "?", "[ab]", "**", "^a$", ".*", "a|b"])
def test_no_globs_and_no_regex_allowlists(pattern: str) -> None:
    """A pattern in the list means itself, not what it would match in a shell."""
    text = listing("cat", pattern)

    for word in ("x.log", "a", "b", "ab"):
        assert not allows(text, "cat", word)


@pytest.mark.parametrize("program", ["<URL_PATH>", "<INT>", "./tool", "bin/tool", "../tool", ""])
def test_the_program_is_a_name_or_an_absolute_path(program: str) -> None:
    """A template there would let the requester choose the program."""
    with pytest.raises(ConfigError, match=r":8: exec\.allow"):
        Acl.parse(listing(program, "x"))


def test_every_command_must_match_an_acl_argv_vector_exactly() -> None:
    """Fewer, more, other, moved and joined elements are other vectors."""
    assert not allows(PAGE, "systemctl", "status")
    assert not allows(PAGE, "systemctl", "status", "x0xd", "--no-pager")
    assert not allows(PAGE, "systemctl", "restart", "x0xd")
    assert not allows(PAGE, "systemctl", "x0xd", "status")
    assert not allows(PAGE, "systemctl status x0xd")
    assert not allows(PAGE, "/usr/bin/systemctl", "status", "x0xd")
    assert not allows(PAGE, "Systemctl", "status", "x0xd")


@rows(
    "text, where",
    [
        ("[exec\nenabled = true\n", r":1: "),
        (PAGE.replace("enabled = true", "enabled = 1"), r":3: exec\.enabled"),
        (PAGE.replace("enabled = true", ""), r": exec\.enabled: is missing"),
        ("", r":1: exec: is missing"),
        (PAGE + "\n[other]\nx = 1\n", r": other: is not a known key"),
        (
            PAGE.replace("warn_duration", "wran_duration"),
            r":12: exec\.wran_duration_secs: is not a known key",
        ),
        (PAGE.replace(AGENT, "a" * 63), r":17: exec\.allow\.0\.agent_id: must be 64"),
        (PAGE.replace(AGENT, "a" * 65), r":17: "),
        (PAGE.replace(AGENT, "A" * 64), r":17: "),
        (PAGE.replace(AGENT, "g" * 64), r":17: "),
        (PAGE.replace(MACHINE, "b" * 64 + r"\n"), r":18: "),
        (PAGE.replace("description", "descr"), r":16: exec\.allow\.0\.descr: is not a known key"),
        (PAGE.replace("= 1048576", "= 1048577"), r":6: exec\.max_stdin_bytes"),
        (PAGE.replace("= 300", "= 0"), r":7: exec\.max_duration_secs"),
        (PAGE.replace("= 300", "= 86401"), r":7: "),
        (PAGE.replace("= 300", '= "300"'), r":7: "),
        (PAGE.replace("_total = 32", "_total = 3"), r"above max_concurrent_total"),
        (PAGE.replace("_per_agent = 4", "_per_agent = 0"), r":8: "),
        (PAGE.replace('"/var/log', '"var/log'), r":13: exec\.audit_log_path.*absolute"),
        (PAGE.replace('["systemctl", "status", "x0xd"]', "[]"), r":21: "),
        (PAGE.replace('"status"', "7"), r":21: "),
        (PAGE.replace("enabled = true", "enabled = true\nenabled = true"), r":4: "),
    ],
)
def test_a_malformed_acl_is_refused_with_its_line(text: str, where: str) -> None:
    """TOML syntax, required fields, id lengths, caps and templates, unknown and doubled keys."""
    with pytest.raises(ConfigError, match=where):
        Acl.parse(text)


@rows(
    "text, told",
    [
        (listing(), "8: exec.allow.0.commands.0.argv: must not be empty."),
        (listing("ls", 7), "8: exec.allow.0.commands.0.argv.1: must be text in quotes."),
        (
            listing("a/b"),
            f"8: {AT}.argv: the program must be a plain name or an absolute path, not a template.",
        ),
        ("exec = 1", "1: exec: must be a table of keys."),
        (
            listing("ls", enable=True),
            "3: exec.enable: is not a known key; remove it, or correct its name.",
        ),
        ("[exec]\nenabled = 1", "2: exec.enabled: must be true or false."),
        ("[exec]\nenabled = true\nallow = 3", "3: exec.allow: must be a list."),
        (
            listing("ls", max_concurrent_total=1025),
            "3: exec.max_concurrent_total: must be 1024 or less.",
        ),
        (
            listing("ls", max_concurrent_per_agent=40),
            "1: exec: max_concurrent_per_agent (40) is above max_concurrent_total (32).",
        ),
        (listing("ls", default_cwd="x"), "3: exec.default_cwd: must be an absolute path."),
    ],
)
def test_one_fault_is_told_once_and_in_our_words(text: str, told: str) -> None:
    """A refused vector does not also leave its list empty; no message of the library's appears."""
    with pytest.raises(ConfigError) as refused:
        Acl.parse(text, "F")

    assert str(refused.value) == f"F:{told}"


@pytest.mark.parametrize("total", [1, 2, 4, 32])
def test_a_total_alone_is_enough(total: int) -> None:
    """The default cap of an agent is never above a total that was set."""
    table = Acl.parse(listing("ls", max_concurrent_total=total)).table

    assert (table.max_concurrent_total, table.max_concurrent_per_agent) == (total, min(4, total))


@pytest.mark.parametrize("word", ["a;b", "a<b", "`id`", "x\ny", "a>b<URL_PATH>", "$HOME"])
def test_what_no_request_can_match_is_warned_of(word: str) -> None:
    """A word that is refused in each request makes its vector useless; the line is named."""
    acl = Acl.parse(listing("grep", word), "F")

    assert not allows(listing("grep", word), "grep", word.replace("<URL_PATH>", "/"))
    (line,) = acl.warnings
    assert line.startswith(f"F:8: exec.allow.0.commands.0.argv: no request can match {word!r}: ")


def test_what_can_be_meant_is_not_warned_of() -> None:
    """Templates, prefixes, empty words and everything else that a request may contain."""
    assert Acl.parse(PAGE).warnings == ()
    assert Acl.parse(listing("tool", "", "<INT>", "a b", "x//<URL_PATH>", "(é)*")).warnings == ()


def test_audit_tasklist_id_is_parsed_and_preserved() -> None:
    """S4 "Audit mirror": read for later; nothing is mirrored now."""
    assert Acl.parse(listing("df", audit_tasklist_id="ops")).table.audit_tasklist_id == "ops"


def test_two_entries_of_one_pair_count_together_and_no_other_pair_gains() -> None:
    """The exact pair is the key: the same agent elsewhere has nothing."""
    second = listing("df", "-h").partition("[[exec.allow]]")[2]
    acl = Acl.parse(f"{PAGE}\n[[exec.allow]]{second}")

    entry = acl.entry(AGENT, MACHINE)
    assert entry is not None
    assert entry.allows(("df", "-h"))
    assert entry.allows(("systemctl", "status", "x0xd"))
    assert acl.entry(AGENT, AGENT) is None
    assert acl.entry(MACHINE, MACHINE) is None


CORPUS = Path(__file__).parents[3] / "corpus" / "commands.json"


def _corpus() -> list[dict[str, Any]]:
    entries = json.loads(CORPUS.read_text())
    wanted = [one for one in entries if one["class"] in {"acl-template", "benign-acl"}]
    return [one for one in wanted if "argv" in one and "env" not in one]


def test_the_corpus_is_there() -> None:
    """Both classes; those with a line or an environment are not S4 requests, which have neither."""
    assert len(_corpus()) >= 50


@rows("case", _corpus())
def test_the_acl_classes_of_the_corpus_are_all_right(case: dict[str, Any]) -> None:
    """What must run runs, what must not does not, a list with an unknown template is refused."""
    text = listing("true")
    for argv in case["acl"]:
        text += f"[[exec.allow.commands]]\nargv = {json.dumps(argv)}\n"
    try:
        allowed = allows(text, *case["argv"])
    except ConfigError:
        allowed = False

    assert allowed == (case["must"] == "allow"), case["why"]
