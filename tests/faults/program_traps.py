"""Plant files around a command that make a program do more than its line says.

Each trap is named after the file and the setting. It leads to a canary: a program or module that
leaves a flag, a folder that must not appear, or a port that nothing may call.
"""

# ruff: noqa: E501 - tables of one row a line

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.runs import script


@dataclass(frozen=True)
class Canary:
    """What a trap leads to. ``flags`` holds what fired; ``folder`` must never exist."""

    tools: Path
    flags: Path
    folder: Path
    port: int

    @classmethod
    def under(cls, place: Path, port: int) -> "Canary":
        """Write the programs and modules that leave a flag."""
        tools, flags = place / "evil", place / "flags"
        tools.mkdir(parents=True)
        flags.mkdir()
        made = cls(tools, flags, place / "written", port)
        script(tools / "evil", f"#!/bin/sh\n: > '{flags}/program'\n")
        (tools / "evil.js").write_text(made.javascript)
        (tools / "evil.py").write_text(made.python)
        for name in ("cargo", "rustc", "node", "npm", "python3"):
            (tools / "bin").mkdir(exist_ok=True)
            script(tools / "bin" / name, f"#!/bin/sh\n: > '{flags}/{name}'\n")
        return made

    @property
    def program(self) -> str:
        """Return the path of an executable."""
        return str(self.tools / "evil")

    @property
    def javascript(self) -> str:
        """Return a module for Node.js."""
        return f"require('fs').writeFileSync({json.dumps(str(self.flags / 'javascript'))}, '');\n"

    @property
    def python(self) -> str:
        """Return a module for Python."""
        return f"open({str(self.flags / 'python')!r}, 'w').close()\n"

    @property
    def url(self) -> str:
        """Return the address that nothing may call."""
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Trap:
    """One trap; ``programs`` are those that may obey it."""

    name: str
    programs: tuple[str, ...]
    plant: Callable[[Path, Canary], None]


class Listener:
    """A port on loopback that counts its callers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.calls: list[bytes] = []

    def listen(self) -> None:
        """Take calls until the port is closed."""
        with suppress(OSError):
            while True:
                caller, _ = self._socket.accept()
                with caller:
                    caller.settimeout(0.2)
                    with suppress(OSError):
                        self.calls.append(caller.recv(200))

    def close(self) -> None:
        """Stop."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def listening() -> Iterator[Listener]:
    """Yield a port where calls are counted."""
    listener = Listener()
    thread = threading.Thread(target=listener.listen)
    thread.start()
    try:
        yield listener
    finally:
        listener.close()
        thread.join()


def _file(name: str, text: str, *, executable: bool = False) -> Callable[[Path, Canary], None]:
    """Return a function that plants a file; names in braces are the canary's attributes."""

    def plant(tree: Path, canary: Canary) -> None:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        filled = text
        for key in ("program", "tools", "folder", "url", "javascript", "python"):
            filled = filled.replace(f"{{{key}}}", str(getattr(canary, key)))
        path.write_text(filled)
        if executable:
            path.chmod(0o755)

    return plant


def _files(name: str, programs: str, *files: tuple[str, str]) -> Trap:
    plants = [_file(path, text, executable=text.startswith("#!")) for path, text in files]

    def plant(tree: Path, canary: Canary) -> None:
        for one in plants:
            one(tree, canary)

    return Trap(name, tuple(programs.split()), plant)


_NPMRC = {
    "registry": "{url}/",
    "@x:registry": "{url}/",
    "cache": "{folder}",
    "logs-dir": "{folder}",
    "logs-max": "9\nlogs-dir={folder}",
    "tmp": "{folder}",
    "prefix": "{folder}",
    "globalconfig": "{folder}/npmrc",
    "userconfig": "{folder}/npmrc",
    "script-shell": "{program}",
    "shell": "{program}",
    "node-options": "--require {tools}/evil.js",
    "onload-script": "{tools}/evil.js",
    "init-module": "{tools}/evil.js",
    "git": "{program}",
    "editor": "{program}",
    "viewer": "{program}",
    "browser": "{program}",
    "npm": "{program}",
    "node-gyp": "{program}",
    "scripts-prepend-node-path": "true",
    "proxy": "{url}",
    "https-proxy": "{url}",
    "noproxy": "",
    "update-notifier": "true\nregistry={url}/",
    "offline": "false\nprefer-online=true\nregistry={url}/",
    "timing": "true\nlogs-dir={folder}",
    "cafile": "{folder}/ca",
    "global": "true\nprefix={folder}",
    "workspaces-update": "true\ncache={folder}",
}

