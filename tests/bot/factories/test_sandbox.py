"""Choose the sandbox backends to try for some settings, and name the others in a refusal."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.factories.sandbox import by_user, encloses_others, sandbox_of, unprotected
from bot.settings import Settings
from core.errors import ConfigError, HostUnavailable
from core.runner.runner import Runner
from core.settings import CoreSettings
from core.settings.sandbox import SandboxBackend, SandboxSection
from tests.support.executors import executors
from tests.support.runs import planned, request

NO_BUBBLEWRAP = "bubblewrap: `bwrap` is not installed"
NO_DOCKER = "docker: `docker` is not installed"
NO_IMAGE = "docker: neither sandbox.image nor sandbox.rootfs is set"
AUTO, BUBBLEWRAP = SandboxBackend.AUTO, SandboxBackend.BUBBLEWRAP
DOCKER, NONE = SandboxBackend.DOCKER, SandboxBackend.NONE


def _settings(home: Path, section: SandboxSection, **more: object) -> Settings:
    """Return settings of a machine whose search path has only what a test puts there."""
    programs = home / "bin"
    programs.mkdir(exist_ok=True)
    tools = {"tools": {"exec": {"searchPath": [str(programs)]}}, **more}
    core = CoreSettings.model_validate(tools)
    return Settings(home=home, tools=core.tools, store=core.store, sandbox=section)


@pytest.mark.parametrize(
    ("section", "reasons"),
    [
        (SandboxSection(), (NO_BUBBLEWRAP,)),
        (SandboxSection(image="debian"), (NO_DOCKER, NO_BUBBLEWRAP)),
        (SandboxSection(rootfs="/srv/root"), (NO_DOCKER, NO_BUBBLEWRAP)),
        (SandboxSection(backend=BUBBLEWRAP, image="debian"), (NO_BUBBLEWRAP,)),
        (SandboxSection(backend=DOCKER), (NO_IMAGE,)),
        (SandboxSection(backend=DOCKER, image="debian"), (NO_DOCKER,)),
        (SandboxSection(backend=DOCKER, rootfs="/srv/root"), (NO_DOCKER,)),
        (SandboxSection(backend=NONE, image="debian"), ("sandbox.backend is none",)),
    ],
)
async def test_a_refusal_names_what_was_tried_in_its_order(
    tmp_path: Path, section: SandboxSection, reasons: tuple[str, ...]
) -> None:
    """And nothing else: a user without containers is not told that one is missing."""
    host = sandbox_of(_settings(tmp_path, section), Runner())

    with pytest.raises(HostUnavailable) as refused:
        await host.backend()
    assert f"({'; '.join(reasons)})" in str(refused.value)


@pytest.mark.parametrize(
    ("section", "able"),
    [
        (SandboxSection(), True),
        (SandboxSection(backend=BUBBLEWRAP), True),
        (SandboxSection(backend=BUBBLEWRAP, image="debian"), True),
        (SandboxSection(image="debian"), False),
        (SandboxSection(rootfs="/srv/root"), False),
        (SandboxSection(backend=DOCKER, image="debian"), False),
        (SandboxSection(backend=NONE), False),
    ],
)
def test_only_bubblewrap_encloses_other_users(
    tmp_path: Path, section: SandboxSection, *, able: bool
) -> None:
    """A container's commands run with the rights of the user who runs the engine."""
    assert encloses_others(_settings(tmp_path, section)) is able


@pytest.mark.parametrize("inside", ["home", "database", "journal"])
def test_no_workspace_holds_what_the_gateway_writes(tmp_path: Path, inside: str) -> None:
    """Wherever the configuration puts it; a workspace next to it is accepted."""
    shared, home = tmp_path / "shared", tmp_path / "home"
    shared.mkdir()
    home.mkdir()
    more: dict[str, dict[str, object]] = {}
    if inside == "home":
        home = shared / "home"
        home.mkdir()
    elif inside == "database":
        more["store"] = {"url": f"sqlite:///{shared}/state.db"}
    else:
        more["audit"] = {"path": f"{shared}/audit.jsonl"}
    core = CoreSettings.model_validate(more)

    def at(workspace: Path) -> Settings:
        section = SandboxSection(workspace=str(workspace))
        return Settings(home=home, store=core.store, audit=core.audit, sandbox=section)

    with pytest.raises(ConfigError, match=r"sandbox\.workspace"):
        sandbox_of(at(shared), Runner())
    beside = tmp_path / "beside"
    beside.mkdir()
    sandbox_of(at(beside), Runner())


@pytest.mark.parametrize(
    ("backend", "program", "protect", "said"),
    [
        ("bubblewrap", "an old one", (".envrc",), True),
        ("bubblewrap", "--bind-fd, and Race condition binding dirfd", (".envrc",), False),
        ("bubblewrap", "an old one", (), False),
        ("bubblewrap", None, (".envrc",), False),
        ("docker", "an old one", (".envrc",), False),
    ],
)
def test_a_bubblewrap_that_cannot_protect_is_said_to(
    tmp_path: Path, backend: str, program: str | None, protect: tuple[str, ...], *, said: bool
) -> None:
    """Only if it is what encloses, and if something is to be protected."""
    settings = _settings(tmp_path, SandboxSection(protect=protect))
    if program is not None:
        (tmp_path / "bin" / "bwrap").write_text(program)
        (tmp_path / "bin" / "bwrap").chmod(0o755)

    assert ("--ro-bind-fd" in unprotected(settings, backend)) is said


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        (BUBBLEWRAP, "there is no user `nobody-here` on this machine"),
        (DOCKER, "nothing runs as another user now"),
    ],
)
async def test_a_plan_of_another_user_needs_the_user_and_a_sandbox_that_can(
    tmp_path: Path, executor_path: str, backend: SandboxBackend, why: str
) -> None:
    """Otherwise it runs nowhere, not even as the gateway's user."""
    settings = _settings(tmp_path, SandboxSection(backend=backend, image="debian"))
    plan = replace(planned(request(argv=("/bin/echo", "x"))), run_as="nobody-here")
    async with executors(executor_path) as world:
        host = by_user(settings, sandbox_of(settings, Runner()), world.executors)
        with pytest.raises(HostUnavailable, match=why):
            await host.check(plan)


async def test_without_executors_no_plan_of_another_user_runs(tmp_path: Path) -> None:
    """The control is a plan of no other user: that one fails only for lack of a backend."""
    settings = _settings(tmp_path, SandboxSection())
    host = by_user(settings, sandbox_of(settings, Runner()), None)
    plan = planned(request(argv=("/bin/echo", "x")))

    with pytest.raises(HostUnavailable, match="nothing runs as another user now"):
        await host.check(replace(plan, run_as="nobody"))
    with pytest.raises(HostUnavailable, match="is not installed"):
        await host.check(plan)
