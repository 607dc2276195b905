"""List settings and hooks by which git starts a program or connects (git-config(1), githooks(5)).

``{canary}`` stands for a program that leaves a trace, ``{port}`` for a listening port that does.
"""

# ruff: noqa: E501
# One configuration, one line.

from pathlib import Path

from tests.faults.git_oracle.routes import Place

HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "pre-push"),
    *("post-merge", "pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
_REMOTE = '[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
_BRANCH = '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n'
_LAZY = "\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryformatversion = 1\n"
_EXT = '[protocol "ext"]\n\tallow = always\n'


def _remote(url: str, more: str = "") -> str:
    return _REMOTE.replace("{url}", url) + more + _BRANCH


CONFIGS: dict[str, str] = {
    "filter clean": '[filter "x"]\n\tclean = {canary}\n',
    "filter smudge": '[filter "x"]\n\tsmudge = {canary}\n',
    "filter process": '[filter "x"]\n\tprocess = {canary}\n\trequired = true\n',
    "filter, lfs by name": '[filter "x"]\n\tclean = git-lfs clean -- %f || {canary}\n',
    "diff.external": "[diff]\n\texternal = {canary}\n",
    "diff command": '[diff "x"]\n\tcommand = {canary}\n',
    "textconv": '[diff "x"]\n\ttextconv = {canary}\n',
    "cached textconv": '[diff "x"]\n\ttextconv = {canary}\n\tcachetextconv = true\n',
    "textconv, upper case": '[DIFF "x"]\n\tTextConv={canary}\n',
    "textconv, one line": '[diff "x"] textconv = "{canary}" # yes\n',
    "textconv, continued": '[diff "x"]\n\ttextconv = \\\n{canary}\n',
    "textconv, CRLF": '[diff "x"]\r\n\ttextconv = {canary}\r\n',
    "textconv, old section": "[diff.x]\n\ttextconv = {canary}\n",
    "textconv behind a comment": '[core] ; "\n[diff "x"]\n;\n\ttextconv = {canary}\n',
    "merge driver": '[merge "x"]\n\tdriver = {canary} %A\n',
    "merge driver, remerge": '[merge "x"]\n\tdriver = {canary}\n[log]\n\tdiffMerges = remerge\n',
    "merge default driver": '[merge]\n\tdefault = y\n[merge "y"]\n\tdriver = {canary}\n',
    "fsmonitor": "[core]\n\tfsmonitor = {canary}\n",
    "fsmonitor, v1": "[core]\n\tfsmonitor = {canary}\n\tfsmonitorHookVersion = 1\n",
    "editor": "[core]\n\teditor = {canary}\n",
    "sequence editor": "[sequence]\n\teditor = {canary}\n",
    "editor, edited commits": "[core]\n\teditor = {canary}\n[commit]\n\tverbose = true\n\tstatus = true\n",
    "pager": "[core]\n\tpager = {canary}\n",
    "pagers": "[pager]\n\tlog = {canary}\n\tdiff = {canary}\n\tstatus = {canary}\n\tbranch = {canary}\n",
    "pager, forced": "[core]\n\tpager = {canary}\n[pager]\n\tstatus = true\n\tshow = true\n[color]\n\tpager = true\n",
    "askpass": "[core]\n\taskPass = {canary}\n" + _remote("http://127.0.0.1:{port}/x"),
    "ssh": "[core]\n\tsshCommand = {canary}\n" + _remote("ssh://host/x"),
    "ssh variant": "[core]\n\tsshCommand = {canary}\n[ssh]\n\tvariant = simple\n"
    + _remote("host:x"),
    "git proxy": "[core]\n\tgitProxy = {canary}\n" + _remote("git://localhost:{port}/x"),
    "credential helper": "[credential]\n\thelper = !{canary}\n"
    + _remote("http://127.0.0.1:{port}/x"),
    "credential of a host": '[credential "http://127.0.0.1:{port}"]\n\thelper = {canary}\n'
    + _remote("http://127.0.0.1:{port}/x"),
    "http proxy": "[http]\n\tproxy = http://127.0.0.1:{port}\n"
    + _remote("http://example.invalid/x"),
    "url": _remote("http://127.0.0.1:{port}/x"),
    "url, git": _remote("git://127.0.0.1:{port}/x"),
    "url, ext": _EXT + _remote("ext::{canary} x"),
    "insteadOf": '[url "ext::{canary} "]\n\tinsteadOf = https://github.com/\n'
    + _EXT
    + _remote("https://github.com/a/b"),
    "insteadOf a host": '[url "http://127.0.0.1:{port}/"]\n\tinsteadOf = git@github.com:\n'
    + _remote("git@github.com:a/b"),
    "pushInsteadOf": '[url "http://127.0.0.1:{port}/"]\n\tpushInsteadOf = https://github.com/\n'
    + _remote("file:///nonexistent"),
    "uploadpack": _remote("/srv/none", "\tuploadpack = {canary}\n"),
    "receivepack": _remote("/srv/none", "\treceivepack = {canary}\n"),
    "vcs": _remote("http://127.0.0.1:{port}/x", "\tvcs = http\n"),
    "remote proxy": _remote("http://example.invalid/x", "\tproxy = http://127.0.0.1:{port}\n"),
    "pushurl": _remote("/srv/none", "\tpushurl = ext::{canary} x\n") + _EXT,
    "branch to a url": '[branch "main"]\n\tremote = ext::{canary} x\n\tmerge = refs/heads/main\n'
    + _EXT,
    "branch to another url": '[branch "main"]\n\tremote = http://127.0.0.1:{port}/\n\tmerge = main\n',
    "remote group": "[remotes]\n\tdefault = evil\n"
    + _remote("/srv/none").replace("origin", "evil", 1),
    "promisor, ext": _EXT + _remote("ext::{canary} x", _LAZY),
    "promisor, ssh": "[core]\n\tsshCommand = {canary}\n" + _remote("ssh://host/x", _LAZY),
    "promisor, uploadpack": _remote("/srv/none", "\tuploadpack = {canary}\n" + _LAZY),
    "promisor, http": _remote("http://127.0.0.1:{port}/x", _LAZY),
    "signatures": "[gpg]\n\tprogram = {canary}\n[log]\n\tshowSignature = true\n",
    "signatures, openpgp": '[gpg "openpgp"]\n\tprogram = {canary}\n[log]\n\tshowSignature = true\n',
    "signatures, ssh": '[gpg "ssh"]\n\tprogram = {canary}\n\tallowedSignersFile = /dev/null\n'
    "[log]\n\tshowSignature = true\n",
    "signatures, x509": '[gpg "x509"]\n\tprogram = {canary}\n[log]\n\tshowSignature = true\n',
    "signatures by a format": "[gpg]\n\tprogram = {canary}\n[format]\n\tpretty = %h %G? %GK\n",
    "signatures by a name": '[gpg]\n\tprogram = {canary}\n[pretty]\n\toneline2 = "%h %G?"\n[format]\n\tpretty = oneline2\n',
    "signing": "[gpg]\n\tprogram = {canary}\n[commit]\n\tgpgSign = true\n",
    "signing, ssh": '[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tprogram = {canary}\n[commit]\n\tgpgSign = true\n'
    "[user]\n\tsigningKey = /dev/null\n",
    "signing, key command": '[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tdefaultKeyCommand = {canary}\n'
    "[commit]\n\tgpgSign = true\n",
    "aliases": "[alias]\n\tstatus = !{canary}\n\tlog = !{canary}\n\tdiff = !{canary}\n\tadd = !{canary}\n",
    "trailers": '[trailer "x"]\n\tkey = X\n\tcommand = {canary}\n\tifmissing = add\n'
    '[trailer "y"]\n\tkey = Y\n\tcmd = {canary}\n',
    "alternate references": "[core]\n\talternateRefsCommand = {canary}\n",
    "diff filter": "[interactive]\n\tdiffFilter = {canary}\n",
    "tools": '[diff]\n\ttool = x\n\tguitool = x\n[difftool "x"]\n\tcmd = {canary}\n[merge]\n\ttool = x\n'
    '[mergetool "x"]\n\tcmd = {canary}\n',
    "browsers": '[help]\n\tbrowser = x\n[browser "x"]\n\tcmd = {canary}\n[web]\n\tbrowser = x\n'
    '[man "x"]\n\tcmd = {canary}\n[man]\n\tviewer = x\n',
    "submodule update": '[submodule "sub"]\n\tupdate = !{canary}\n\turl = /srv/none\n[submodule]\n\trecurse = true\n',
    "submodule diff": "[diff]\n\tsubmodule = diff\n\texternal = {canary}\n",
    "submodule summary": "[status]\n\tsubmoduleSummary = true\n[diff]\n\texternal = {canary}\n",
    "upload hook": "[uploadpack]\n\tpackObjectsHook = {canary}\n" + _remote("."),
    "recent objects": "[gc]\n\trecentObjectsHook = {canary}\n\tauto = 1\n",
    "configured hooks": "".join(
        f'[hook "x{n}"]\n\tcommand = {{canary}}\n\tevent = {name}\n' for n, name in enumerate(HOOKS)
    ),
    "archive": '[tar "tar.x"]\n\tcommand = {canary}\n',
    "mail": "[sendemail]\n\tsmtpServer = {canary}\n\ttoCmd = {canary}\n",
    "attributes file": '[core]\n\tattributesFile = {attributes}\n[filter "y"]\n\tclean = {canary}\n',
    "trace": "[trace2]\n\teventTarget = {canary}\n",
    "safe": "[safe]\n\tdirectory = *\n\tbareRepository = all\n[diff]\n\texternal = {canary}\n",
}
HOOK_PATHS = {
    "hooks path": "{at}/elsewhere",
    "hooks path, prefix": "%(prefix)/..{at}/elsewhere",
    "hooks path, optional": ":(optional){at}/elsewhere",
    "hooks path, tab": "{at}/else\twhere",
    "hooks path, quoted": '"{at}/elsewhere"',
    "hooks path, escaped": '"{at}/else\\twhere"',
    "hooks path, comment": "{at}/elsewhere # hooks",
    "hooks path, relative": "../elsewhere",
    "hooks path, in the tree": "tools/hooks",
}
NAMES = ("hooks", *HOOK_PATHS, *CONFIGS)


def _hooks(folder: Path, canary: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        (folder / name).symlink_to(canary)


def plant(name: str, place: Place, at: Path, canary: Path, port: int) -> None:
    """Plant one way of making git start the canary in a place."""
    if name == "hooks":
        _hooks(place.folder / "hooks", canary)
        return
    if name in HOOK_PATHS:
        for folder in ("elsewhere", "else\twhere", "else where"):
            _hooks(at / folder, canary)
        _hooks(place.tree / "tools/hooks", canary)
        text = f"[core]\n\thooksPath = {HOOK_PATHS[name].replace('{at}', str(at))}\n"
    else:
        text = CONFIGS[name]
    attributes = at / "attributes"
    attributes.write_text("a* filter=y\n")
    text = text.replace("{canary}", str(canary)).replace("{port}", str(port))
    with (place.folder / place.config).open("a", newline="") as config:
        config.write(text.replace("{attributes}", str(attributes)))
