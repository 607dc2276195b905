"""Check the Dockerfile and compose.yaml by reading; tests/e2e/test_container.py runs them."""

import re
from fnmatch import fnmatch
from typing import Any

import yaml

from bot.cli import build_parser
from bot.cli.parser import members
from bot.settings.model import SHAPE
from bot.settings.schema import walk
from tests.docs.blocks import blocks
from tests.project.tracked import ROOT
from tests.support.container_image import options

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "how-to" / "container.md"
_HOST = re.compile(r"\b[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?/[a-z]")


def instructions(word: str) -> list[str]:
    """Return the arguments of each instruction of one kind, its lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{word} +(.*)$", joined, re.MULTILINE)


def settings(environment: dict[str, str]) -> set[str]:
    """Return the keys that variables name and that no setting has."""
    known = {"__".join(map(str, path)).upper() for path, _ in walk(SHAPE)} | {"HOME", "IMAGE"}
    named = {name.removeprefix("SAYSO_") for name in environment if name.startswith("SAYSO_")}
    return named - known


def test_the_image_runs_as_a_user_of_a_fixed_number() -> None:
    """The last user is not root, and is the same in every build."""
    assert instructions("USER") == ["10001:10001"]
    assert COMPOSE["services"]["sayso"]["user"] == "10001:10001"


def test_the_base_is_a_short_name_that_an_argument_replaces() -> None:
    """Both stages use it; no file names the host that images come from."""
    images = [service["image"] for service in COMPOSE["services"].values()]

    assert instructions("ARG") == ["BASE=python:3.11-slim"]
    assert {line.split()[0] for line in instructions("FROM")} == {"${BASE}"}
    assert [image for image in images if not re.fullmatch(r"\$\{\w+:-[a-z]+(:\d+)?\}", image)] == []
    assert not _HOST.search("\n".join(instructions("FROM") + images))
    assert _HOST.search("registry.example:5000/library/python")


def test_health_start_and_stop_are_our_own_commands() -> None:
    """No curl, no shell: the image has what the gateway needs."""
    (check,) = instructions("HEALTHCHECK")

    assert 'CMD ["sayso", "status"]' in check
    assert instructions("ENTRYPOINT") == ['["sayso"]']
    assert {"status", "serve"} <= {*members(build_parser())}
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_every_service_has_as_little_as_it_can() -> None:
    """Read-only, no capabilities, no new privileges, bounded, not root."""
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not service["user"].startswith("0"), name
        assert {"mem_limit", "pids_limit"} <= service.keys(), name
        assert "ports" not in service, name
        assert "privileged" not in service, name


def test_the_gateway_waits_for_a_database_that_answers() -> None:
    """Secrets are files, and each named one exists."""
    gateway, database = COMPOSE["services"]["sayso"], COMPOSE["services"]["db"]
    used = {name for service in COMPOSE["services"].values() for name in service["secrets"]}

    assert gateway["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert used == COMPOSE["secrets"].keys()
    assert all(secret.keys() == {"file"} for secret in COMPOSE["secrets"].values())
    assert {
        volume.partition(":")[0] for one in (gateway, database) for volume in one["volumes"]
    } == (COMPOSE["volumes"].keys())


def test_every_variable_is_a_setting() -> None:
    """A misspelt one would be refused at the start, and is found here."""
    assert settings(COMPOSE["services"]["sayso"]["environment"]) == set()
    assert settings({"SAYSO_TOOLS__EXEC__HOTS": "gateway"}) == {"TOOLS__EXEC__HOTS"}


def test_the_pages_addition_names_settings() -> None:
    """What container.md adds for the API is merged with the service, and each key of it exists."""
    (block,) = (one for one in blocks(PAGE) if one.language == "yaml")
    service = {**COMPOSE["services"]["sayso"], **yaml.safe_load(block.text)}

    assert len(service["environment"]) > 3
    assert settings(service["environment"]) == set()
    assert options(service, ROOT)


def test_the_tests_know_every_key_of_a_service() -> None:
    """What the end-to-end test would leave out by mistake fails here."""
    for service in COMPOSE["services"].values():
        assert options(service, ROOT)


def test_what_is_copied_reaches_the_build_and_nothing_else() -> None:
    """No state, secret or cache of a checkout gets into an image."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    wheel = re.findall(
        r'^"([^"/]+)[^"]*" = "share/', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )

    assert "*" in lines
    sources = {".ci", "bot", "channels", "core", "pyproject.toml", "requirements.lock"}
    assert sources | set(wheel) <= kept
    for name in ("secrets", ".git", ".venv", "dist", "tests"):
        assert not any(fnmatch(name, one) for one in kept), name
