import pytest

from core.programs.wrappers import is_shell, names_of, wrapper_kind
from tests.support.tables import rows


@rows(
    "path",
    """/bin/sh /usr/bin/dash /usr/bin/bash5.2 /bin/zsh-5.9 /usr/bin/busybox /usr/bin/env
    /usr/bin/sudo /usr/bin/timeout /usr/local/bin/gtimeout /usr/bin/genv /usr/bin/nice
    /opt/x/bash.exe /usr/bin/xargs /lib64/ld-linux-x86-64.so.2 /usr/bin/setsid
    /usr/bin/flock /usr/bin/parallel /usr/bin/eval /usr/bin/BASH
    /usr/sbin/fstab-decode /usr/lib/llvm-14/bin/not /usr/bin/not-14 /usr/bin/watchfiles""".split(),  # noqa: SIM905 - a word list is easier to read than a column
)
def test_wrappers_are_known_under_many_names(path: str) -> None:
    """Version digits, suffixes, the BSD ``g`` and capitals hide no wrapper."""
    assert wrapper_kind(names_of(path), 1) is not None


@pytest.mark.parametrize(
    "path", ["/usr/bin/ls", "/usr/bin/cat", "/usr/bin/git", "/opt/mytool", "/usr/bin/grep"]
)
def test_ordinary_programs_are_not_wrappers(path: str) -> None:
    """Programs that start nothing by name pass on to the lists."""
    assert wrapper_kind(names_of(path), 1) is None


def test_arch_is_a_wrapper_only_with_arguments() -> None:
    """``arch`` names the machine on Linux and starts a program on macOS."""
    assert wrapper_kind(names_of("/usr/bin/arch"), 0) is None
    assert wrapper_kind(names_of("/usr/bin/arch"), 2) is not None


@rows(
    "path, name",
    [
        ("/usr/bin/python3.11", "python"),
        ("/usr/bin/python3.11-dbg", "python"),
        ("/usr/bin/vim.basic", "vim"),
        ("/usr/bin/x86_64-linux-gnu-gcc-12", "gcc"),
        ("/usr/bin/perl5.36-x86_64-linux-gnu", "perl"),
        ("/usr/bin/node18", "node"),
        ("/usr/bin/pip3", "pip"),
        ("/usr/bin/g++-12", "g++"),
        ("/usr/local/bin/gsed", "sed"),
        ("/usr/bin/nc.openbsd", "nc"),
    ],
)
def test_a_version_is_peeled_off(path: str, name: str) -> None:
    """The tables need one name per program."""
    assert name in names_of(path)


@pytest.mark.parametrize("name", ["sudo", "doas", "su", "runuser", "setpriv", "chroot", "nsenter"])
def test_privilege_is_told_from_other_wrappers(name: str) -> None:
    """The prompt says that the command would run with other rights."""
    assert "privilege" in (wrapper_kind(names_of(f"/usr/bin/{name}"), 1) or "")


def test_shells_are_told_from_other_wrappers() -> None:
    """S4 refuses shells even as exact vectors."""
    assert is_shell(names_of("/usr/bin/dash"))
    assert not is_shell(names_of("/usr/bin/timeout"))
