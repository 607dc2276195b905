"""Define what a sandboxed command sees, and which folder a request may change."""

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.hosts.sandbox.filesystem.layout import Places, places_of
from core.hosts.sandbox.filesystem.mounts import Kind, View
from tests.support.tables import rows

HOME = "/home/alice"
PLACES = Places(
    fixed=(
        ("/bin", Kind.LINK),
        ("/etc", Kind.SYSTEM),
        ("/etc/shadow", Kind.BLANKED),
        (HOME, Kind.PRIVATE),
        ("/tmp", Kind.PRIVATE),
        ("/usr", Kind.SYSTEM),
    ),
    guarded=(f"{HOME}/.sayso", "/srv/sayso"),
)


@rows(
    "folder, may",
    [
        (f"{HOME}/project", True),
        (f"{HOME}/project/sub", True),
        ("/tmp/x", True),
        ("/work/project", True),
        ("/srv/app", True),
        ("/", False),
        ("/home", False),
        (HOME, False),
        ("/home/bob", False),
        ("/root", False),
        ("/tmp", False),
        ("/srv", False),
        ("/srv/sayso", False),
        ("/srv/sayso/sub", False),
        (f"{HOME}/.ssh", False),
        (f"{HOME}/.config/project", False),
        (f"{HOME}/project/.git", False),
        (f"{HOME}/.sayso", False),
        ("/tmp/.X11-unix", False),
        *((one, False) for one in ("/etc", "/etc/x", "/usr/src/x", "/var/lib/x", "/run/user/0")),
    ],
)
def test_which_folder_a_request_may_have_changed(folder: str, may: bool) -> None:
    """A project's; never one that holds more, belongs to the system, or leads to the gateway."""
    assert (PLACES.view(folder).workspace == folder) is may


def test_a_configured_workspace_is_the_only_one() -> None:
    """Then no request chooses; where its command runs makes no difference."""
    places = Places(PLACES.fixed, PLACES.guarded, workspace="/work/agents")

    assert {places.view(cwd).workspace for cwd in ("/", "/tmp/x", f"{HOME}/p")} == {"/work/agents"}


@rows(
    "path, seen",
    [
        ("/usr/bin/ls", True),
        ("/bin/ls", True),
        ("/etc/passwd", True),
        ("/etc/shadow", False),
        (f"{HOME}/project/x", True),
        (f"{HOME}/x", False),
        (f"{HOME}/projects", False),
        ("/var/lib/x", False),
        ("/work/x", False),
        ("/usrx", False),
    ],
)
def test_what_is_seen(path: str, seen: bool) -> None:
    """The system and the workspace, except for what is hidden in them."""
    assert PLACES.view(f"{HOME}/project").sees(path) is seen


def test_the_innermost_place_decides() -> None:
    """What is shown in a hidden place is visible, and what is hidden in that is not."""
    view = View(
        (("/a", Kind.PRIVATE), ("/a/b", Kind.SHOWN), ("/a/b/c", Kind.EMPTIED)), workspace=None
    )

    assert [view.sees(path) for path in ("/a/x", "/a/b/x", "/a/b/c/x")] == [False, True, False]
    assert view.enters("/a/b/c")
    assert not view.enters("/a/b/c/x")


def test_hidden_files_are_hidden_in_the_workspace_too(tmp_path: Path) -> None:
    """And a folder with one deeper inside is not a workspace: it could be moved away."""
    (tmp_path / "deep").mkdir()
    for name in ("secret", "deep/secret"):
        (tmp_path / name).write_text("x")
    near = Places((), (), hidden=(str(tmp_path / "secret"),)).view(str(tmp_path))
    deep = Places((), (), hidden=(str(tmp_path / "deep/secret"),)).view(str(tmp_path))
    gone = Places((), (), hidden=(str(tmp_path / "none"),)).view(str(tmp_path))

    assert (str(tmp_path / "secret"), Kind.BLANKED) in near.places
    assert not near.sees(str(tmp_path / "secret"))
    assert near.workspace == gone.workspace == str(tmp_path)
    assert deep.workspace is None


