#!/bin/sh
# Install the programs that the tests start. Where that is not allowed, say what is missing and go
# on: the tests that need it fail with the same words, they are never skipped.
set -u

packages=
need() { # need PACKAGE COMMAND: the command is on PATH, or the package will be installed
    command -v "$2" >/dev/null 2>&1 || packages="$packages $1"
}

need bash bash
need dash dash
need zsh zsh
need fish fish
need git git
need jq jq
need ripgrep rg
need procps ps
need nodejs node
need npm npm
need less less
need man-db man
need fd-find fdfind
need systemd systemctl
need util-linux setpriv
need busybox-static busybox
need mawk mawk
need gawk gawk
need original-awk original-awk
need gcc gcc
need binutils strings
need file file
need xz-utils xzcat
need strace strace
need cmake cmake
need ninja-build ninja
need default-jdk-headless javac
need sudo sudo
need bubblewrap bwrap
need podman podman
need crun crun
need catatonit catatonit
need faketime faketime
need iproute2 ip
need iptables iptables
[ -x /usr/sbin/sshd ] || packages="$packages openssh-server openssh-client"
# Any Chromium does; this package is the smallest (96 MB to fetch, 26 s in all).
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 ||
    need chromium-headless-shell chromium-headless-shell
[ -e /usr/include/stdlib.h ] || packages="$packages libc6-dev"
need mmdebstrap mmdebstrap
# Debian keeps the server's programs off PATH.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need postgresql initdb

# Of Debian's package prometheus only the checker of rules is wanted: the package starts a server.
checker=
command -v promtool >/dev/null 2>&1 || checker=prometheus

[ -n "$packages$checker" ] || exit 0
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    echo "missing, and this user may not install:$packages${checker:+ promtool}" >&2
    echo "as root: apt-get install$packages${checker:+ prometheus}" >&2
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing, and there is no apt-get here; install what provides:$packages${checker:+ promtool}" >&2
    exit 0
fi
echo "installing:$packages${checker:+ promtool}"
if [ -n "$checker" ]; then
    # shellcheck disable=SC2086 # a list of words
    $as_root sh -c '
        folder=$(mktemp -d) && trap "rm -rf $folder" EXIT && chmod 755 "$folder" && cd "$folder" &&
        { apt-get download --quiet prometheus >/dev/null 2>&1 ||
            { apt-get update --quiet >/dev/null && apt-get download --quiet prometheus >/dev/null 2>&1; }; } &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xf - ./usr/bin/promtool &&
        install -m 755 usr/bin/promtool /usr/local/bin/promtool' ||
        echo "promtool could not be fetched; the tests that need it will say so" >&2
fi
[ -n "$packages" ] || exit 0
# shellcheck disable=SC2086 # both are lists of words
$as_root env DEBIAN_FRONTEND=noninteractive sh -c '
    apt-get install --yes --quiet --no-install-recommends "$@" >/dev/null 2>&1 ||
    { apt-get update --quiet >/dev/null && apt-get install --yes --quiet --no-install-recommends "$@" >/dev/null; }
' install $packages || echo "apt-get failed; the tests that need these will say so:$packages" >&2
