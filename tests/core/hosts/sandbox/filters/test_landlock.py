"""Let a sandboxed command write where the mounts say, and nowhere else (Landlock)."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.hosts.sandbox.filesystem.mounts import Kind, View
from core.hosts.sandbox.filters import landlock
from tests.support.runs import Start, new_run
from tests.support.sandbox import PYTHON, bwrap, over, places_for, sandbox

WRITES = "import os\nfor one in {places}:\n    open(os.path.join(one, 'x'), 'w').write('x')\n"


@pytest.mark.parametrize("landlock", [True, False], ids=["landlock", "control"])
async def test_landlock_restricts_what_mounts_do_not(landlock: bool, tmp_path: Path) -> None:
    """A folder that bubblewrap makes writable by mistake; the writable places stay so."""
    mistake = tmp_path / "mistake"
    mistake.mkdir()
    also = ("--bind", str(mistake), "/mnt/mistake")

    class Mistaken(Bubblewrap):
        def fixed_options(self) -> tuple[str, ...]:
            return (*super().fixed_options(), *also)

    async with sandbox(tmp_path) as house:
        places = places_for(house.home)
        backend = Mistaken(bwrap(), places, network=False, landlock=landlock)
        async with over(house.runner, backend, house.home) as host:
            may = WRITES.format(places=["/tmp", "/var/tmp", "/dev/shm", str(house.workspace)])
            fine = await host.run(new_run(), house.plan((PYTHON, "-S", "-c", may)), Start())
            plan = house.plan((PYTHON, "-S", "-c", WRITES.format(places=["/mnt/mistake"])))
            done = await host.run(new_run(), plan, Start())

    assert fine.exit_code == 0, fine
    assert (mistake / "x").exists() is not landlock
    assert ("PermissionError" in done.output.text) is landlock


async def test_landlock_needs_python_in_sight(tmp_path: Path) -> None:
    """If it is hidden the host is denied, and the setting that helps is named."""
    async with sandbox(tmp_path) as house:
        places = replace(
            places_for(house.home), fixed=(("/bin", Kind.LINK), ("/tmp", Kind.PRIVATE))
        )
        backend = Bubblewrap(bwrap(), places, network=False, landlock=True)
        async with over(house.runner, backend, house.home) as host:
            with pytest.raises(HostUnavailable, match=r"to sandbox\.show"):
                await host.backend()


@pytest.mark.parametrize(
    ("workspace", "bound", "also"),
    [("/srv/app", True, ("/srv/app",)), ("/srv/app", False, ()), (None, True, ())],
)
def test_the_workspace_stays_writable_where_it_is_bound(
    workspace: str | None, bound: bool, also: tuple[str, ...]
) -> None:
    """It need not be below a private folder; one that is only visible is read-only here, too."""
    view = View((("/", Kind.SYSTEM), ("/tmp", Kind.PRIVATE)), workspace)
    writable = ("/dev", "/tmp", *also)

    told = landlock.words(view, bound=bound)
    assert told[-len(writable) - 1 :] == (str(len(writable)), *writable)
