import re
from pathlib import Path

from bot.cli import build_parser
from bot.cli.help.man import commands
from bot.settings.model import SHAPE
from bot.settings.problems import dotted
from bot.settings.schema import Kind, walk
from channels.commands import SLASH_COMMANDS
from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text, finished_text, running_text, started_text
from tests.project import (
    cli_reference,
    generated,
    methods_reference,
    socket_reference,
)
from tests.project.tracked import ROOT, files
from tests.support.tables import rows

DOCS = ROOT / "docs"
PAGES = tuple(path for path in files() if path.suffix == ".md" and "corpus" not in path.parts)


_STALE = "run `make docs`"


def page(name: str) -> str:
    """Return the text of a page below docs."""
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> set[str]:
    """Return the code words in the first cells of a page's tables."""
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def test_the_settings_page_is_what_the_models_say() -> None:
    """`make docs` was run after the last change of a setting."""
    assert generated.REFERENCE.read_text(encoding="utf-8") == generated.reference(), _STALE


def test_every_setting_is_documented() -> None:
    """Each key is in the table of its section, with a description."""
    text = page("reference/configuration.md")

    for path, shape in walk(SHAPE):
        if shape.kind is Kind.SECTION:
            continue
        section = dotted(path[:-1]).replace("[0]", "[]")
        _, found, below = text.partition(f"## `{section}`\n")
        assert found, f"{section}: {_STALE}"
        assert f"| `{path[-1]}` |" in below.partition("\n## ")[0], f"{path}: {_STALE}"


def test_the_commands_page_is_what_the_parsers_say() -> None:
    """`make docs` was run after the last change of a command."""
    assert cli_reference.PAGE.read_text(encoding="utf-8") == cli_reference.page(), _STALE


def test_every_command_and_flag_is_documented() -> None:
    """Each command has its heading, and each of its arguments a row with a description."""
    text = page("reference/cli.md")
    parsers = list(commands(build_parser()))

    for parser in parsers:
        _, found, below = text.partition(f"\n## `{parser.prog}`\n")
        assert found, f"{parser.prog}: {_STALE}"
        for action in parser._actions:
            if action.dest != "help" and action.option_strings:
                flag = action.option_strings[-1]
                assert flag in below.partition("\n## ")[0], f"{parser.prog} {flag}: {_STALE}"
                assert action.help, f"{parser.prog} {flag}: give it a help"


def test_every_command_has_an_example() -> None:
    """Help for a command or its group shows a line to copy."""
    parsers = {parser.prog: parser for parser in commands(build_parser())}

    for name, parser in parsers.items():
        group = parsers.get(name.rpartition(" ")[0])
        shown = "".join(each.epilog or "" for each in (parser, group) if each is not None)
        members = [other for other in parsers if other.startswith(f"{name} ")]
        assert members or name in shown, f"{name}: give `command(…)` an example"


def test_every_chat_command_is_documented() -> None:
    """Each command has a row on the page, and each row there is one of a command."""
    rows = re.findall(r"^\| `/([a-z]+)", page("reference/chat-commands.md"), re.MULTILINE)
    names = {command.name for command in SLASH_COMMANDS}

    assert set(rows) == names, "write a row for each in docs/reference/chat-commands.md"


def test_every_denial_reason_is_documented() -> None:
    """The closed list of reasons and the page agree."""
    documented = first_cells(page("reference/denials.md"))

    missing = {reason.value for reason in DenialReason} - documented
    assert missing == set(), "write a row for each in docs/reference/denials.md"


def test_every_event_is_documented_in_its_words() -> None:
    """The page has each kind with the text that sessions really receive."""
    text = page("reference/events.md")
    shown = (
        started_text("PLACE", "RUN"),
        finished_text("PLACE", "RUN", "CODE", ""),
        denied_text("PLACE", "RUN", "REASON"),
        running_text("PLACE", "RUN", 0).replace("0s", "SECONDSs"),
    )

    assert {kind.value for kind in EventKind} == first_cells(text), "docs/reference/events.md"
    assert [words for words in shown if words not in text] == [], "docs/reference/events.md"


