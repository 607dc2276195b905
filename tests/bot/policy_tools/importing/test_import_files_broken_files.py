"""Refuse or read two hundred broken files: none ends in a traceback."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.policy_tools.importing.documents import LARGEST
from bot.policy_tools.importing.import_files import Source, import_files
from bot.policy_tools.importing.report import shown, to_json
from core.errors import BadRequest
from tests.bot.policy_tools.past import sayso

ENVIRON = {"SAYSO_HOME": "/nonexistent/sayso"}
WHOLE = {
    Source.CLAUDE_CODE: json.dumps(
        {"permissions": {"allow": ["Bash(git log:*)", "Read(x)"], "deny": ["Read(./.env)"]}}
    ),
    Source.CODEX: 'prefix_rule(pattern=["git", ["log", "diff"]], match=["git log"])\nx = ["a"]\n',
    Source.GEMINI: '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = ["ls", "git log"]\n'
    'decision = "allow"\npriority = 5\n',
    Source.OPENCLAW: json.dumps(
        {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/ls"}, "~/bin/*"]}}}
    ),
}
ODD = ("\ud800", "a\0b", "x\n\x1b[31m", "\u202e", "(" * 500, "*" * 500, "<REST>", "'")
"""Texts that a rule may contain, and that no terminal or template should."""
NAMES = {Source.CODEX: "x.rules", Source.GEMINI: "x.toml"}
VALUES: tuple[object, ...] = (
    None,
    True,
    5,
    -1.5,
    "text",
    [],
    [[]],
    {},
    {"a": {}},
    [None],
    ["x", 5],
)


def spoilt(source: Source) -> Iterator[bytes]:
    """Yield contents that are broken in one way each."""
    whole = WHOLE[source].encode()
    chance = random.Random(source.value)
    for _ in range(12):
        yield whole[: chance.randrange(len(whole))]
    for _ in range(12):
        at = chance.randrange(len(whole))
        yield whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :]
    yield from (b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf" + whole, whole.decode().encode("utf-16"))
    yield from (b"\xff\xfe", whole + b"\0", b"\0" * 100, b"x" * (LARGEST + 1), b"\xed\xa0\x80")
    for opening in (
        b"[",
        b"{",
        b'{"a":',
        b"(",
        b"[[",
        b"a = [",
        b"a = {b = ",
        b"-",
        b"// [",
        b"/*",
    ):
        yield opening * 20_000
    yield from (b"[" * 3_000 + b"]" * 3_000, b"x = " + b"[" * 90 + b"]" * 90, b"1" * 5_000)
    yield b"a." * 5_000 + b"b = 1\n"


def documents(source: Source) -> Iterator[str]:
    """Yield documents whose parts are of another type than expected."""
    for value in VALUES:
        written = json.dumps(value)
        match source:
            case Source.CLAUDE_CODE:
                yield json.dumps({"permissions": value})
                yield json.dumps({"permissions": {"allow": value, "deny": [value]}})
                yield json.dumps({"permissions": {"ask": [f"Bash({odd} x:*)" for odd in ODD]}})
                yield json.dumps({"permissions": {"allow": [f"Bash(ls {odd})" for odd in ODD]}})
            case Source.CODEX:
                yield f"prefix_rule(pattern={value!r})"
                yield f'prefix_rule(pattern=["ls"], match={value!r}, decision={value!r})'
            case Source.GEMINI:
                yield json.dumps({"tools": {"allowed": value, "exclude": value}})
                yield f"rule = {written}" if value is not None else "rule = null"
            case Source.OPENCLAW:
                yield json.dumps({"version": 1, "agents": value})
                yield json.dumps({"version": 1, "agents": {"main": {"allowlist": [value]}}})


def files(folder: Path) -> Iterator[tuple[Source, Path]]:
    """Write the files and yield each with the product that it claims to be of."""
    for source in Source:
        contents = [*spoilt(source), *(text.encode() for text in documents(source))]
        for number, content in enumerate(contents):
            name = NAMES.get(source, "x.json")
            path = folder / f"{source.value}-{number}-{name}"
            path.write_bytes(content)
            yield source, path


def test_no_broken_file_ends_in_a_traceback(tmp_path: Path) -> None:
    """Each says in one line what is wrong with which file, and what to do."""
    count = refused = 0
    for source, path in files(tmp_path):
        count += 1
        try:
            found = import_files(source, [path], ENVIRON)
        except BadRequest as error:
            refused += 1
            message = str(error)
            assert path.name in message, message
            assert message.endswith("."), message
            assert "\n" not in message, message
            assert len(message) < 400, message
        else:
            shown(found).encode()
            json.dumps(to_json(found)).encode()
    print(f"\n{count} broken files, {refused} refused")
    assert count >= 200
    assert refused >= 100


@pytest.mark.parametrize("source", Source)
def test_what_is_no_file_is_refused(source: Source, tmp_path: Path) -> None:
    """A folder, a pipe, a device, a missing name, a name with a NUL; nothing waits."""
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        *(("pipe", "it is not a regular file"), ("/dev/zero", "it is not a regular file")),
        *(("", "Is a directory"), ("missing", "No such file or directory")),
        ("x\0y", "embedded null byte"),
    ):
        with pytest.raises(BadRequest) as refused:
            import_files(source, [tmp_path / name], ENVIRON)
        assert str(refused.value) == f"{tmp_path / name} cannot be read: {why}. Name a file."


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """It does not say which of the two counts, and one may deny what the other allows."""
    path = tmp_path / "settings.json"
    path.write_text('{"permissions": {"deny": ["Bash(rm:*)"], "deny": []}}', encoding="utf-8")

    with pytest.raises(BadRequest, match=r"'deny' appears twice"):
        import_files(Source.CLAUDE_CODE, [path], ENVIRON)


def test_the_command_exits_with_two_and_one_sentence(tmp_path: Path) -> None:
    """As for any other request that cannot be understood."""
    path = tmp_path / "settings.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    done = sayso(tmp_path / "state", "policy", "import", "--from", "claude-code", str(path))

    assert 2 == done.returncode
    assert "Traceback" not in done.stderr
    assert "nested" in done.stderr


def test_comments_and_trailing_commas_are_read(tmp_path: Path) -> None:
    """As the products' own readers accept them; JSON5 as well, and a byte order mark."""
    for text in (
        '{ /* x */ "permissions": { "allow": ["Bash(ls // x)",], }, // y\n}',
        "\ufeff{permissions: {allow: ['Bash(ls)']}}",
    ):
        path = tmp_path / "settings.json"
        path.write_text(text, encoding="utf-8")
        (outcome,) = import_files(Source.CLAUDE_CODE, [path], ENVIRON).outcomes
        assert "Bash(ls" in outcome.place.text
