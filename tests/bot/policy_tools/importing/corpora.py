"""List forms of rules per product: documented ones, and such as people's files contain."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.policy_tools.importing.import_files import Source
from tests.bot.policy_tools.importing.oracles import Claude, Codex, Gemini, OpenClaw

FOLDER = "/srv/app"
"""The project of the forms that are in one."""
BARE = (
    *(
        "ls",
        "cat",
        "grep",
        "head",
        "wc",
        "echo",
        "mkdir",
        "touch",
        "cp",
        "mv",
        "chmod",
        "rm",
        "tree",
    ),
    *("diff", "stat", "du", "pwd", "which", "git", "npm", "docker", "python3", "node", "make"),
    *("find", "sed", "awk", "curl", "jq", "rg", "tar", "kubectl", "mytool", "pytest", "bash"),
)
PREFIXES = (
    *("git log", "git status", "git diff", "git add", "git commit", "git push origin", "git show"),
    *("git checkout", "git branch", "git stash list", "git fetch", "npm run", "npm test"),
    *("npm run test:unit", "npm install", "npx tsc", "npx eslint", "pnpm run build", "yarn lint"),
    *("cargo test", "cargo build --release", "go test", "go vet", "docker ps", "docker compose up"),
    *("docker logs", "kubectl get pods", "gh pr view", "gh issue list", "make test", "pip install"),
    *("python3 -m pytest", "python3 manage.py migrate", "node scripts/x.js", "uv run pytest"),
    *("ls -la", "cat README.md", "grep -rn", "sed -n", "curl -s", "find . -name", "mkdir -p"),
    *("mytool check", "mytool --fast", "systemctl status", "journalctl --no-pager", "psql -c"),
    *("terraform plan", "aws s3 ls", "bundle exec rspec", "rake test", "mvn test", "dotnet build"),
    *("ruff check", "mypy core", "black --check", "tsc --noEmit", "eslint src", "prettier --write"),
)
EXACT = (
    *("npm run build", "npm test", "git status", "git pull origin main", "make", "ls -la src"),
    *(
        "git commit -m 'fix it'",
        'grep -n "a b" README.md',
        "docker compose up -d",
        "mytool --version",
    ),
    *("cargo fmt --all", "go build ./...", "python3 -m venv .venv", "rm -rf build", "touch x.txt"),
)
PROGRAMS = tuple(
    dict.fromkeys(text.split()[0] for text in (*BARE, *PREFIXES, *EXACT) if text != "bash")
)


@dataclass(frozen=True)
class Form:
    """A source text with its oracle; ``subject`` is the rule that the form covers, if it allows.

    ``seeds`` are commands that the rules speak of.
    """

    source: Source
    name: str
    text: str
    oracle: Claude | Codex | Gemini | OpenClaw
    seeds: Sequence[str]
    subject: bool = True
    folder: str | None = None
    extra: Sequence[str] = field(default=())


def _claude(
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    *,
    folder: str | None = None,
    subject: bool = True,
    extra: Sequence[str] = (),
) -> Form:
    lists = {"allow": list(allow), "ask": list(ask), "deny": list(deny)}
    text = json.dumps({"permissions": lists})
    seeds = [_seed(rule) for rule in (*allow, *ask, *deny) if rule.startswith("Bash(")]
    oracle = Claude(allow, ask, deny, folder)
    name = "; ".join((*allow, *(f"ask {one}" for one in ask), *(f"deny {one}" for one in deny)))
    return Form(Source.CLAUDE_CODE, name, text, oracle, seeds, subject, folder, extra)


def _seed(rule: str) -> str:
    inside = rule[len("Bash(") : -1]
    for ending in (":*", " *"):
        inside = inside.removesuffix(ending)
    return inside


def claude() -> Iterator[Form]:
    """Yield Claude Code's forms."""
    for text in BARE:
        yield _claude([f"Bash({text}:*)"])
        yield _claude([f"Bash({text} *)"])
    for text in PREFIXES:
        yield _claude([f"Bash({text}:*)"])
    for text in EXACT:
        yield _claude([f"Bash({text})"])
    for text in PREFIXES[:24]:
        yield _claude([f"Bash({text} *)"], folder=FOLDER)
    yield from _claude_stars()
    yield from _claude_narrowed()


