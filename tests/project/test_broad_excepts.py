"""Code that catches every exception says why on the same line."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BROAD = re.compile(r"^\s*except(?: Exception| BaseException)?(?: as \w+)?:")
_CODE = re.compile(r"#\s*noqa:\s*[A-Z0-9, ]+")


def unexplained(name: str, text: str) -> Iterator[str]:
    """Yield the places that catch ``Exception`` without a reason on the same line."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _BROAD.match(line)
        if found is not None and "BaseException" not in line:
            reason = _CODE.sub("", line[found.end() :]).strip(" #-")
            if not reason:
                yield f"{name}:{number}: {line.strip()}"


def test_each_broad_except_has_its_reason() -> None:
    """In the product; a test may catch what it likes."""
    files = [one for top in ("core", "bot", "channels") for one in (ROOT / top).rglob("*.py")]
    found = [
        place
        for file in files
        for place in unexplained(str(file.relative_to(ROOT)), file.read_text())
    ]
    assert len(files) > 500
    assert found == [], "write why behind each, on the same line: `# noqa: BLE001 - WHY`"


def test_one_without_a_reason_is_found() -> None:
    """The control: bare, with a name, with only a code; and the acceptable ones."""
    lines = [
        "except Exception:",
        "    except Exception as error:",
        "except:",
        "except Exception:  # noqa: BLE001",
        "except Exception:  # noqa: BLE001 - one row's fault must not stop the others",
        "except Exception:  # raised again",
        "except OSError:",
    ]
    assert len(list(unexplained("x", "\n".join(lines)))) == 4
