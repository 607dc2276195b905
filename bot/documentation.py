"""Find the documents named in messages, such as ``docs/tutorial/first-approval.md``."""

import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[1]
_EXAMPLE = "config.example.json5"


def document(name: str) -> Path:
    """Return the path of a document: in the checkout, otherwise where the wheel installed it.

    pyproject.toml (shared-data) lists what the wheel contains below ``share/doc/sayso``.
    """
    if (_CHECKOUT / _EXAMPLE).is_file():
        return _CHECKOUT / name
    return Path(sys.prefix, "share", "doc", "sayso", name)