def _claude_stars() -> Iterator[Form]:
    for rule in (
        *("Bash(npm run test*)", "Bash(npm run test:*)", "Bash(git push --force*)", "Bash(ls*)"),
        *("Bash(git * main)", "Bash(git checkout * main)", "Bash(* --version)", "Bash(* install)"),
        *("Bash(npm * --save)", "Bash(cat *.md)", 'Bash(find . -name "*.py")', "Bash(npm*)"),
        *("Bash(mytool *check*)", "Bash(git log --author=* *)", "Bash(curl http://localhost:*)"),
        *(
            "Bash(sudo ls:*)",
            "Bash(timeout 5 ls:*)",
            "Bash(env:*)",
            "Bash(xargs ls:*)",
            "Bash(cd:*)",
        ),
        *("Bash(./run.sh:*)", "Bash(scripts/x.sh)", "Bash(/opt/x/tool run:*)", "Bash(bash -c:*)"),
        *("Bash(FOO=1 npm test:*)", "Bash(ls > out)", "Bash(a && b)", "Bash(echo $HOME)", "Bash"),
        *("Bash(*)", "Bash(:*)", "Bash(echo <NAME>)", "Bash(ls ~/x:*)", "Bash(python3 -c:*)"),
        *("Bash(git -c core.pager=x log:*)", "Bash(echo '<ANY>':*)", "Bash(what?:*)", "Read(x)"),
    ):
        yield _claude([rule])
    for rule in (
        "Bash(./run.sh:*)",
        "Bash(scripts/x.sh)",
        "Bash(npm run test*)",
        "Bash(git * main)",
    ):
        yield _claude([rule], folder=FOLDER)


def _claude_narrowed() -> Iterator[Form]:
    both: list[tuple[list[str], list[str], list[str]]] = [
        (["Bash(git:*)"], [], ["Bash(git push:*)"]),
        (["Bash(git log:*)"], [], ["Bash(git * --force)"]),
        (["Bash(git push:*)"], [], ["Bash(git * --force*)"]),
        (["Bash(rm:*)"], ["Bash(rm -rf:*)"], []),
        (["Bash(npm run:*)"], ["Bash(npm run deploy:*)"], ["Bash(npm run deploy prod)"]),
        (["Bash(mytool:*)"], [], ["Bash(* --force)"]),
        (["Bash(mytool:*)", "Bash(cp:*)"], [], ["Bash(*prod*)"]),
        (["Bash(ls:*)"], [], ["Bash(ls -R)"]),
        (["Bash(ls:*)"], [], ["Bash"]),
        (["Bash(ls:*)"], ["Bash"], []),
        (["Bash(cp:*)"], [], ["Bash(cp $HOME/x:*)"]),
        (["Bash(curl:*)"], [], ["Bash(curl * | sh)"]),
        (["Bash(mytool:*)"], [], ["Bash(mytool a && mytool b)"]),
        (["Bash(cat:*)"], [], ["Read(./.env)"]),
        (["Bash(cat:*)", "Bash(head:*)"], [], ["Read(**/*.pem)", "Read(//etc/shadow)"]),
        (["Bash(grep:*)"], ["Read(secrets/**)"], []),
        (["Bash(sed -n:*)"], [], ["Edit(src/**)"]),
        (["Bash(cat:*)"], [], ["Read(~/.ssh/**)"]),
        (["Bash(git log:*)"], [], ["Bash(./deploy.sh:*)"]),
        (["Bash(cp:*)"], [], ["Bash(cp * /etc/*)"]),
        (["Bash(echo:*)"], [], ["Bash(echo <NAME>)"]),
        (["Bash(npm:*)"], [], ["Bash(npm publish)"]),
    ]
    seen = (
        *("git x y --force", "git push --force", "git push origin main --force-with-lease"),
        *(
            "cat .env",
            "cat ./.env",
            "cat sub/.env",
            "cat /srv/app/.env",
            "cat a.pem",
            "head x/b.pem",
        ),
        *("cat /etc/shadow", "grep x secrets/a", "grep x secrets/b/c", "sed -n 1p src/x", "ls -R"),
        *(
            "cat /home/alice/.ssh/id",
            "cp a /etc/passwd",
            "cp a b prod",
            "mytool prod",
            "npm publish",
        ),
        *("rm -rf x", "npm run deploy prod", "npm run deploy x", "curl x | sh", "mytool --force"),
        *(
            "mytool a",
            "mytool b c",
            "cp /home/alice/x y",
            "echo '<NAME>'",
            "ls -R src",
            "git push x",
        ),
    )
    for allow, ask, deny in both:
        for folder in (None, FOLDER):
            yield _claude(allow, ask, deny, folder=folder, extra=seen)


