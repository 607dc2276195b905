"""Follow each page as it is written: commands typed, settings loaded, output compared."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, pages
from tests.docs.page import follow
from tests.docs.scene import Scene
from tests.docs.scenes import SCENES

PAGES = {str(page.relative_to(ROOT)): page for page in pages() if blocks(page)}


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", list(PAGES))
def test_a_page(name: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Every block is run or checked, or says why not; failures name the page and the line."""
    count = follow(PAGES[name], SCENES.get(name, Scene()), tmp_path / "user")

    found = (count.here, count.elsewhere, count.reasons)
    assert sum(found) == len(blocks(PAGES[name]))
    record_property("blocks", found)


def test_no_scene_without_a_page() -> None:
    """A renamed page takes its scene with it."""
    assert [name for name in SCENES if name not in PAGES] == []
