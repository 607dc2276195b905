"""Mask fast, and show to the letter what the slow way showed."""

import re
import sys
import time
from collections.abc import Callable
from random import Random

import pytest

from core.text import secret_patterns
from core.text.escape import redact
from core.text.render import show_argv
from core.text.secret_patterns import PLAIN, SHAPES, fold
from core.text.secrets import argument_pieces, pieces, vector_pieces
from tests.core.text import slow_masking
from tests.core.text.maskable import hard_text, option
from tests.support.tables import rows

SEED, TEXTS = 20_261_122, 1_000
LONG = 120_000
FLOOR = re.compile(r"\w+|\s+|[^\w\s]")
MOST_TIMES_THE_FLOOR = 5


def _unlike(seed: int) -> str | None:
    """Return a text that is cut or shown differently than in the slow way; ``None``: none is."""
    rng = Random(seed)
    text, name = hard_text(rng, rng.choice((4, 12, 24, 120))), option(rng)
    value = text.strip().split(" ")[0]
    same = [
        list(pieces(text)) == list(slow_masking.pieces(text)),
        argument_pieces(text, name) == tuple(slow_masking.argument_pieces(text, name)),
        argument_pieces(value, name) == tuple(slow_masking.argument_pieces(value, name)),
    ]
    argv = (text, name, value, *text.split("=", 4), hard_text(rng, 4), value)
    alone = [
        tuple(slow_masking.argument_pieces(*pair)) for pair in zip(argv, ("", *argv), strict=False)
    ]
    same.append(list(vector_pieces(argv)) == alone)
    for multiline, strict in ((False, False), (True, False), (False, True)):
        shown = redact(text, multiline=multiline, strict=strict).text
        same.append(shown == slow_masking.redact(text, multiline=multiline, strict=strict))
    return None if all(same) else text


@pytest.mark.deep
def test_what_is_shown_is_what_the_slow_way_shows() -> None:
    """Over generated texts full of secrets, near-secrets, and odd letters."""
    assert [] == [text for seed in range(TEXTS) if (text := _unlike(SEED + seed)) is not None]


