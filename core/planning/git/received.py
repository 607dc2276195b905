"""Find the hooks that run where a push arrives, if that is a repository on this machine."""

# ruff: noqa: PTH111, PTH118
# pathlib is ten times slower here.

import os
import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final
from urllib.parse import unquote

from core.files.lookup import is_file
from core.planning.git.obedience import Obedience
from core.planning.paths.contents import digest_of

_HOOKS: Final = (
    *("pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("reference-transaction", "push-to-checkout"),
)
_FILE: Final = "file://"
_ELSEWHERE: Final = re.compile(r"[^/]*:")
"""An address with a host or a protocol; git takes a path with a colon first for one, too."""


def received_by(obeys: Obedience, roots: Iterable[str]) -> Iterator[str]:
    """Yield a clause for the repository that the words of a push name by its path."""
    for address in obeys.operands[:1] if obeys.may("push") else ():
        found = tuple(receiving_hooks(address, roots))
        if found:
            named = f"`{found[0]}`" + f" and {len(found) - 1} more" * (len(found) > 1)
            yield f"pushing to `{address}` runs the hook {named} (SHA-256 {digest_of(found)})"


def receiving_hooks(address: str, roots: Iterable[str]) -> Iterator[str]:
    """Yield the hooks of the repository at an address, if that may be a path from some folders."""
    local = address.startswith(_FILE)
    path = unquote(address.removeprefix(_FILE)) if local else address
    if "\0" in path or not path or (not local and _ELSEWHERE.match(path)):
        return
    places = dict.fromkeys(os.path.join(root, os.path.expanduser(path)) for root in roots)
    for place, below, name in product(places, ("", "/.git", ".git", ".git/.git"), _HOOKS):
        hook = f"{place.rstrip('/')}{below}/hooks/{name}"
        if is_file(hook):
            yield hook
