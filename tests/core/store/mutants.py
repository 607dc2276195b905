"""Load the store as it is, or with one seeded bug, so that checkers can be checked."""

import importlib
import itertools
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import core.store

_SOURCE = Path(core.store.__file__).parent
_number = itertools.count()


@dataclass(frozen=True, slots=True)
class Mutation:
    """A seeded bug: in ``file``, the one place that reads ``old`` reads ``new``."""

    name: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class StoreCode:
    """The store's modules under one package name."""

    package: str

    def module(self, name: str) -> ModuleType:
        """Return a module of the package, such as ``approvals``."""
        return importlib.import_module(f"{self.package}.{name}")


GENUINE = StoreCode("core.store")


def mutated(mutation: Mutation, folder: Path) -> StoreCode:
    """Copy the store to a separate package with one bug seeded; its folder joins sys.path."""
    package = f"mutated_store_{next(_number)}"
    copy = folder / package
    shutil.copytree(_SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*.py"):
        text = path.read_text()
        if path == copy / mutation.file:
            assert text.count(mutation.old) == 1, f"{mutation.name}: not one place to mutate"
            text = text.replace(mutation.old, mutation.new)
        path.write_text(text.replace("core.store", package))
    sys.path.insert(0, str(folder))
    try:
        for path in copy.rglob("*.py"):  # a mutation that does not even load proves nothing
            if "migrations" not in path.parts:  # these load inside a migration only
                name = ".".join(path.relative_to(folder).with_suffix("").parts)
                importlib.import_module(name.removesuffix(".__init__"))
    finally:
        sys.path.remove(str(folder))
    return StoreCode(package)