@pytest.mark.deep
@pytest.mark.parametrize("number", range(len(SHAPES)), ids=[shape.kind for shape in SHAPES])
def test_the_texts_tell_when_a_shape_is_missed(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: without any one of the shapes some text is shown differently."""
    blind = tuple(shape for at, shape in enumerate(SHAPES) if at != number)
    monkeypatch.setattr(secret_patterns, "SHAPES", blind)
    assert any(_unlike(SEED + seed) is not None for seed in range(TEXTS))


@pytest.mark.deep
@pytest.mark.parametrize(
    "spoilt",
    [{"needles": ("absent",)}, {"head": re.compile("(?!)")}, {"folded": False}],
    ids=["needles", "head", "folding"],
)
def test_the_texts_tell_when_a_shape_is_looked_for_wrongly(
    spoilt: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the shortcuts, on the shape that most texts have."""
    copied = object.__new__(type(SHAPES[-2]))
    for name in ("kind", "needles", "folded", "head", "whole"):
        object.__setattr__(copied, name, spoilt.get(name, getattr(SHAPES[-2], name)))
    monkeypatch.setattr(secret_patterns, "SHAPES", (*SHAPES[:-2], copied, SHAPES[-1]))
    assert any(_unlike(SEED + seed) is not None for seed in range(TEXTS))


def test_a_folded_character_is_what_a_pattern_takes_it_for() -> None:
    """Over all of Unicode: one character, the same letter, in the same classes."""
    letter = re.compile("[a-z]", re.IGNORECASE)
    classes = [re.compile(one) for one in (r"\w", r"\s", PLAIN)]
    wrong = []
    for character in map(chr, range(sys.maxunicode + 1)):
        folded = fold(character)
        same = [bool(one.match(character)) == bool(one.match(folded)) for one in classes]
        small = "a" <= folded <= "z"
        same += [len(folded) == 1, small == bool(letter.match(character))]
        if small:
            same.append(re.match(folded, character, re.IGNORECASE) is not None)
        if not all(same):
            wrong.append(character)
    assert wrong == []


def _script(lines: int) -> str:
    return "".join(
        f'if [ -f "/srv/app/{n}" ]; then cp --preserve /srv/app/{n} "$TARGET/{n}.bak"; fi\n'
        for n in range(lines)
    )


_SCRIPT = _script(2_000)[:LONG]
TEXTS_OF_A_KIND = {
    "one letter": "a" * LONG,
    "a script": _SCRIPT,
    "base64": "TWFuIGlzIGRpc3Rpbmd1aXNoZWQ" * (LONG // 27),
    "options": "--option-name value --keyring x " * (LONG // 32),
    "blanks": " " * LONG,
    "Latin": "déjà vu à Zürich " * (LONG // 17),
    "Cyrillic": "привет всем в этом чате " * (LONG // 24),
    "Chinese": "在这个目录里运行命令 " * (LONG // 11),
    "Hindi": "नमस्ते दुनिया " * (LONG // 14),
    "addresses": "https://example.com/a@b " * (LONG // 24),
}


HOSTILE = {
    "overlapping": "://a:token=b@" * 2_500,
    "options": "--" + "a--" * 10_000,
    "names": "password" * 4_000 + "secret-" * 2_000,
    "blanks behind names": ("secret" + " " * 200) * 150,
    "blanks behind a header": "authorization:" + " " * 30_000,
    "headers": "authorization:bearer " * 1_500,
    "credentials": ("://" + "a" * 199) * 150,
    "begun keys": ("-----BEGIN " + "PRIVATE KEY-----" + "\n" * 30) * 500,
    "headers of a key": "-----BEGIN " + "PRIVATE KEY-----" + "\nVersion: 1 a b c" * 1_800,
    "dollars": "token=" + "$a" * 15_000,
    "tokens": "eyJ-_." * 5_000 + "SG." * 4_000 + "M." * 3_000 + "1:" * 3_000,
    "accounts": " -u a.b" * 4_000,
    "secrets": "token=abcdef " * 2_300,
    "marks": "\u0915" + "\u093f" * 30_000,
    "words": "п" * 30_000,
    "escapes": "\\u{[secret:\x00\n" * 2_000,
}


def _costs(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """Return the least CPU time of a few rounds of each, in seconds; they take turns.

    A shared core is slower for a while: what is compared has to be measured in the same while.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            begun = time.process_time()
            work()
            taken.append(time.process_time() - begun)
    return [min(taken) for taken in times]


@rows("text", TEXTS_OF_A_KIND.values())
def test_a_long_text_costs_little_more_than_reading_it(text: str) -> None:
    """Against one plain scan over a text of as many words, in the same run."""
    floor, ours = _costs(lambda: FLOOR.findall(_SCRIPT), lambda: redact(text, multiline=True))
    assert ours <= MOST_TIMES_THE_FLOOR * floor, f"{ours * 1000:.1f} ms, {ours / floor:.1f}x"


@pytest.mark.deep
def test_the_slow_way_is_over_the_bound() -> None:
    """The negative control: what was measured before would not pass."""
    floor, slow = _costs(
        lambda: FLOOR.findall(_SCRIPT), lambda: slow_masking.redact(_SCRIPT, multiline=True)
    )
    assert slow > MOST_TIMES_THE_FLOOR * floor


@pytest.mark.parametrize(
    "argv",
    [("touch", *(f"some-file-{n}" for n in range(8_000))), ("echo", "a" * LONG)],
    ids=["many", "long"],
)
def test_a_long_vector_is_shown_as_fast(argv: tuple[str, ...]) -> None:
    """However its length is divided among its elements."""
    floor, ours = _costs(lambda: FLOOR.findall(_SCRIPT), lambda: show_argv(argv))
    assert ours <= MOST_TIMES_THE_FLOOR * floor, f"{ours * 1000:.1f} ms, {ours / floor:.1f}x"


@rows("half", HOSTILE.values())
def test_twice_as_much_of_the_worst_costs_no_more_than_its_share(half: str) -> None:
    """What makes patterns restart: the cost grows with the text, not its square."""
    once, fourfold = _costs(
        lambda: redact(half, multiline=True), lambda: redact(half * 4, multiline=True)
    )
    assert fourfold <= 9 * once, f"{once * 1000:.1f} ms, then {fourfold * 1000:.1f} ms"
