import re

import pytest

from tests.project.tracked import ROOT, files

# Written in parts, so that this file does not name them either.
_REGISTRIES = ("py" + "pi.org", "python" + "hosted.org", "index" + "-url", "find" + "-links")
_MACHINE = (
    "/work/" + "main",
    "/work/" + "shared",
    "/opt/" + "pypi",
    "/opt/" + "wheels",
    ".py" + "env/",
)
# Corpora quote commands of strangers; the Makefile asks uv to leave the index out of the locks.
_QUOTING = {"tests/corpus", "core/programs/data/carriers", "Makefile"}


def offending(text: str) -> list[str]:
    """Return the names of registries and machine paths in a text."""
    return [name for name in (*_REGISTRIES, *_MACHINE) if name in text]


def test_no_file_names_a_registry_or_a_path_of_a_machine() -> None:
    """Everything works against any mirror and in any folder."""
    found = {}
    for path in files():
        name = str(path.relative_to(ROOT))
        if any(name.startswith(quoting) for quoting in _QUOTING):
            continue
        if names := offending(path.read_text(encoding="utf-8", errors="replace")):
            found[name] = names

    assert found == {}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_has_only_names_versions_and_hashes(name: str) -> None:
    """No line of a lock contains a URL."""
    line = re.compile(
        r"[a-z0-9][a-z0-9._-]*(\[[a-z,-]+\])?==[^ ]+( ; [^\\]+)? \\"
        r"|    --hash=sha256:[0-9a-f]{64}( \\)?"
    )
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()

    assert lines
    assert [each for each in lines if not line.fullmatch(each)] == []


def test_a_planted_registry_is_found() -> None:
    """The search finds what it looks for."""
    assert offending("--extra-" + "index" + "-url https://mirror.example/simple")
    assert offending("/work/" + "main/core")
