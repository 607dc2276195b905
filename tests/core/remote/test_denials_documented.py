import re
from pathlib import Path

from core.remote.acl.acl import ExecTable
from core.remote.denials import Notice, RemoteDenial
from core.remote.host.exec_log import ExecEvent

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def words(page: str) -> set[str]:
    """Return the code words in the first cells of a page's tables."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_denial_and_every_warning_is_documented_and_has_its_sentence() -> None:
    """Both closed lists are on the page of denials; each denial says what to do next."""
    assert {one.value for one in RemoteDenial} | {one.value for one in Notice} <= words(
        "denials.md"
    )
    assert all(one.sentence.endswith(".") for one in RemoteDenial)


def test_every_key_of_the_access_list_and_every_log_entry_is_documented() -> None:
    """No one has to read the code to write a list, or to read a log."""
    known = words("remote-exec.md")

    assert ExecTable.model_fields.keys() - {"allow"} <= known
    assert {one.value for one in ExecEvent} <= known
