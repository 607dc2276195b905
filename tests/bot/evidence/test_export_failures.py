"""Say which file an export could not write, and why."""

import errno
import os
from pathlib import Path
from typing import cast

import pytest

from bot.evidence import export as module
from bot.evidence.export import VERIFIER, Read, export
from bot.evidence.journal_slice import ExportScope
from core.errors import BadRequest


@pytest.mark.parametrize("named", ["", "verify.py", "out.jsonl"])
def test_the_file_that_failed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A full disk names none, and then it is the export's own."""
    to = tmp_path / "out.jsonl"
    words = (errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fails(_: Path) -> None:
        raise OSError(*words, str(tmp_path / named)) if named else OSError(*words)

    monkeypatch.setattr(module, "_settled", lambda *_: (None, ()))
    monkeypatch.setattr(module, "_put_verifier", fails)

    with pytest.raises(BadRequest) as caught:
        export(tmp_path / "audit.jsonl", cast("Read", None), ExportScope(), to)
    assert str(caught.value) == (
        f"{tmp_path / (named or 'out.jsonl')} cannot be written: No space left on device."
    )
    assert VERIFIER == "verify.py"
