"""The same as test_git_oracle, for some dozens of places, through `sayso run` and a gateway."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.policy.developer import EXAMPLE
from tests.e2e.processes import GatewayProcess
from tests.e2e.running import finished
from tests.faults.git_oracle.plants import plant
from tests.faults.git_oracle.routes import ROUTES, Place, template
from tests.faults.git_oracle.world import Trap, stir, trap

PLACES = (
    *(("plain", one) for one in ("textconv", "hooks", "signatures", "promisor, ext", "fsmonitor")),
    *(
        (one, "diff.external")
        for one in ("link, blank behind", "link, NUL", "bare, parts elsewhere")
    ),
    *((one, "filter clean") for one in ("work tree", "commondir, NBSP", "submodule", "include")),
    ("plain", "hooks path, tab"),
    ("in a submodule", "hooks path, relative"),
)
LINES = ("git diff", "git log -p -2 pgp && git status", "git add a")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the gateway's own files and the projects."""
    return tmp_path_factory.mktemp("oracle")


@pytest.fixture(scope="module")
def gateway(home: Path) -> Iterator[GatewayProcess]:
    """Run a gateway with the shipped example policy."""
    state = home / "state"
    state.mkdir(mode=0o700)
    config = EXAMPLE.read_text().replace("~/projects", str(home / "projects"))
    (state / "config.json5").write_text(config)
    (state / "config.json5").chmod(0o600)
    gateway = GatewayProcess(state)
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def trapped(home: Path) -> Iterator[Trap]:
    """Lay the canary and the port out."""
    with trap(home) as found:
        yield found


@pytest.fixture(scope="module")
def source(home: Path) -> Path:
    """Return the repository that places are copies of."""
    return template(home / "template")


@pytest.mark.parametrize(("route", "planted"), PLACES)
def test_nothing_springs(
    route: str, planted: str, home: Path, source: Path, gateway: GatewayProcess, trapped: Trap
) -> None:
    """What the gateway lets pass starts nothing, and it lets one line of each place pass."""
    place = made(home / f"projects/{route} {planted}", source, route, planted, trapped)
    codes = []
    for number, line in enumerate((*LINES, "git rev-parse HEAD")):
        stir(place, number)
        words = ("--ask", "off", "--cwd", str(place.cwd), "-c", line)
        codes.append(finished(gateway, *words, agent="main")[0])

    assert not trapped.sprung()
    assert 0 in codes or "link" in route or "commondir" in route or "bare" in route


def test_it_would_spring(home: Path, source: Path, trapped: Trap) -> None:
    """The control: git by itself starts the canary in such a place."""
    place = made(home / "projects/control", source, "plain", "textconv", trapped)
    subprocess.run(["git", "diff"], cwd=place.cwd, stdout=-3, check=False)

    assert trapped.sprung()


def made(at: Path, source: Path, route: str, planted: str, found: Trap) -> Place:
    """Make a place with something planted in it."""
    at.mkdir(parents=True)
    place = ROUTES[route](at, source)
    plant(planted, place, at, found.canary, found.port)
    found.sprung()
    return place