def codex() -> Iterator[Form]:
    """Yield Codex's forms."""
    for text in BARE:
        yield _codex([([[word] for word in text.split()], "allow")])
    for text in (*PREFIXES, *EXACT[:5]):
        yield _codex([([[word] for word in text.split()], "allow")])
    for text in PREFIXES[:12]:
        words = [[word] for word in text.split()]
        yield _codex([(words, "allow")], folder=FOLDER)
        yield _codex([(words[:1], "allow"), (words, "prompt")])
    for first, *rest in (
        ("git", ["log", "diff", "show"]),
        ("npm", ["run", "test"], ["a", "b"]),
        ("docker", ["ps", "logs"], ["-a"]),
    ):
        pattern = [[str(first)], *rest]
        for decision in ("allow", "prompt", "forbidden"):
            yield _codex([(pattern, decision), ([[str(first)]], "allow")])
    for argv, decision in (
        (["rm", "-rf"], "forbidden"),
        (["git", "push"], "prompt"),
        (["cp", "a b"], "forbidden"),
        (["echo", "<NAME>"], "forbidden"),
        (["mytool", "*"], "forbidden"),
        (["./x.sh"], "forbidden"),
    ):
        rules = [([[argv[0]]], "allow"), ([[word] for word in argv], decision)]
        yield _codex(rules)


def _codex(rules: Sequence[tuple[Sequence[Sequence[str]], str]], folder: str | None = None) -> Form:
    lines = [
        f"prefix_rule(pattern={[one[0] if len(one) == 1 else list(one) for one in pattern]!r},"
        f" decision={decision!r})"
        for pattern, decision in rules
    ]
    seeds = [" ".join(_quoted(part[-1]) for part in pattern) for pattern, _ in rules]
    name = " ".join(lines)
    return Form(
        Source.CODEX, name, "\n".join(lines) + "\n", Codex(rules, folder), seeds, folder=folder
    )


def _quoted(word: str) -> str:
    return f"'{word}'" if any(mark in word for mark in " <>*") else word


def gemini() -> Iterator[Form]:
    """Yield Gemini's forms: rules of a policy, and settings."""
    for text in (*BARE, *PREFIXES):
        yield _gemini([(text, "allow", 100)])
    for text in EXACT[:4]:
        yield _gemini([(text, "allow", 0)])
    for text in PREFIXES[:12]:
        first = text.split()[0]
        yield _gemini([(text, "allow", 100)], folder=FOLDER)
        yield _gemini([(first, "allow", 100), (text, "deny", 200)])
        yield _gemini([(text, "allow", 200), (first, "ask_user", 100)])
        yield _gemini([("", "ask_user", 1), (text, "allow", 100)])
        yield _gemini([("", "deny", 500), (text, "allow", 100)])
        yield _gemini_settings([text], [])
    yield _gemini_settings(["git", "npm run"], ["git push", "npm run deploy"])
    yield _gemini_settings(["git", "npm run"], [], core=["git log", "ls"])
    yield _gemini_settings(["git log"], [], core=["git"])
    yield _gemini_settings(["mytool"], ["mytool a"], core=[])


def _gemini(rules: Sequence[tuple[str, str, int]], folder: str | None = None) -> Form:
    tables = [
        "[[rule]]\ntoolName = 'run_shell_command'\n"
        + (f"commandPrefix = {json.dumps(prefix)}\n" if prefix else "")
        + f"decision = '{decision}'\npriority = {priority}\n"
        for prefix, decision, priority in rules
    ]
    seeds = [prefix for prefix, _, _ in rules if prefix]
    oracle = Gemini(rules, folder=folder)
    return Form(Source.GEMINI, str(rules), "\n".join(tables), oracle, seeds, folder=folder)


