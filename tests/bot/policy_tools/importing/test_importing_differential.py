"""Hold imports against the products' documented semantics: nothing wider, nothing silent."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.explain.batch_entry import REQUESTER
from bot.policy_tools.importing import claude_code, convert
from bot.policy_tools.importing.import_files import finder, import_texts
from bot.policy_tools.importing.result import ALLOWING, Fate, Imported
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import Place, UnreadStatement
from bot.policy_tools.importing.write import config_text, write
from bot.policy_tools.judge import Judge, present_settings
from core.model.command import ExecRequest
from core.model.decision import Reason
from core.model.identity import AgentId
from core.planning.planner import Refusal
from tests.bot.policy_tools.importing import corpora
from tests.bot.policy_tools.importing.corpora import Form
from tests.support.store_records import SESSION

PLACES = ("/srv/app", "/srv/app/sub", "/srv/other")
HOME = "/home/alice"
_ON_DISK = frozenset((Reason.EXPOSED, Reason.REPLACES))
"""What asks because of what is there (`/tmp`, `/etc/passwd`), whatever a rule says: policy.md."""
GOAL = 0.6
LEAST_FORMS, LEAST_PROBES, MOST_RULES = 120, 20, 3


@dataclass
class Machine:
    """Folders for probes, and every program of the corpora, real or one that does nothing."""

    root: Path
    search: tuple[str, ...]
    find: dict[str, str]

    def folder(self, name: str) -> str:
        """Return where a folder of the oracles is here."""
        return f"{self.root}{name}"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Make the folders and the programs that are missing."""
    root = tmp_path_factory.mktemp("machine")
    for place in (*PLACES, "/srv/app/src", "/srv/app/secrets", "/srv/app/scripts"):
        (root / place[1:]).mkdir(parents=True, exist_ok=True)
    stubs = root / "programs"
    stubs.mkdir()
    base = ("/usr/bin", "/bin")
    for name in corpora.PROGRAMS:
        if finder(base)(name) is None:
            shutil.copy("/usr/bin/true", stubs / name)
    search = (*base, str(stubs))
    find = finder(search)
    paths = {name: file.path for name in corpora.PROGRAMS if (file := find(name)) is not None}
    return Machine(root, search, paths)


def judged(form: Form, machine: Machine, home: Path) -> tuple[Imported, Judge]:
    """Import a form, write it into a fresh home, and return the judge of what was written."""
    user = str(Path.home())
    folder = None if form.folder is None else machine.folder(form.folder)
    suffix = ".toml" if form.text.startswith("[[") else ".json"
    origin = Origin(f"file{'' if form.source == 'codex' else suffix}", user, folder)
    found = import_texts(form.source, [(form.text, origin)], finder(machine.search), user)
    environ = {"SAYSO_HOME": str(home), "HOME": user}
    if not found.of(Fate.LOST):
        write(found, form.source, environ)
    else:  # refused there; what a person would paste is judged instead
        home.mkdir(mode=0o700)
        (home / "config.json5").write_text(config_text(found, form.source), encoding="utf-8")
    settings = present_settings(environ)
    tools = settings.tools.model_copy(
        update={"exec": settings.tools.exec.model_copy(update={"search_path": machine.search})}
    )
    return found, Judge(settings.model_copy(update={"tools": tools}), home / "exec-approvals.json")


def decision(judge: Judge, line: str, cwd: str) -> tuple[str, Reason | None]:
    """Judge a line as the gateway would; return the decision and its reason."""
    agent = AgentId("main")
    plan = judge.plan(ExecRequest(REQUESTER, SESSION, cwd, line=line, agent=agent))
    if isinstance(plan, Refusal):
        return "deny", None
    found = judge.judge(plan)
    return found.decision.word, found.reason


@dataclass
class Tally:
    """The result of a product's corpus."""

    forms: int = 0
    probes: int = 0
    fates: Counter[Fate] = field(default_factory=Counter)
    wider: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    many: list[str] = field(default_factory=list)
    few: list[str] = field(default_factory=list)


def measure(forms: Iterable[Form], machine: Machine, homes: Path) -> Tally:
    """Hold each form's import against its oracle, on all its probes."""
    tally = Tally()
    for number, form in enumerate(forms):
        tally.forms += 1
        found, judge = judged(form, machine, homes / str(number))
        _look(form, found, judge, machine, tally)
    return tally


