"""Cut a text that was not read for certain into what may be its commands.

Nothing is allowed by this: more is bound by it. So it understands less than a shell and loses no
word: what it takes for another command is one more that is checked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

UNCERTAIN = "\0"
"""Is in a word instead of what a shell puts there: a variable, or what a command prints."""

_PIECE = re.compile(
    r"""(?P<blank>[^\S\n]+)
|(?P<continued>\\\n)
|(?P<comment>(?<![^\s;|&()])(?<!\\\n)\#[^\n]*)
|(?P<process>[<>]\()
|(?P<redirect>(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>&|&>>?|>>|>\||<|>))
|(?P<mark>\n|;+&?|&&|\|\|?&?|&|\(|\))
|(?P<home>(?<![^\s;|&()=:<>])~(?=/))
|(?P<plain>[^\s'"\\$`;|&<>()~]+|~)
|(?P<escaped>\\.?)
|(?P<ansi>\$'(?:[^'\\]|\\.)*'?)
|(?P<single>'[^']*'?)
|(?P<double>\$?")
|(?P<within>\$\(|\$\{|`)
|(?P<value>\$(?:\w+|[@*\#?$!-])?)
""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN_WORDS = re.compile(r"(?:[\w./:=,+@%-]+[ \t]+)+")
"""Many words at once, because most of a long text is plain."""

_QUOTED = re.compile(
    r"""(?P<double>")|(?P<escaped>\\.?)|(?P<within>\$\(|\$\{|`)|(?P<value>\$(?:\w+|[@*\#?$!-])?)
|(?P<plain>[^"\\$`]+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSER = {"$(": ")", "${": "}", "`": "`", "<(": ")", ">(": ")"}
_QUOTING = frozenset(("escaped", "ansi", "single", "double"))
_STEP = re.compile(r"\\.|'|\"|`|\$\(|\$\{|\(|\)|\}", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\(|`")
_LINE = re.compile(r"^.*$", re.MULTILINE)
_SIMPLE_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_OF_A_VARIABLE = re.compile(r"[!#]?(?:\w+|[@*?$-])(?:\[[^]]*])?[-:=+?#%/^,@]*")
"""What of a `${x:-y}` names the variable, and says what is done with it."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """What may be one command: its words without quotes, and what its streams are led to.

    ``documents`` are the here-documents of its input, ``expanded`` those without quotes.
    """

    words: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    expanded: tuple[str, ...] = ()


@dataclass(slots=True)
class UnreadText:
    """``within`` are the texts of its substitutions; ``piped``: a command gets another's output.

    ``spare`` is what a shell may put in the place of a variable, or of a text with escapes.
    """

    fragments: list[Fragment] = field(default_factory=list)
    within: dict[str, None] = field(default_factory=dict)
    spare: list[str] = field(default_factory=list)
    piped: bool = False


@dataclass(frozen=True, slots=True)
class _Document:
    """A here-document whose lines are still to come, and the place of its command."""

    word: str
    quoted: bool
    of_input: bool
    place: int


def cut(text: str, values: Mapping[str, str] | None = None) -> UnreadText:
    """Return what may be the commands of a text; ``values`` are those of known variables."""
    return _Cutter(text, values or {}).cut()


class _Cutter:
    """One text in progress."""

    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self._text = text
        self._values = values
        self._at = 0
        self._found = UnreadText()
        self._word: list[str] | None = None
        self._redirect = ""
        self._stream = ""
        self._is_quoted = False
        self._words: list[str] = []
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._documents: list[_Document] = []

    def cut(self) -> UnreadText:
        """Take token by token."""
        while self._at < len(self._text):
            if self._word is None and not self._redirect:
                plain = _PLAIN_WORDS.match(self._text, self._at)
                if plain is not None:
                    self._words += plain[0].split()
                    self._at = plain.end()
                    continue
            found = _PIECE.match(self._text, self._at)
            if found is None:  # nothing is left out: each character is in some token
                break
            self._at = found.end()
            self._take(str(found.lastgroup), found[0])
        self._end_command()
        return self._found

    def _take(self, kind: str, mark: str) -> None:
        if kind in {"blank", "comment"}:
            self._end_word()
        elif kind == "redirect":
            self._end_word()
            self._redirect = mark.lstrip("0123456789")
            self._stream = mark.removesuffix(self._redirect)
        elif kind == "mark":
            self._end_command()
            self._found.piped |= mark.startswith("|") and not mark.startswith("||")
            if mark == "\n":
                self._skip_documents()
        elif kind != "continued":
            self._is_quoted |= kind in _QUOTING
            if kind == "double":
                self._quoted()
            else:
                self._put(self._piece(kind, mark))

    def _piece(self, kind: str, mark: str) -> str:
        """Return what a token adds to a word."""
        if kind in {"within", "process"}:
            return self._substituted(mark)
        if kind == "home":
            return self._values.get("HOME", UNCERTAIN)
        if kind == "value":
            return self._values.get(mark[1:], UNCERTAIN) if len(mark) > 1 else mark
        if kind == "escaped":
            return "" if mark == "\\\n" else mark[1:]  # in quotes
        if kind == "ansi":
            return self._escaped(mark[2:].removesuffix("'"))
        return mark[1:].removesuffix("'") if kind == "single" else mark

    def _escaped(self, text: str) -> str:
        if "\\" not in text:
            return text
        self._found.spare.append(text)
        return UNCERTAIN

    def _quoted(self) -> None:
        """Take text in double quotes."""
        self._put("")
        while found := _QUOTED.match(self._text, self._at):
            self._at = found.end()
            kind, mark = str(found.lastgroup), found[0]
            if kind == "double":
                return
            if kind == "escaped" and mark[1:] not in {"$", "`", '"', "\\", "\n"}:
                self._put(mark)
            else:
                self._put(self._piece(kind, mark))

    def _substituted(self, opening: str) -> str:
        """Set apart the text of a substitution, and return what is put in its place."""
        self._found.piped |= opening == ">("
        end = _end_of(self._text, self._at, _CLOSER[opening])
        text, self._at = self._text[self._at : end], end + 1
        if opening == "${" or (opening == "$(" and text[:1] == "("):
            known = self._values.get(text)
            if known is not None:
                return known
            if opening == "${":
                spare = _OF_A_VARIABLE.sub("", text, count=1)
                self._found.spare += dict.fromkeys((spare, spare.rpartition("/")[2]))
            inner = _SUBSTITUTION.search(text)
            text = text[inner.start() :] if inner else ""
        elif opening == "`":
            text = _SIMPLE_ESCAPE.sub(r"\1", text)
        if text:
            self._found.within[text] = None
        return UNCERTAIN

    def _put(self, piece: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(piece)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        redirect, self._redirect = self._redirect, ""
        quoted, self._is_quoted = self._is_quoted, False
        if redirect in {"<<", "<<-"}:
            of_input = self._stream in {"", "0"}
            place = len(self._found.fragments)
            self._documents.append(_Document(word, quoted, of_input, place))
        elif redirect:
            (self._inputs if "<" in redirect else self._outputs).append(word)
        else:
            self._words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        self._redirect = ""
        waits = any(one.place == len(self._found.fragments) for one in self._documents)
        if self._words or self._inputs or self._outputs or waits:
            fragment = Fragment(tuple(self._words), tuple(self._inputs), tuple(self._outputs))
            self._found.fragments.append(fragment)
        self._words, self._inputs, self._outputs = [], [], []

    def _skip_documents(self) -> None:
        """Set apart the lines of here-documents, which are no commands of this text."""
        for one in self._documents:
            last, after = _ending(self._text, self._at, one.word)
            body = self._text[self._at : last]
            self._at = after
            self._found.fragments[one.place] = _given(self._found.fragments[one.place], one, body)
            inner = _SUBSTITUTION.search(body)
            if inner:
                self._found.within[body[inner.start() :]] = None
        self._documents = []


def _ending(text: str, start: int, word: str) -> tuple[int, int]:
    """Return where the line with a here-document's word begins and ends; tabs may precede it."""
    for line in _LINE.finditer(text, start):
        if line[0].endswith(word) and not line[0].removesuffix(word).strip("\t"):
            return line.span()
    return len(text), len(text)


def _given(fragment: Fragment, document: _Document, body: str) -> Fragment:
    """Return a command with what a here-document gives it."""
    if not document.of_input:
        return replace(fragment, inputs=(*fragment.inputs, body))
    expanded = () if document.quoted else (body,)
    return replace(
        fragment,
        documents=(*fragment.documents, body),
        expanded=(*fragment.expanded, *expanded),
    )


def _end_of(text: str, at: int, closer: str) -> int:
    """Return where what was opened before a place ends, the end of the text if nowhere."""
    closers = [closer]
    for found in _STEP.finditer(text, at):
        mark, top = found[0], closers[-1]
        if mark == top or (top == "'" and mark[-1] == "'"):
            closers.pop()
            if not closers:
                return found.start()
        elif top != "'":
            opened = _opened(mark, top)
            closers += [opened] if opened else []
    return len(text)


def _opened(mark: str, top: str) -> str:
    """Return what closes that which a mark opens, ``""`` where it opens nothing."""
    if mark == '"' or mark in _CLOSER:
        return _CLOSER.get(mark, mark)
    if mark == "'" and top != '"':
        return mark
    return ")" if mark == "(" and top == ")" else ""