def test_the_page_of_the_companions_socket_is_generated() -> None:
    """Its keys, limits and vectors are those of the code and of the tested file."""
    assert socket_reference.PAGE.read_text(encoding="utf-8") == socket_reference.page(), _STALE


def test_the_methods_page_is_what_the_table_says() -> None:
    """`make docs` was run after the last change of a method or route."""
    assert methods_reference.PAGE.read_text(encoding="utf-8") == methods_reference.page(), _STALE


def test_every_method_and_param_is_documented() -> None:
    """Each method has a description, an answer and its scopes; each param has a description."""
    text = page("reference/methods.md")
    for name, method in methods_reference.table().items():
        _, found, below = text.partition(f"## `{name}`\n")
        section = below.partition("\n## ")[0]
        fields = method.params.model_fields
        where = f"{name}, in {method.params.__module__}"
        assert found, f"{name}: {_STALE}"
        assert method.summary, name
        assert method.result.__doc__, f"{name}: {method.result.__name__} needs a docstring"
        assert method.scopes, name
        assert f"Scope: {methods_reference.scopes(method)}." in section, f"{name}: {_STALE}"
        assert [key for key, field in fields.items() if not field.description] == [], where
        documented = first_cells(section)
        assert {field.alias or key for key, field in fields.items()} == documented, _STALE


DESIGN_WORDS = (
    "ExecRequest ExecHost ExecSecurity ExecAsk AskFallback ExecPolicy Decision Evaluation"
    " DenialReason ExecPlan Approval ApprovalReply Resolution AllowlistEntry Target"
    " SessionEvent ExecResult Lease AclEntry ArgvTemplate channel session"
)


@rows("word", DESIGN_WORDS.split())
def test_every_word_of_the_design_is_in_the_glossary(word: str) -> None:
    """The glossary fixes what the words mean."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", page("glossary.md"), re.MULTILINE)

    known = {name.strip("`") for name, meaning in rows if meaning}
    assert word in known, f"write a row in docs/glossary.md: | **{word}** | MEANING |"


def test_the_glossary_is_sorted() -> None:
    """Words are in alphabetical order."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", page("glossary.md"), re.MULTILINE)
    words = [row.strip("`").lower() for row in rows]

    late = [word for word, before in zip(words[1:], words, strict=False) if word < before]
    assert late == [], "move each row up in docs/glossary.md"


@rows("path", PAGES)
def test_every_link_leads_somewhere(path: Path) -> None:
    """A relative link of a page names an existing file."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))

    assert [link for link in links if not (path.parent / link).exists()] == []


def unlinked(index: Path) -> set[Path]:
    """Return the pages below an index's folder that it links neither directly nor by a folder."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", index.read_text(encoding="utf-8"))
    targets = {(index.parent / link).resolve() for link in links}
    pages = {path.resolve() for path in index.parent.rglob("*.md")} - {index.resolve()}
    return {path for path in pages if targets.isdisjoint((path, path.parent))}


def test_the_index_leads_to_every_page() -> None:
    """Each page below docs is linked there, the decisions by their folder."""
    assert unlinked(DOCS / "README.md") == set(), "link each in docs/README.md"


def test_a_page_without_a_link_is_found(tmp_path: Path) -> None:
    """The negative control."""
    (tmp_path / "how-to").mkdir()
    for name in ("linked.md", "forgotten.md"):
        (tmp_path / "how-to" / name).touch()
    index = tmp_path / "README.md"
    index.write_text("[one](how-to/linked.md#part), [other](..)")

    assert unlinked(index) == {tmp_path / "how-to" / "forgotten.md"}


def test_the_readme_opens_with_a_prompt_and_two_commands() -> None:
    """A picture of what people will see, then what to type."""
    head = (ROOT / "README.md").read_text(encoding="utf-8")[:900]

    assert head.index("docs/images/prompts.png") < head.index("make demo") < head.index("make test")


def test_every_place_to_put_something_exists() -> None:
    """The table in CONTRIBUTING.md names existing modules and folders."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where do I put")[2]
    named = re.findall(r"`((?:bot|channels|core|docs|tests)/[\w./-]*)`", table)

    assert len(named) > 30
    gone = [path for path in named if not (ROOT / path).exists()]
    assert gone == [], "correct each in CONTRIBUTING.md"
