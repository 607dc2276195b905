"""Check the wheel and the sdist: their content, that two builds are equal, that they work alone."""

import os
import sys
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from bot.cli.help import man
from tests.project.artefacts import build, clean_environ, copy_source, run, unpack
from tests.project.tracked import ROOT, files

SHARED = (
    "bash-completion/completions/sayso",
    "doc/sayso/config.example.json5",
    "doc/sayso/docs/examples/developer.json5",
    "doc/sayso/docs/examples/monitoring/alerts.yml",
    "doc/sayso/docs/tutorial/first-approval.md",
    "fish/vendor_completions.d/sayso.fish",
    "man/man1/sayso.1",
    "zsh/site-functions/_sayso",
)
UNPACKED = (
    ".ci/man_page.py",
    ".ci/release",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "Makefile",
    "SECURITY.md",
    "compose.yaml",
    "requirements-dev.lock",
    "requirements.lock",
    "tests/system_packages.sh",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the artefacts of this tree."""
    folder = tmp_path_factory.mktemp("artefacts")
    source = copy_source(folder / "source")
    return build(source, folder / "dist", SOURCE_DATE_EPOCH="1700000000")


@pytest.mark.slow
def test_the_wheel_carries_what_its_programs_name(built: dict[str, Path]) -> None:
    """Manual page, completions, documents, and every file of the packages."""
    names = zipfile.ZipFile(built["wheel"]).namelist()
    shared = {name.partition(".data/data/share/")[2] for name in names}
    tops = {"bot", "channels", "core"}
    packaged = {
        str(path.relative_to(ROOT)) for path in files() if path.relative_to(ROOT).parts[0] in tops
    }

    assert set(SHARED) <= shared
    assert packaged <= set(names)


@pytest.mark.slow
def test_the_man_page_is_what_the_parsers_say(built: dict[str, Path]) -> None:
    """The wheel installs the page of its own version."""
    (name,) = (one for one in zipfile.ZipFile(built["wheel"]).namelist() if one.endswith("sayso.1"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    written = zipfile.ZipFile(built["wheel"]).read(name).decode()
    assert written == man.page(project["version"])


def test_the_sdist_carries_what_make_needs(built: dict[str, Path], tmp_path: Path) -> None:
    """An unpacked sdist can do what a checkout can."""
    folder = unpack(built["sdist"], tmp_path)

    assert [name for name in UNPACKED if not (folder / name).is_file()] == []
    makefile = (folder / "Makefile").read_text(encoding="utf-8")
    assert makefile == (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.deep
@pytest.mark.slow
def test_a_second_build_is_identical(built: dict[str, Path], tmp_path: Path) -> None:
    """Another folder, time zone and order of the files change no byte; another time does."""
    source = copy_source(tmp_path / "elsewhere")
    zone = {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7"}
    again = build(source, tmp_path / "again", SOURCE_DATE_EPOCH="1700000000", **zone)
    later = build(source, tmp_path / "later", SOURCE_DATE_EPOCH="1800000000")

    first, second, third = (
        [sha256(one[kind].read_bytes()).hexdigest() for kind in ("wheel", "sdist")]
        for one in (built, again, later)
    )
    assert first == second
    assert first[0] != third[0]


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize("installer", ["uv", "pipx"])
def test_an_installed_wheel_works_alone(
    installer: str, built: dict[str, Path], tmp_path: Path
) -> None:
    """In an empty home, from another folder: the demo, a set-up, the documents, the manual page."""
    tools, home = tmp_path / "tools", tmp_path / "home"
    home.mkdir()
    run((sys.executable, "-m", "venv", str(tools)), cwd=tmp_path, environ=os.environ)
    pip = (str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", installer)
    run(pip, cwd=tmp_path, environ=os.environ)
    environ = clean_environ(home) | {"UV_PYTHON": sys.executable}
    install = ("tool", "install") if installer == "uv" else ("install",)
    words = (str(tools / "bin" / installer), *install, str(built["wheel"]))
    run(words, cwd=home, environ=environ)

    sayso = home / ".local" / "bin" / "sayso"
    shown = run((str(sayso), "demo", "--answer", "allow-once"), cwd=home, environ=environ)
    run((str(sayso), "init", "--channel", "terminal", "--yes"), cwd=home, environ=environ)
    share = sayso.resolve().parents[1] / "share"
    manual = run(("man", "-l", str(share / "man/man1/sayso.1")), cwd=home, environ=environ)

    assert "ran, exit code 0" in shown
    assert Path(shown.rpartition("a tour: ")[2].strip()).is_file()
    config = (home / ".sayso" / "config.json5").read_text(encoding="utf-8")
    assert Path(config.splitlines()[1].removeprefix("// ")).is_file()
    assert "sayso approve" in manual


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_an_unpacked_sdist_installs_and_shows_the_demo(
    built: dict[str, Path], tmp_path: Path
) -> None:
    """The two commands at the start of the README, without git."""
    folder = unpack(built["sdist"], tmp_path)
    environ = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    environ["PYTHON"] = sys.executable
    run(("make", "install"), cwd=folder, environ=environ)
    shown = run(("make", "demo", "DEMO_ARGS=--answer allow-once"), cwd=folder, environ=environ)

    assert "ran, exit code 0" in shown


def test_the_project_is_never_uploaded() -> None:
    """Package indexes refuse what has this classifier."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert "Private :: Do Not Upload" in project["classifiers"]
