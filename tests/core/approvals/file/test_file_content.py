"""Hold entries of exec-approvals.json to the content of files (decision 21)."""

import json
from pathlib import Path

import pytest

from bot.cli.approvals.text import entry_words
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import LastUse, fill_in
from core.errors import ApprovalsFileError, BadRequest
from core.model.approval import AllowlistEntry
from core.model.identity import AgentId

MAIN = AgentId("main")
PYTHON = "/usr/bin/python3.11"
SEEN, OTHER = "a" * 64, "b" * 64
BOUND = {"pattern": PYTHON, "argv": ["p.py"], "content": {"/work/p.py": SEEN}}
WORDS = f"{PYTHON} p.py exactly, while /work/p.py stays as it is"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the file."""
    return tmp_path / "exec-approvals.json"


def write(path: Path, *entries: object) -> ApprovalsFile:
    """Write entries of the agent main as an editor does."""
    path.touch(mode=0o600)
    path.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": entries}}}))
    return ApprovalsFile(path)


def add(file: ApprovalsFile, *files: tuple[str, str]) -> AllowlistEntry:
    """Store what allow-always promised for `python3 p.py`."""
    return file.add("main", PYTHON, ("p.py",), files)


def test_content_goes_into_the_file_and_back(path: Path) -> None:
    """A new gateway reads what the last one stored, and the words name the file."""
    stored = add(ApprovalsFile(path), ("/work/p.py", SEEN))
    (entry,) = ApprovalsFile(path).entries(MAIN)
    (raw,) = json.loads(path.read_text())["agents"]["main"]["allowlist"]
    assert stored == entry
    assert {**BOUND, "id": stored.id} == raw
    assert WORDS == entry.words == entry_words(raw)


def test_the_same_files_get_their_new_content(path: Path) -> None:
    """Another allow-always replaces; the entry keeps its id, its place and a person's note."""
    file = write(path, {**BOUND, "id": "one", "note": "mine"}, {"pattern": "/usr/bin/rg"})
    assert "one" == add(file, ("/work/p.py", OTHER)).id
    assert (("/work/p.py", OTHER),) == file.entries(MAIN)[0].content
    first, second = json.loads(path.read_text())["agents"]["main"]["allowlist"]
    assert first == {**BOUND, "id": "one", "note": "mine", "content": {"/work/p.py": OTHER}}
    assert second == {"pattern": "/usr/bin/rg"}
    before = path.read_bytes()
    add(file, ("/work/p.py", OTHER))
    assert before == path.read_bytes()


def test_other_files_and_none_are_other_entries(path: Path) -> None:
    """The script of another folder, or an entry by hand, leaves existing entries unchanged."""
    file = ApprovalsFile(path)
    by_hand = file.add("main", PYTHON, ("p.py",)).id
    ids = {add(file, ("/work/p.py", SEEN)).id, add(file, ("/other/p.py", SEEN)).id, add(file).id}
    assert 4 == len({*ids, by_hand}) == len(file.entries(MAIN))
    assert add(file).id in ids
    assert by_hand == file.add("main", PYTHON, ("p.py",)).id


@pytest.mark.parametrize("noted", [{}, {"note": "mine"}], ids=["plain", "by its model"])
def test_no_code_is_a_limit_of_its_own(path: Path, noted: dict[str, str]) -> None:
    """What was allowed without code is kept apart from what covers any (decision 54)."""
    stored = add(ApprovalsFile(path))
    (raw,) = json.loads(path.read_text())["agents"]["main"]["allowlist"]
    assert {"id": stored.id, "pattern": PYTHON, "argv": ["p.py"], "content": {}} == raw
    (entry,) = write(path, {**raw, **noted}).entries(MAIN)
    assert () == stored.content == entry.content
    assert entry_words(raw) == entry.words == f"{PYTHON} p.py exactly"


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {"p.py": SEEN},
        {"/work/p.py": "a" * 63},
        {"/work/p.py": "A" * 64},
        {"/work/p.py": SEEN + "\n"},
        {"/work/p.py": None},
        {"/work/\0": SEEN},
    ],
)
def test_an_unclear_content_stops_the_file(path: Path, content: object) -> None:
    """What was meant to narrow an entry must not be lost."""
    file = write(path, {**BOUND, "content": content})
    with pytest.raises(ApprovalsFileError, match=r"agents\.main\.allowlist\.0\.content"):
        file.entries(MAIN)


@pytest.mark.parametrize("loose", [{"pattern": "/usr/bin/*"}, {"argv": ["<ANY>"]}])
def test_content_goes_with_one_command(path: Path, loose: dict[str, object]) -> None:
    """An entry with content that could mean several commands is ignored and reported."""
    file = write(path, {**BOUND, **loose})
    assert () == file.entries(MAIN)
    assert "`content` goes with one whole path" in file.lint()[0]


def test_what_cannot_be_written_is_refused(path: Path) -> None:
    """A path that is not Unicode is reported, and nothing is stored without it."""
    with pytest.raises(BadRequest, match="not valid Unicode"):
        add(ApprovalsFile(path), ("/work/\udcff.py", SEEN))
    assert not path.exists()


def test_the_last_use_is_found(path: Path) -> None:
    """Uses are recorded under the words of the entry, which stay when its content changes."""
    raw = write(path, {**BOUND, "content": {"/work/p.py": OTHER}}).shown()
    use = LastUse(1, "python3 p.py", PYTHON)
    assert fill_in(raw, {("main", WORDS): use})
    assert '"lastUsedAt": 1' in json.dumps(raw)