_CARGO = {
    "build.rustc": '[build]\nrustc = "{program}"',
    "build.rustc-wrapper": '[build]\nrustc-wrapper = "{program}"',
    "build.rustc-workspace-wrapper": '[build]\nrustc-workspace-wrapper = "{program}"',
    "build.rustdoc": '[build]\nrustdoc = "{program}"',
    "build.target-dir": '[build]\ntarget-dir = "{folder}"',
    "alias": '[alias]\nversion = "run"\nlocate-project = "run"',
    "env": '[env]\nRUSTC = {value = "{program}", force = true}\nPATH = {value = "{tools}", force = true}',
    "target.runner": '[target.x86_64-unknown-linux-gnu]\nrunner = "{program}"\nlinker = "{program}"',
    "source": '[source.crates-io]\nreplace-with = "x"\n[source.x]\nregistry = "sparse+{url}/"',
    "registries": '[registries.x]\nindex = "sparse+{url}/"\ncredential-provider = ["{program}"]',
    "registry.credential": '[registry]\nglobal-credential-providers = ["{program}"]',
    "http.proxy": '[http]\nproxy = "{url}"\n[net]\ngit-fetch-with-cli = true',
    "include": 'include = ["../more.toml"]',
    "paths": 'paths = ["{tools}"]',
}

_TOOLCHAINS = {
    "rust-toolchain.toml": '[toolchain]\npath = "{tools}"\n',
    "rust-toolchain": "{tools}\n",
    ".cargo/rust-toolchain.toml": '[toolchain]\npath = "{tools}"\n',
}

_PROJECT_CODE = {
    "sitecustomize.py": "{python}",
    "usercustomize.py": "{python}",
    "json.py": "{python}",
    "json/__init__.py": "{python}",
    "pip.py": "{python}",
    "setup.py": "{python}",
    "conftest.py": "{python}",
    "py_compile.py": "{python}",
    "site.py": "{python}",
    "encodings/__init__.py": "{python}",
    "pkg_resources.py": "{python}",
    "pyvenv.cfg": "home = {tools}/bin\n",
    ".pth": "import evil",
    "x.pth": "import sys; exec(open('{tools}/evil.py').read())",
    ".python-version": "{tools}\n",
    ".pythonstartup": "{python}",
    ".pythonrc.py": "{python}",
}

_PIP = {
    "pip.conf": "[global]\nindex_url = {url}/simple\npython = {program}\nlog = {folder}/log\n",
    ".pip/pip.conf": "[global]\nindex_url = {url}/simple\nlog = {folder}/log\n",
    "setup.cfg": "[global]\nindex_url = {url}/simple\nlog = {folder}/log\n",
    ".pydistutils.cfg": "[easy_install]\nindex_url = {url}/simple\n",
    "uv.toml": 'cache-dir = "{folder}"\n[[index]]\nurl = "{url}/simple"\ndefault = true\n',
    ".env": "PIP_INDEX_URL={url}\nDOCKER_HOST=tcp://127.0.0.1:1\nPYTHONPATH={tools}\n",
    "pyproject.toml": (
        '[project]\nname = "x"\nversion = "1"\n[build-system]\nrequires = ["evil"]\n'
        'build-backend = "evil"\nbackend-path = ["."]\n[tool.uv]\ncache-dir = "{folder}"\n'
        '[[tool.uv.index]]\nurl = "{url}/simple"\ndefault = true\n'
    ),
}

