"""Measure the shape of the product: ``python -m tests.project.shape [TREE]``.

Counts modules, lines and imports; a folder's units are its modules and its sub-packages. A cycle is
among units of the same folder. An arrow up breaks the order of a ``layers`` contract of pyproject.
"""

import ast
import signal
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOPS = ("bot", "channels", "core")
MOST_MODULES = 16
LONGEST_MODULE = 400
FRAGMENT = 40

LARGE_FOLDERS: Mapping[str, str] = {}
"""Why a folder holds more than ``MOST_MODULES`` modules."""

LONG_MODULES: Mapping[str, str] = {
    "core/audit/verify_export.py": "one file, which is carried elsewhere",
}
"""Why a module is longer than ``LONGEST_MODULE`` lines."""

FRAGMENTS: Mapping[str, str] = {
    "bot/intake/methods/health.py": "a group of methods has a module of its name",
    "bot/api/http/binding.py": "knows clients; bot/doctor, below it, tries the same sockets",
    "bot/chat/pairing.py": "one of the parts that bot/chat/inbox.py asks in turn, a module each",
    "bot/cli/exec/diagnostics.py": "loaded for one sub-command only; the others start faster",
    "bot/policy_tools/home_journal.py": "where a caller's variables count for nothing",
    "channels/companion/question.py": "pure; the channel around it keeps connections",
    "channels/plugin.py": "what a third party's channel is given; bot/settings reads it",
    "core/planning/code/files/packages.py": "reads a foreign file format; tested without a plan",
    "core/planning/terminal_part.py": "what a plan of a terminal says; it pins no program",
    "core/companion/limits.py": "the numbers on the protocol's page; tested without a socket",
    "core/nodes/backoff.py": "tested by itself; a companion that connects waits alike",
    "core/planning/direct_exec.py": "the one place where what starts may differ from the asked",
    "core/text/vendor_tokens.py": "a table; the tests' slow measure of masking reads it too",
}
"""Why a module of fewer than ``FRAGMENT`` lines with one importer is a module."""

Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Module:
    """One module: its dotted name, its path, its lines, and the modules of ours that it imports."""

    name: str
    path: str
    lines: int
    imports: frozenset[str]

    @property
    def is_package(self) -> bool:
        """Return whether this is the ``__init__`` of a folder."""
        return self.path.endswith("__init__.py")


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(tree: ast.AST, known: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def measure(root: Path) -> tuple[Module, ...]:
    """Return the modules of a tree, sorted by name."""
    paths = [path.relative_to(root) for top in TOPS for path in (root / top).rglob("*.py")]
    known = frozenset(map(_name, paths))
    found = []
    for path in paths:
        text = (root / path).read_text(encoding="utf-8")
        imports = frozenset(_imports(ast.parse(text), known)) - {_name(path)}
        found.append(Module(_name(path), path.as_posix(), len(text.splitlines()), imports))
    return tuple(sorted(found, key=lambda module: module.name))


def folders(modules: Iterable[Module]) -> Mapping[str, int]:
    """Return how many modules each folder holds; its ``__init__`` and sub-packages do not count."""
    counted = Counter(module.path.rpartition("/")[0] for module in modules if not module.is_package)
    return dict(sorted(counted.items()))


def siblings(modules: Iterable[Module]) -> Mapping[str, Counter[Arrow]]:
    """Return by package the imports between its units, with how often each occurs."""
    found: defaultdict[str, Counter[Arrow]] = defaultdict(Counter)
    for module in modules:
        for target in module.imports:
            here, there = module.name.split("."), target.split(".")
            shared = 0
            while shared < min(len(here), len(there)) and here[shared] == there[shared]:
                shared += 1
            if shared < min(len(here), len(there)):
                found[".".join(here[:shared])][here[shared], there[shared]] += 1
    return found


def cycles(arrows: Iterable[Arrow]) -> tuple[tuple[str, ...], ...]:
    """Return each set of units that reach one another."""
    reached: dict[str, set[str]] = defaultdict(set)
    for source, target in arrows:
        reached[source].add(target)
    changed = True
    while changed:
        changed = False
        for units in list(reached.values()):
            further = set().union(*(reached.get(unit, set()) for unit in units)) - units
            changed |= bool(further)
            units.update(further)
    circles = {
        tuple(sorted({unit, *(other for other in ends if unit in reached.get(other, ()))}))
        for unit, ends in reached.items()
        if unit in ends
    }
    return tuple(sorted(circles))


def up(modules: Iterable[Module], contracts: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the imports against the order of a ``layers`` contract, between neighbours too."""
    between = siblings(modules)
    found = []
    for contract in contracts:
        layers = contract.get("layers")
        containers = contract.get("containers", ("",))
        if not isinstance(layers, list) or not isinstance(containers, list | tuple):
            continue
        level = {
            unit.strip(): number for number, layer in enumerate(layers) for unit in layer.split("|")
        }
        for container in containers:
            found += [
                f"{container}: {source} -> {target}"
                for source, target in sorted(between.get(container, ()))
                if source in level and target in level and level[source] >= level[target]
            ]
    return tuple(found)


def fragments(modules: Iterable[Module]) -> tuple[Module, ...]:
    """Return the modules of fewer than ``FRAGMENT`` lines that one other module imports."""
    modules = tuple(modules)
    importers = Counter(target for module in modules for target in module.imports)
    return tuple(
        module
        for module in modules
        if module.lines < FRAGMENT and not module.is_package and importers[module.name] == 1
    )


def contracts(root: Path) -> list[Mapping[str, object]]:
    """Return the import contracts of a tree."""
    loaded = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[Mapping[str, object]] = loaded["tool"]["importlinter"]["contracts"]
    return found


def report(root: Path) -> Iterator[str]:
    """Yield the lines of the report."""
    modules = measure(root)
    for top in TOPS:
        own = [module for module in modules if module.name.split(".")[0] == top]
        yield f"{top}: {len(own)} modules, {sum(module.lines for module in own)} lines"
    yield f"all: {len(modules)} modules, {sum(module.lines for module in modules)} lines"
    between = siblings(modules)
    yield "\nmodules and arrows by folder"
    for folder, count in folders(modules).items():
        inside = sum(between.get(folder.replace("/", "."), Counter()).values())
        reason = LARGE_FOLDERS.get(folder, "no reason") if count > MOST_MODULES else ""
        yield f"  {count:3} modules {inside:4} arrows  {folder}  {reason}".rstrip()
    circles = [f"{name}: {circle}" for name in between for circle in cycles(between[name])]
    long = [f"{module.path} ({module.lines})" for module in modules if _is_long(module)]
    small = [f"{module.path} ({module.lines})" for module in fragments(modules)]
    for title, lines in (
        ("cycles between units of a folder", circles),
        ("arrows up", list(up(modules, contracts(root)))),
        (f"modules over {LONGEST_MODULE} lines", long),
        (f"modules under {FRAGMENT} lines with one importer", small),
    ):
        yield f"\n{title}: {len(lines)}"
        yield from (f"  {line}" for line in lines)


def _is_long(module: Module) -> bool:
    return module.lines > LONGEST_MODULE


def main() -> None:
    """Print the report on a tree, by default this one."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it, as other programs
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    print("\n".join(report(root)))


if __name__ == "__main__":
    main()