def _look(form: Form, found: Imported, judge: Judge, machine: Machine, tally: Tally) -> None:
    allowing = [one for one in found.outcomes if one.fate in ALLOWING]
    tally.fates.update(one.fate for one in allowing)
    tally.many += [
        f"{form.name}: {len(one.rules) + len(one.entries)}"
        for one in found.outcomes
        if len(one.rules) + len(one.entries) > MOST_RULES
    ]
    unsaid = [one for one in found.outcomes if one.fate not in {Fate.EXACT, Fate.CARRIED}]
    tally.silent += [f"{form.name}: {one.fate} without a word" for one in unsaid if not one.why]
    lines = corpora.probes(form)
    if form.seeds and len(lines) < LEAST_PROBES:
        tally.few.append(form.name)
    exact = all(one.fate is Fate.EXACT for one in allowing)
    bound = form.folder is not None or "Read(" in form.name or "Edit(" in form.name
    for line in lines:
        for place in PLACES if bound else PLACES[:1]:
            tally.probes += 1
            theirs = form.oracle.decide(line, place)
            here = line.replace("/srv/", machine.folder("/srv/")).replace(HOME, str(Path.home()))
            ours, reason = decision(judge, here, machine.folder(place))
            if ours == "allow" != theirs and not form.oracle.free(line):
                tally.wider.append(f"{form.name} | {line!r} in {place}: there {theirs}")
            paths = [word for word in line.split() if word.startswith(("/usr/bin/", "/opt/"))]
            missing = not all(Path(path).exists() for path in paths)
            if theirs == "allow" != ours and exact and not missing and reason not in _ON_DISK:
                tally.silent.append(f"{form.name} | {line!r} in {place}: here {ours}")


CORPORA: Mapping[str, Callable[[Machine], Iterable[Form]]] = {
    "claude-code": lambda _: corpora.claude(),
    "codex": lambda _: corpora.codex(),
    "gemini": lambda _: corpora.gemini(),
    "openclaw": lambda machine: corpora.openclaw(machine.find, HOME),
}


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize("product", CORPORA)
def test_imports_are_never_wider_and_never_narrower_without_a_word(
    product: str, machine: Machine, tmp_path: Path
) -> None:
    """Each form on at least twenty probes, in its folder, below it and elsewhere."""
    tally = measure(CORPORA[product](machine), machine, tmp_path)
    allowing = sum(tally.fates.values())
    share = tally.fates[Fate.EXACT] / allowing
    print(
        f"\n{product}: {tally.forms} forms, {tally.probes} probes; {allowing} rules that allow: "
        f"{share:.0%} exact, {tally.fates[Fate.NARROWER]} narrower, {tally.fates[Fate.DROPPED]} "
        f"dropped; wider {len(tally.wider)}, without a word {len(tally.silent)}"
    )
    assert tally.forms >= LEAST_FORMS
    assert not tally.wider
    assert not tally.silent
    assert not tally.many
    assert not tally.few
    assert share >= GOAL


def test_a_widened_importer_is_caught(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the words after the program are forgotten."""
    forms = [form for form in corpora.codex() if form.folder is None][len(corpora.BARE) :][:20]
    assert not measure(forms, machine, tmp_path / "before").wider

    def forget(_words: tuple[str, ...], *, prefix: bool) -> tuple[list[tuple[str, ...]], None]:
        return [("<REST:any>",)] if prefix else [()], None

    monkeypatch.setattr(convert, "vectors_of", forget)
    assert measure(forms, machine, tmp_path / "after").wider


def test_a_forgotten_file_denial_is_caught(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: `cat .env` runs although the source denies it."""
    forms = [form for form in corpora.claude() if "deny Read(" in form.name]
    assert not measure(forms, machine, tmp_path / "before").wider

    def forget(place: Place, *_: object) -> UnreadStatement:
        return UnreadStatement(place, "it is not about commands")

    monkeypatch.setattr(claude_code, "_about_files", forget)
    assert measure(forms, machine, tmp_path / "after").wider


def test_a_folder_that_is_forgotten_is_caught(machine: Machine, tmp_path: Path) -> None:
    """Negative control: a project's rules apply everywhere."""
    forms = [form for form in corpora.codex() if form.folder is not None][:4]
    assert not measure(forms, machine, tmp_path / "before").wider

    assert measure(
        [replace(form, folder=None) for form in forms], machine, tmp_path / "after"
    ).wider


def test_an_importer_that_says_nothing_is_caught(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: code in arguments asks, and the import is called exact."""
    forms = [form for form in corpora.codex() if "'make', 'test'" in form.name]
    assert not measure(forms, machine, tmp_path / "before").silent

    def forget(note: str | None, *_: object) -> str | None:
        return note

    monkeypatch.setattr(convert, "_with_inline", forget)
    monkeypatch.setattr(corpora, "MORE", (*corpora.MORE, "--eval=x"))
    assert measure(forms, machine, tmp_path / "after").silent
