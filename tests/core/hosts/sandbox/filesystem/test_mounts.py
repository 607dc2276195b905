"""Refuse a folder that is not inside, with the reason and a solution."""

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
        ("/srv/app", "it is neither a system folder nor a project."),
    ],
)
def test_why_a_folder_is_not_seen(folder: str, why: str) -> None:
    """Each says what is in its place, and what to do."""
    assert not VIEW.enters(folder)
    assert VIEW.why_unseen(folder).startswith(why)
    assert VIEW.why_unseen(folder).endswith("or set sandbox.workspace or sandbox.show")


def test_places_in_the_workspace_are_named_from_there() -> None:
    """The workspace itself is not one, and a neighbour whose name begins alike is outside."""
    beside = View((*VIEW.places, ("/home/ana/shop2", Kind.SHOWN)), VIEW.workspace)

    assert beside.in_its_workspace() == (".sayso",)
    assert View(VIEW.places).in_its_workspace() == ()


def test_beside_another_system_this_machines_own_places_do_not_matter() -> None:
    """A container has its own /usr and /etc; what is given matters, and what is hidden in it."""
    view = View(
        (
            ("/bin", Kind.LINK),
            ("/etc", Kind.SYSTEM),
            ("/etc/shadow", Kind.BLANKED),
            ("/home/ana", Kind.PRIVATE),
            ("/home/ana/shop", Kind.WORKSPACE),
            ("/home/ana/shop/.sayso", Kind.EMPTIED),
            ("/opt/python", Kind.SHOWN),
            ("/opt/python/key", Kind.BLANKED),
        ),
        "/home/ana/shop",
    )

    assert list(view.beside_a_system()) == [
        ("/home/ana", Kind.PRIVATE),
        ("/home/ana/shop", Kind.WORKSPACE),
        ("/home/ana/shop/.sayso", Kind.EMPTIED),
        ("/opt/python", Kind.SHOWN),
        ("/opt/python/key", Kind.BLANKED),
    ]


@pytest.mark.parametrize(
    ("path", "seen", "mounted"),
    [
        ("/usr/bin/id", True, True),
        ("/home/ana/shop/a", True, False),
        ("/home/ana/shop/.sayso/key", False, False),
        ("/home/ana", False, False),
        ("/srv", False, False),
    ],
)
def test_the_innermost_place_decides_what_is_seen(path: str, *, seen: bool, mounted: bool) -> None:
    """And what it would be without a workspace."""
    assert VIEW.sees(path) is seen
    assert VIEW.sees_without_mount(path) is mounted
    assert VIEW.in_workspace(path) is path.startswith("/home/ana/shop/")
    assert not View(VIEW.places).in_workspace(path)