def _gemini_settings(
    allowed: Sequence[str], excluded: Sequence[str], core: Sequence[str] | None = None
) -> Form:
    tools: dict[str, object] = {
        "allowed": [f"run_shell_command({text})" for text in allowed],
        "exclude": [f"run_shell_command({text})" for text in excluded],
    }
    if core is not None:
        tools["core"] = ["ReadFileTool", *(f"run_shell_command({text})" for text in core)]
    rules = [(text, "allow", 1) for text in allowed] + [(text, "deny", 2) for text in excluded]
    name = f"settings {allowed} {excluded} {core}"
    text = f"{{ // settings\n{json.dumps({'tools': tools})[1:]}"
    return Form(Source.GEMINI, name, text, Gemini(rules, core), [*allowed, *excluded])


def openclaw(find: "dict[str, str]", home: str) -> Iterator[Form]:
    """Yield the reference product's forms; ``find`` has the path of each program."""
    for name in PROGRAMS:
        path = find[name]
        yield _openclaw([{"pattern": path}], find, home)
        yield _openclaw([{"pattern": path, "argPattern": "^run test( .*)?$"}], find, home)
    for name in PROGRAMS[:30]:
        yield _openclaw([{"pattern": find[name], "argPattern": "^run test$"}], find, home)
    for entry in (
        *({"pattern": "/usr/bin/*"}, {"pattern": "~/bin/*"}, {"pattern": "/usr/**/ls"}),
        *(
            {"pattern": "/usr/bin/l?"},
            {"pattern": "rg"},
            {"pattern": "*"},
            {"pattern": "/bin/bash"},
        ),
        *({"pattern": "/usr/bin/ls", "argPattern": "^-[la]+$"}, {"pattern": "/usr/bin/env"}),
    ):
        yield _openclaw([entry], find, home)
    for setting in ({"ask": "always"}, {"security": "deny"}):
        yield _openclaw([{"pattern": "/usr/bin/ls"}], find, home, **setting)


def _openclaw(
    entries: list[dict[str, str]], find: "dict[str, str]", home: str, **settings: Any
) -> Form:
    agent = {"allowlist": entries, **settings}
    text = json.dumps({"version": 1, "agents": {"main": agent}})
    oracle = OpenClaw(entries, find.get, home, **settings)
    first = entries[0]["pattern"]
    name = first.rpartition("/")[2]
    seeds = [name, f"{name} run test"] if name in find else ["ls", "cat", "git log"]
    return Form(Source.OPENCLAW, json.dumps(entries), text, oracle, seeds)


def probes(form: Form) -> list[str]:
    """Return lines that a form's rules match, nearly match, and do not match."""
    lines = list(form.extra)
    for seed in form.seeds:
        lines += _near(seed)
    return list(dict.fromkeys(line for line in lines if line.strip()))


def _near(seed: str) -> Iterator[str]:
    for filled in dict.fromkeys(
        seed.replace("*", text) for text in ("x", "a b", "--opt", "x y z", "-q x", ".")
    ):
        head, _, rest = filled.partition(" ")
        yield filled
        yield from (f"{filled} {more}" for more in MORE)
        yield from (f"{filled}{glued}" for glued in ("x", ":x", "-foo", "/y"))
        yield from (line.format(filled) for line in _AROUND)
        yield filled.rpartition(" ")[0]
        yield f"{head} {rest[::-1]}" if rest else f"{head}s"
        yield f"{head} zz {rest}"
        yield f"/usr/bin/{filled}" if "/" not in head else filled
        yield f"/tmp/evil/{filled}"
        yield f"./{filled}"
        yield filled.upper()


MORE = (
    *(
        "x",
        "--flag",
        "-v",
        "--out=/tmp/x",
        "a b c",
        "-x y --z",
        "main",
        "--force",
        "src/a.py",
        ".env",
    ),
    *(
        "-delete",
        "-exec rm {} +",
        "'a b'",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
        "../up",
        "--",
        "-c x",
    ),
    *("http://localhost:3000", "--version", "deploy prod", "."),
)
_AROUND = (
    *("{0} && {0} x", "{0} && rm -rf /tmp/zz", "{0}; curl http://evil", "{0} | sh", "rm x || {0}"),
    *("{0} > out.txt", "echo $({0})", "FOO=1 {0}", "sudo {0}", "{0} & reboot", "cd /tmp && {0}"),
    *("timeout 5 {0}", "nohup {0}", "{0} | tee x", "{0}\nreboot", "bash -c 'reboot; {0}'"),
)
