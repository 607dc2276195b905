"""Keep the picture in the README: ``python -m tests.browser.picture`` makes it.

It is drawn in the font Inter (Debian: ``fonts-inter``); without it in whatever font is available.

Next to the picture is ``prompts.txt``: the picture's SHA-256, the style's, and the words in it, so
that a picture older than the renderers is found by its words.
"""

import asyncio
import hashlib
import tempfile
from pathlib import Path

from tests.browser.png import with_palette
from tests.browser.scene import scene
from tests.emulators.page.sheet import STYLE

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURE, WORDS = IMAGES / "prompts.png", IMAGES / "prompts.txt"


def record(picture: bytes, words: str) -> str:
    """Return the record for a picture that shows these words."""
    sums = {"prompts.png": picture, "page.css": STYLE.read_bytes()}
    lines = (f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in sums.items())
    return "\n".join([*lines, "", words, ""])


async def draw() -> tuple[bytes, str]:
    """Return the picture of three prompts that were asked just now, and its words.

    Raises:
        AssertionError: the prompts cannot all be read, so nothing is worth keeping.
    """
    with tempfile.TemporaryDirectory() as home:
        async with scene(Path(home)) as shown:
            faults = (await shown.looked_at())["faults"]
            assert not faults, faults
            picture = await with_palette(await shown.tab.screenshot(), shown.tab)
            return picture, await shown.words()


def main() -> None:
    """Write the picture and the record of its words."""
    picture, words = asyncio.run(draw())
    PICTURE.write_bytes(picture)
    WORDS.write_text(record(picture, words), encoding="utf-8")
    print(f"{PICTURE}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
