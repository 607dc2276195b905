"""Swap the workspace between the approval and the mount: nothing of the gateway's is opened."""

import contextlib
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.hosts.sandbox.backends import bubblewrap
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap, Enclosed
from core.hosts.sandbox.filesystem.mounts import View
from core.runner.enclosure import Enclosure
from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_escapes import vector
from tests.support.runs import Start, new_run
from tests.support.sandbox import SECRET, HomeBeside, bwrap, places_for, sandbox


class Swapped(Start):
    """Swaps the workspace for something else, after it was approved."""

    def __init__(self, house: HomeBeside, swap: Callable[[HomeBeside], None]) -> None:
        super().__init__(before_claim=lambda: swap(house))


def for_a_link(house: HomeBeside) -> None:
    """Replace the workspace with a link to the gateway's home."""
    house.workspace.rename(house.workspace.with_name("moved"))
    house.workspace.symlink_to(house.home)


def for_what_is_told_of_it(house: HomeBeside) -> None:
    """Remove it, and put a link where the kernel says that its descriptor now leads."""
    shutil.rmtree(house.workspace)
    house.workspace.with_name(f"{house.workspace.name} (deleted)").symlink_to(house.home)


class ByName(Bubblewrap):
    """Bubblewrap as in versions that bind no descriptors."""

    def __init__(self, *words: object, **options: object) -> None:
        super().__init__(*words, **options)  # type: ignore[arg-type] # passed on
        self._binds_descriptors = False


class Unguarded(ByName):
    """The same without the comparison."""

    @contextlib.contextmanager
    def enclose(self, *words: object) -> Iterator[Enclosure]:
        """Yield the enclosure without its guard."""
        with super().enclose(*words) as enclosure:  # type: ignore[arg-type] # passed on
            assert isinstance(enclosure, Enclosed)
            yield replace(enclosure, guard=(), inherit=enclosure.inherit[:2])


async def read_after(
    house: HomeBeside, kind: type[Bubblewrap], swap: Callable[[HomeBeside], None]
) -> str:
    """Read a file of a swapped workspace, from a folder next to it; return code and text.

    The folder in which the command itself starts is checked before, so it has to be another.
    """
    (house.workspace / "state.db").write_text("the workspace's")
    places = replace(places_for(house.home), workspace=str(house.workspace))
    backend = kind(bwrap(), places, network=False)
    house.host._choice._proven = backend
    plan = house.plan(("/usr/bin/cat", str(house.workspace / "state.db")), Path("/usr"))
    done = await house.host.run(new_run(), plan, Swapped(house, swap))
    backend.close()
    return f"{done.exit_code}: {done.output.text}"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Bubblewrap, "0: the workspace's"),
        (ByName, "126: sayso: the workspace {} changed while the sandbox was made, so nothing ran"),
        (Unguarded, f"0: {SECRET}"),
    ],
    ids=["by descriptor", "by name", "control"],
)
async def test_a_swapped_workspace_is_noticed(
    kind: type[Bubblewrap], told: str, tmp_path: Path
) -> None:
    """A name that leads elsewhere by the time of the mount opens nothing."""
    async with sandbox(tmp_path) as house:
        assert Bubblewrap(bwrap(), places_for(house.home), network=False)._binds_descriptors
        read = await read_after(house, kind, for_a_link)

    assert read.strip() == told.format(house.workspace)


@pytest.mark.parametrize("compared", [True, False], ids=["compared", "control"])
async def test_what_was_mounted_is_compared_with_the_descriptor(
    compared: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bubblewrap mounts a descriptor by where it leads at that moment, and then checks again."""
    options = bubblewrap._mounts

    def believing(view: View, bind: str, size: str, *, inner: bool) -> tuple[str, ...]:
        return tuple(
            "/proc/self/fd/5" if one == "5" else one.replace("--bind-fd", "--bind")
            for one in options(view, bind, size, inner=inner)
        )

    if not compared:
        monkeypatch.setattr(bubblewrap, "_mounts", believing)
    async with sandbox(tmp_path) as house:
        read = await read_after(house, Bubblewrap, for_what_is_told_of_it)

    if compared:
        assert read.startswith("1: bwrap: Race condition binding dirfd")
    else:
        assert read == f"0: {SECRET}"


@pytest.mark.parametrize("swapped", [True, False], ids=["swapped", "control"])
async def test_a_folder_whose_name_leads_elsewhere_starts_nothing(
    swapped: bool, tmp_path: Path
) -> None:
    """The enclosure uses names, so the command's own folder is checked before it starts."""
    async with sandbox(tmp_path) as house:
        start = Swapped(house, for_a_link) if swapped else Start()
        plan = house.plan(("/usr/bin/touch", "ran"))
        if swapped:
            with pytest.raises(PlanDrift, match="changed after it was approved"):
                await house.host.run(new_run(), plan, start)
        else:
            await house.host.run(new_run(), plan, start)
        ran = [one for one in (house.home, *tmp_path.iterdir()) if (one / "ran").exists()]

    assert (ran == []) is swapped


@pytest.mark.parametrize("named", [True, False], ids=["workspace", "control"])
async def test_a_workspace_in_sight_is_compared_by_the_shell(named: bool, tmp_path: Path) -> None:
    """That the folder exists does not prove that it was mounted, so it must be writable, too."""
    folder = Path(f"/opt/sayso-{secrets.token_hex(4)}")
    folder.mkdir()
    try:
        async with sandbox(tmp_path) as house:
            places = replace(places_for(house.home), workspace=str(folder) if named else None)
            backend = Bubblewrap(bwrap(), places, network=False)
            house.host._choice._proven = backend
            plan = house.plan(("/usr/bin/touch", "made"), folder)
            with backend.enclose(new_run(), plan, tmp_path) as enclosure:
                assert isinstance(enclosure, Enclosed)
                assert ("seen" in enclosure.guard) is named
            done = await house.host.run(new_run(), plan, Start())
            backend.close()
        assert (done.exit_code == 0, (folder / "made").exists()) == (named, named)
    finally:
        shutil.rmtree(folder)


class Open(ByName):
    """Bubblewrap whose comparison leaves its descriptor open."""

    @contextlib.contextmanager
    def enclose(self, *words: object) -> Iterator[Enclosure]:
        """Yield the enclosure without the option that closes it."""
        with super().enclose(*words) as enclosure:  # type: ignore[arg-type] # passed on
            assert isinstance(enclosure, Enclosed)
            guard = tuple(word.replace("exec 5<&-", ":") for word in enclosure.guard)
            yield replace(enclosure, guard=guard)


@pytest.mark.parametrize(
    ("kind", "closes"),
    [(Bubblewrap, True), (ByName, True), (Open, False)],
    ids=["by descriptor", "by name", "control"],
)
async def test_no_descriptor_leads_out(
    kind: type[Bubblewrap], closes: bool, tmp_path: Path
) -> None:
    """The descriptor that the workspace is compared with is closed before the command starts."""
    async with sandbox(tmp_path) as house:
        (house.workspace / ".git" / "hooks").mkdir(parents=True)  # held by their own descriptors
        backend = kind(bwrap(), places_for(house.home), network=False)
        house.host._choice._proven = backend
        done = await house.run(vector(attacks.HAS_FOREIGN_DESCRIPTORS))
        backend.close()

    assert ("ESCAPED" in done.output.text) is not closes, done.output.text