_NODE = {
    ".noderc": "--require {tools}/evil.js\n",
    ".node-options": "--require {tools}/evil.js\n",
    "node.config.json": '{"nodeOptions": {"require": ["{tools}/evil.js"]}}',
    "index.js": "{javascript}",
    "node_modules/fs/index.js": "{javascript}",
    "node_modules/.hooks/install": "#!/bin/sh\n'{program}'\n",
    "node_modules/npm/index.js": "{javascript}",
    "node_modules/npm/bin/npm-cli.js": "{javascript}",
    "node_modules/.bin/npm": "#!/bin/sh\n'{program}'\n",
    "node_modules/.bin/node": "#!/bin/sh\n'{program}'\n",
    ".npmrc.js": "{javascript}",
    ".pnp.cjs": "{javascript}",
    ".pnpmfile.cjs": "{javascript}",
    ".yarnrc": "yarn-path {tools}/evil.js\n",
    ".yarnrc.yml": "yarnPath: {tools}/evil.js\n",
    ".nvmrc": "{tools}\n",
    ".node-version": "{tools}\n",
    ".tool-versions": "nodejs path:{tools}\npython path:{tools}\nrust path:{tools}\n",
    "mise.toml": '[hooks]\nenter = "{program}"\n[env]\n_.source = "{program}"\n',
    ".envrc": "'{program}'\n",
}

_PACKAGE = {
    "packageManager": {"packageManager": "npm@9.9.9+sha1.0"},
    "devEngines": {"devEngines": {"packageManager": {"name": "npm", "onFail": "download"}}},
    "volta": {"volta": {"node": "9.9.9", "npm": "9.9.9"}},
    "workspaces": {"workspaces": ["../*", "{tools}"]},
    "config": {"config": {"registry": "{url}", "cache": "{folder}", "script-shell": "{program}"}},
    "scripts": {
        "scripts": dict.fromkeys(
            ("ls", "list", "prefix", "root", "version", "preversion", "prels", "preroot"),
            "{program}",
        )
    },
    "type": {
        "type": "module",
        "main": "index.js",
        "exports": "./index.js",
        "imports": {"#x": "./i"},
    },
    "overrides": {"overrides": {"x": "git+{url}/x.git"}, "dependencies": {"x": "git+{url}/x.git"}},
    "tarball": {"dependencies": {"x": "{url}/x.tgz", "y": "file:../y", "z": "npm:q@1"}},
}

