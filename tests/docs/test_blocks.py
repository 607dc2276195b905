"""Find blocks with their lines and reasons, split them into commands, and compare them."""

from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks, pages, shown
from tests.docs.commands import Command, commands
from tests.docs.fragments import merged, parsed
from tests.docs.output import differences
from tests.docs.page import follow
from tests.docs.scene import Scene

PAGE = """\
# Page

```sh
one
two
```

1. Step

   <!-- not run: needs systemd -->
   ```console
   $ three
   output
   ```

<!-- run by tests/e2e/test_demo.py -->
```json5
{}
```

```text
a picture
```
"""


def test_blocks_of_a_page(tmp_path: Path) -> None:
    """Without indentation; a mark applies to the block below it; pictures are separate."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert blocks(page) == [
        Block(4, "one\ntwo"),
        Block(12, "$ three\noutput", "console", reason="needs systemd"),
        Block(18, "{}", "json5", test="tests/e2e/test_demo.py"),
    ]
    assert shown(page) == [Block(22, "a picture", "text")]


def test_a_mark_for_a_whole_page(tmp_path: Path) -> None:
    """It applies to every block that gives no reason of its own."""
    page = tmp_path / "page.md"
    page.write_text(f"<!-- this page is run by tests/x.py -->\n{PAGE}")
    assert [one.test for one in blocks(page)] == ["tests/x.py", "", "tests/e2e/test_demo.py"]


def test_commands_of_a_script() -> None:
    """Quotes, here-documents and continued lines stay whole; a comment gives the status."""
    text = "# first\na \\\n  b\ncat <<'END'\nx\nEND\necho 'one\ntwo'\n"
    text += "for x in a; do\n  echo $x\ndone\nfalse   # exits 1: as ever"
    assert commands(Block(10, text)) == [
        Command(11, "a \\\n  b"),
        Command(13, "cat <<'END'\nx\nEND"),
        Command(16, "echo 'one\ntwo'"),
        Command(18, "for x in a; do\n  echo $x\ndone"),
        Command(21, "false   # exits 1: as ever", 1),
    ]


def test_commands_of_a_console() -> None:
    """What is below a command is its output."""
    block = Block(5, "$ one\nout\n…\n$ two", "console")
    assert commands(block) == [Command(5, "one", output=("out", "…")), Command(8, "two")]


@pytest.mark.parametrize(
    ("lines", "printed", "wrong"),
    [
        (("ok 41 s ago (K3F7QZ)",), "ok 2 s ago (9ZTKXA)\n", 0),
        (("/home/…/x",), "/home/ana/x\n", 0),
        (("a",), "b\n", 1),
        (("a",), "a\nb\n", 1),
        (("a", "…"), "b\na\n", 0),
        (("a", "…"), "b\n", 1),
        (("1 of 2",), "1 of two\n", 1),
    ],
)
def test_output(lines: tuple[str, ...], printed: str, wrong: int) -> None:
    """Numbers, codes and what ``…`` represents may differ, words may not."""
    assert len(differences(lines, printed)) == wrong


def test_fragments() -> None:
    """Sections with and without braces, and rules alone; later ones are merged into earlier."""
    assert parsed("a: {b: 1},") == parsed("{a: {b: 1}}") == {"a": {"b": 1}}
    assert parsed("{match: {}}, {match: {}},") == {
        "tools": {"exec": {"rules": [{"match": {}}, {"match": {}}]}}
    }
    assert merged({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}}) == {"a": {"b": 1, "d": 3}, "c": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```sh\ntrue\nfalse\n```", "exit status 1"),
        ("```console\n$ echo a\nb\n```", "printed otherwise"),
        ("```json5\n{ tool: {} }\n```", "unknown"),
        ("```json\n{\n```", "JSONDecodeError"),
        ("```cobol\nSTOP RUN.\n```", "not run: REASON"),
        ("<!-- run by tests/e2e/test_demo.py -->\n```sh\nx\n```", "does not read this page"),
    ],
)
def test_a_wrong_page_fails(text: str, words: str, tmp_path: Path) -> None:
    """The negative control: each kind of fault is named."""
    page = tmp_path / "wrong-page.md"
    page.write_text(f"{text}\n")
    with pytest.raises(Exception, match=r"(?s).*") as caught:
        follow(page, Scene(), tmp_path / "user")
    assert words in repr(caught.value), caught.value


def test_no_command_hides_in_a_picture() -> None:
    """What a user would type has a language that says so."""
    for page in pages():
        for one in shown(page):
            begin = one.text.lstrip().split(" ")[0]
            assert begin not in {"$", "sayso", "sudo", "git", "make"}, f"{page}:{one.line}"
