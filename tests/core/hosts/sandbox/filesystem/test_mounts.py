"""A folder that is not inside is refused with the reason and a way out."""

import pytest

from core.hosts.sandbox.filesystem.mounts import Kind, View

VIEW = View(
    (
        ("/home/ana", Kind.PRIVATE),
        ("/home/ana/shop", Kind.WORKSPACE),
        ("/home/ana/shop/.sayso", Kind.EMPTIED),
        ("/tmp", Kind.PRIVATE),
        ("/usr", Kind.SYSTEM),
    ),
    "/home/ana/shop",
)


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("/tmp/build", "each run has a private /tmp of its own there."),
        ("/home/ana/other", "each run has a private /home/ana of its own there."),
        ("/home/ana/shop/.sayso/x", "/home/ana/shop/.sayso is hidden there."),
        ("/srv/app", "it is no system folder, and no project."),
    ],
)
def test_why_a_folder_is_not_seen(folder: str, why: str) -> None:
    """Each says what is there in its place, and what to do."""
    assert not VIEW.enters(folder)
    assert VIEW.why_unseen(folder).startswith(why)
    assert VIEW.why_unseen(folder).endswith("or set sandbox.workspace or sandbox.show")