def test_a_socket_in_sight_is_hidden(tmp_path: Path) -> None:
    """Also under a name that leads to it; one in the workspace belongs to the work."""
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "s"))
        shown = Places(((str(tmp_path), Kind.SHOWN),), ()).view("/")
        own = Places((), (), workspace=str(tmp_path)).view("/")

    assert (str(tmp_path / "s"), Kind.BLANKED) in shown.places
    assert own.sees(str(tmp_path / "s"))


def test_this_machines_places(tmp_path: Path) -> None:
    """The gateway's own folder, its code and its Python are guarded; only the system is shown."""
    home, own = tmp_path / "user", tmp_path / "state"
    home.mkdir()
    own.mkdir()
    places = places_of([own], str(home), shown=(sys.base_prefix,))
    code = Path(__file__).parents[5]

    assert {str(own), str(code), os.path.realpath(sys.prefix)} <= set(places.guarded)
    assert places.view(str(code)).workspace is None
    assert places.view(str(home)).workspace is None
    assert not places.view("/").sees(str(own / "state.db"))
    assert places.view("/").sees(f"{sys.base_prefix}/lib")


def test_why_a_project_is_no_workspace(tmp_path: Path) -> None:
    """It says what bars it, not what hides it: a private home says the same of every project.

    The control is a project next to it, which is the workspace.
    """
    home, other = tmp_path / "user", tmp_path / "user/shop"
    own = home / "app/.sayso"
    for one in (own, other, home / "shop/.git/hooks"):
        one.mkdir(parents=True)
    code = Path(__file__).parents[5]
    places = places_of([own], str(code.parent), protected=(".git/hooks",))
    inside = places_of([own], str(home), protected=(".git/hooks",))
    read = places_of([own], str(code.parent), shown=(str(code),))

    for cwd in (code, code / "core"):
        assert not places.view(str(cwd)).enters(str(cwd))
        assert places.view(str(cwd)).why_unseen(str(cwd)) == (
            f"{cwd} shares files with Sayso's own code ({code}), which no command may change. Run "
            "it in another project's folder, or set sandbox.show to let commands read it"
        )
    state = inside.view(str(home / "app"))
    assert state.why_unseen(str(home / "app")).startswith(
        f"{home}/app shares files with Sayso's own state ({own}), which no command may change"
    )
    assert "sandbox.show" not in state.why_unseen(str(home / "app"))
    assert "sandbox.protect" in inside.view(str(other / ".git/hooks")).why_unseen(
        str(other / ".git/hooks")
    )
    assert inside.view(str(other)).workspace == str(other)
    assert inside.view(str(other)).barred == ("", "")
    unsaid = replace(places.view(str(code)), barred=("", "")).why_unseen(str(code))
    assert unsaid.startswith(f"each run has a private {code.parent} of its own there")
    assert read.view(str(code)).enters(str(code))


def test_what_bars_the_folder_of_a_run_is_not_said_of_another() -> None:
    """``/`` shares files with everything, which is not what hides a folder that a line goes to."""
    assert PLACES.view("/").why_unseen("/work/x").startswith("it is neither a system folder")
    assert PLACES.view("/srv").why_unseen("/srv/app").startswith("/srv shares files with Sayso's")


@pytest.mark.parametrize("setting", ["workspace", "show"])
@pytest.mark.parametrize("where", [".", "state", "state/sub"])
def test_no_setting_gives_the_gateways_own_away(setting: str, where: str, tmp_path: Path) -> None:
    """Neither as the workspace nor as what is shown; the message names the setting."""
    (tmp_path / "state/sub").mkdir(parents=True)
    path = str(tmp_path / where)
    workspace, shown = (path, ()) if setting == "workspace" else (None, (path,))

    with pytest.raises(ValueError, match=f"sandbox.{setting}"):
        places_of([tmp_path / "state"], "/", shown=shown, workspace=workspace)


def test_the_system_is_seen_as_it_is_here(tmp_path: Path) -> None:
    """Folders as folders, links as links, and nothing of what this machine does not have."""
    places = dict(places_of([tmp_path / "sayso"], HOME).fixed)

    assert (places["/usr"], places["/etc"]) == (Kind.SYSTEM, Kind.SYSTEM)
    for top in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"):
        here = Kind.SYSTEM if os.path.isdir(top) else None  # noqa: PTH112 - as in a shell
        assert places.get(top) is (Kind.LINK if os.path.islink(top) else here)  # noqa: PTH114
