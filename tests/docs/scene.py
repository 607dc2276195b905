"""Define what a page assumes before its first command, and what happens besides its commands."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from tests.docs.shell import User

Json = dict[str, object]
Act = Callable[[User], None]
"""Something that a person does, or a test checks."""


def nothing(_user: User) -> None:
    """Do nothing."""


def no_server() -> AbstractContextManager[Mapping[str, str]]:
    """Run no server; return no variable of the environment."""
    return nullcontext({})


@dataclass(frozen=True, slots=True)
class Scene:
    """What one page needs to be followed.

    ``config`` is the configuration before the page, which the page's own fragments are added to;
    with ``gateway`` it is written, and a gateway runs before the first command. ``before`` are
    commands that prepare files. ``words`` replaces what a reader replaces, by a string or a
    function of the user at that moment. ``statuses`` are the exit codes that prose promises.

    Commands are matched by how they begin: ``ahead`` is what people do before one, and ``beside``
    while it runs; those in ``waiting`` end only after others, and those in ``elsewhere`` are typed
    in another terminal. How those in ``machine`` end depends on this machine, but they are not
    denied. ``after`` checks the end.
    """

    gateway: bool = False
    config: Json = field(default_factory=dict)
    before: str = ""
    words: Mapping[str, "str | Callable[[User], str]"] = field(default_factory=dict)
    ahead: Mapping[str, Act] = field(default_factory=dict)
    beside: Mapping[str, Act] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    server: Callable[[], AbstractContextManager[Mapping[str, str]]] = no_server
    after: Act = nothing