_OTHERS = (
    _files(
        ".ripgreprc", "rg", (".ripgreprc", "--pre={program}\n"), ("rg.conf", "--pre={program}\n")
    ),
    _files(".fdrc", "fdfind fd", (".fdrc", "--exec {program}\n"), (".fdignore", "!x\n")),
    _files(".lesskey", "less", (".lesskey", "#env\nLESSOPEN=|{program} %s\n"), (".less", "x")),
    _files(".lessfilter", "less", (".lessfilter", "#!/bin/sh\n'{program}'\n")),
    _files(".manpath", "man", (".manpath", "DEFINE pager {program}\nDEFINE troff {program}\n")),
    _files("man page", "man", ("man/man1/ls.1", ".sy {program}\n"), ("ls.1", ".sy {program}\n")),
    _files(".tarrc", "tar", (".tarrc", "--to-command={program}\n"), ("--to-command=x", "")),
    _files(".curlrc", "curl", (".curlrc", 'output = "{folder}"\nurl = "{url}"\n'), ("_curlrc", "")),
    _files(".jq", "jq", (".jq", "def x: input;\n"), ("jq.jq", "x")),
    _files(".dircolors", "ls tree", (".dircolors", "EXEC 01\n")),
    _files("magic", "file", (".magic", "0 string x y\n"), ("magic.mgc", "x"), ("magic", "x")),
    _files(
        "kubeconfig", "kubectl helm", (".kube/config", "users:\n- user: {exec: {command: x}}\n")
    ),
    _files(
        "kuberc",
        "kubectl",
        ("kuberc", "aliases: []\n"),
        ("kubectl-get", "#!/bin/sh\n'{program}'\n"),
    ),
    _files("docker config", "docker", (".docker/config.json", '{"credsStore": "evil"}')),
    _files(
        "docker plugin",
        "docker",
        ("docker-ps", "#!/bin/sh\n'{program}'\n"),
        ("Dockerfile", "RUN x"),
    ),
    _files("compose", "docker", ("compose.yaml", "include: ['{url}/x.git']\nservices: {}\n")),
    _files(
        "go.mod toolchain", "go gofmt", ("go.mod", "module x\n\ngo 1.18\n\ntoolchain go1.99.1\n")
    ),
    _files("go.mod go", "go gofmt", ("go.mod", "module x\n\ngo 1.99.1\n")),
    _files("go.work", "go gofmt", ("go.work", "go 1.99.1\n\ntoolchain go1.99.1\n\nuse .\n")),
    _files("go.env", "go", ("go.env", "GOFLAGS=-toolexec={program}\nGOTOOLCHAIN=path\n")),
    _files("go1.99.1", "go", ("go.mod", "module x\n\ngo 1.99.1\n"), ("go1.99.1", "#!{program}\n")),
    _files(".terraformrc", "terraform", (".terraformrc", 'plugin_cache_dir = "{folder}"\n')),
    _files(
        "terraform provider",
        "terraform",
        (
            ".terraform/providers/registry.terraform.io/x/x/1.0.0/linux_amd64/terraform-provider-x",
            "#!/bin/sh\n'{program}'\n",
        ),
        ("main.tf", 'terraform {\n  required_providers { x = { source = "x/x" } }\n}\n'),
        (".terraform-version", "{tools}\n"),
    ),
    _files(
        "systemd", "systemctl journalctl", (".config/systemd/user.conf", "x"), ("pager", "#!x\n")
    ),
    _files(
        "gh config",
        "gh",
        (".config/gh/config.yml", "pager: {program}\naliases: {pr: '!{program}'}"),
    ),
    _files("gemrc", "gem ruby", (".gemrc", ":sources: [{url}]\n"), ("Gemfile", "`{program}`\n")),
    _files("Makefile", "make", ("Makefile", "$(shell {program})\nx:\n"), ("GNUmakefile", "x:\n")),
    _files(
        "java options", "java javac", (".hotspotrc", "+OnError={program}\n"), (".java-version", "x")
    ),
    _files("perl", "perl", ("strict.pm", "`{program}`"), ("lib/strict.pm", "`{program}`")),
    _files("php.ini", "php", ("php.ini", "auto_prepend_file={program}\n"), (".user.ini", "x")),
)


def traps() -> tuple[Trap, ...]:
    """Return all traps."""
    package = {"name": "x", "version": "1.0.0", "dependencies": {"left-pad": "1"}}
    return (
        *(
            _files(
                f".npmrc {key}",
                "npm npx node",
                (".npmrc", f"{key}={value}\n"),
                ("package.json", json.dumps(package)),
            )
            for key, value in _NPMRC.items()
        ),
        *(
            _files(
                f"package.json {key}", "npm npx node yarn pnpm", ("package.json", _package(more))
            )
            for key, more in _PACKAGE.items()
        ),
        *(_files(name, "npm npx node yarn pnpm", (name, text)) for name, text in _NODE.items()),
        *(
            _files(
                f".cargo/config.toml {key}",
                "cargo rustc rustup",
                (".cargo/config.toml", f"{text}\n"),
                ("more.toml", '[build]\nrustc = "{program}"\n'),
                ("Cargo.toml", '[package]\nname = "x"\nversion = "0.1.0"\nbuild = "build.rs"\n'),
                ("src/main.rs", "fn main() {}\n"),
                ("build.rs", "fn main() {}\n"),
            )
            for key, text in _CARGO.items()
        ),
        *(_files(name, "cargo rustc rustup", (name, text)) for name, text in _TOOLCHAINS.items()),
        *(_files(name, "python3 pip pip3", (name, text)) for name, text in _PROJECT_CODE.items()),
        *(_files(name, "python3 pip pip3 uv poetry", (name, text)) for name, text in _PIP.items()),
        _files(".poetry", "poetry", (".poetry/plugins/sitecustomize.py", "{python}")),
        *_OTHERS,
    )


def _package(more: object) -> str:
    assert isinstance(more, dict)
    return json.dumps({"name": "x", "version": "1.0.0", "dependencies": {"left-pad": "1"}, **more})
