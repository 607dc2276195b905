"""Show with `sayso prompt render` what is safe on each platform, in order, and send nothing."""

import io
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.explain.prompt_preview import render_batch
from channels.payload_preview import names

CORPUS = json.loads(Path("tests/corpus/prompts.json").read_text())
HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}


def rendered(channel: str, *lines: object) -> list[dict[str, object]]:
    """Return the answers to a batch of objects or raw lines."""
    raw = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    out = io.StringIO()
    render_batch(raw, out, channel)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def strings(value: object) -> Iterator[str]:
    """Yield every string of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


@pytest.mark.parametrize("channel", names())
def test_corpus_is_shown_without_a_hidden_character(channel: str) -> None:
    """No control, format, private or unassigned character reaches a platform, in any field."""
    fields = ("id", "command", "cwd", "agent", "env")
    answers = rendered(channel, *({k: one[k] for k in fields if k in one} for one in CORPUS))

    assert [one["id"] for one in CORPUS] == [answer["id"] for answer in answers]
    for answer in answers:
        for text in strings(answer["payloads"]):
            hidden = {c for c in text if c not in "\n\t" and unicodedata.category(c) in HIDDEN}
            assert not hidden, (answer["id"], hidden)
    shown = [answer for answer in answers if answer["payloads"]]
    assert len(shown) > len(CORPUS) * 0.9


@pytest.mark.parametrize("channel", names())
def test_buttons_that_allow_come_last_and_only_where_all_is_offered(channel: str) -> None:
    """A long command is sent whole before the card; what cannot be shown cannot be allowed."""
    long = {"id": 1, "command": "echo " + "x" * 9_000, "cwd": "/srv", "agent": "main"}
    never = {"id": 2, "command": "echo a\0b", "cwd": "/srv", "agent": "main"}

    first, second = rendered(channel, long, never)

    whole = "".join(strings(first["payloads"])).replace("\n", "")
    assert first["approvable"] is True
    assert whole.count("x") >= 9_000
    assert second["approvable"] is False
    assert [] == second["payloads"]
    assert "NUL" in str(second["error"])


def test_a_bad_line_never_stops_the_batch() -> None:
    """An invalid request is answered with an error, and the next line as usual."""
    good = {"id": "c", "argv": ["rm", "-rf", ""], "cwd": "/srv", "agent": "a"}

    answers = rendered("telegram", b"{", b"[]", {"id": "b", "command": 7}, good)

    assert [None, None, "b", "c"] == [answer["id"] for answer in answers]
    assert ["error" in answer for answer in answers] == [True, True, True, False]
    assert "rm -rf ''" in json.dumps(answers[3]["payloads"])
