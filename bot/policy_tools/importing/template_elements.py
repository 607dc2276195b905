"""Write words with stars as elements of a rule's template, or as a pattern of words."""

from bot.policy_tools.importing.statements import INNER, STAR
from core.policy.matching.template_element import looks_typed
from core.text.secrets import vector_pieces

ANY_REST, KNOWN_REST = "<REST:any>", "<REST>"
_ANY_WORD = "<GLOB:*>"
_MOST_RULES = 3
SAME_WORD = "a * in quotes matches within that word only"
ONE_WORD = f"a * before the end matches at most {_MOST_RULES} words, the first of them no option"


class Unwritable(ValueError):
    """No template can express this."""


def vectors_of(words: tuple[str, ...], *, prefix: bool) -> tuple[list[tuple[str, ...]], str | None]:
    """Return vectors of arguments that allow no more than these, and what they leave out.

    Raises:
        Unwritable: no vector can express it.
    """
    if not words:
        return [(ANY_REST,) if prefix else ()], None
    heads, last = words[:-1], words[-1:]
    notes = [SAME_WORD] if any(INNER in word for word in words) else []
    open_ended = prefix
    if last and last[0].endswith(STAR) and not prefix:
        last, open_ended = (last[0],), True
        if last[0] == STAR:
            notes.append(ONE_WORD)
    spans = [place for place, word in enumerate(heads) if STAR in word]
    leading = bool(last) and STAR in last[0].rstrip(STAR)
    if leading:
        spans.append(len(heads))
    if spans:
        notes.append(ONE_WORD)
    tail = (ANY_REST,) if open_ended else ()
    elements = [_element(word) for word in (*heads, *last)]
    if len(spans) != 1:
        return [(*elements, *tail)], "; ".join(dict.fromkeys(notes)) or None
    at = spans[0]
    vectors = [
        (*elements[:at], *[_ANY_WORD] * more, *elements[at:], *tail) for more in range(_MOST_RULES)
    ]
    return vectors, "; ".join(dict.fromkeys(notes))


def _element(word: str) -> str:
    if STAR not in word and INNER not in word:
        if looks_typed(word):
            raise Unwritable("a word of it means something else in a rule")
        return word
    pattern = word.replace(STAR, "*").replace(INNER, "*")
    if any(mark in word for mark in "*?<>"):
        raise Unwritable("a * is next to a character that means something else in a rule")
    return f"<GLOB:{pattern}>"


def pattern_of(words: tuple[str, ...], *, prefix: bool) -> str:
    """Return a pattern of words joined by blanks for a rule that asks or denies."""
    text = " ".join(words).replace(STAR, "*").replace(INNER, "*")
    return f"{text} *" if prefix else text


def needs_pattern(words: tuple[str, ...]) -> bool:
    """Return whether a rule that asks or denies needs a pattern of words."""
    return any(STAR in word or INNER in word or looks_typed(word) for word in words)


def without_secrets(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with a star in place of what resembles a secret."""
    pieces = vector_pieces(words)
    return tuple("".join(STAR if one.kind else one.text for one in word) for word in pieces)
