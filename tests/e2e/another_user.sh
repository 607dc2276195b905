# Follow docs/how-to/agents-as-another-user.md in a mount namespace of our own, whose /etc, /home, /run,
# /srv and /opt are copies or empty: users and files that are made here are nobody else's.
# usage: another_user.sh SCRATCH ROOT PYTHON_PREFIX STEPS
set -eu
scratch=$1 root=$2 prefix=$3 steps=$4
cp -a /etc "$scratch/etc" && mount --bind "$scratch/etc" /etc
# The interpreter and the checkout may lie in a home that is closed to others.
mkdir "$scratch/prefix" "$scratch/root" && mount --bind "$prefix" "$scratch/prefix"
mount --bind "$root" "$scratch/root"
case $prefix in /root/*|/home/*|/srv/*|/opt/*) covered=1 ;; *) covered= ;; esac
for folder in /home /srv /opt /root; do mount -t tmpfs -o mode=755 none "$folder"; done
mkdir -p /run && mount -t tmpfs -o mode=755 none /run
mkdir -p /opt/sayso && mount --bind "$scratch/root" /opt/sayso
if [ -n "$covered" ]; then mkdir -p "$prefix" && mount --bind "$scratch/prefix" "$prefix"; fi
case $root in /root/*|/home/*|/srv/*|/opt/*) mkdir -p "$root" && mount --bind "$scratch/root" "$root" ;; esac
useradd --create-home ann

sudo() { # as the page's reader would: `sudo [-u USER] [NAME=VALUE…] COMMAND`
    user=root
    if [ "$1" = -u ]; then user=$2 && shift 2; fi
    setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \
        env -i PATH="$PATH" HOME="$(getent passwd "$user" | cut -d: -f6)" "$@"
}
as_ann() { sudo -u ann "$@"; }
. "$steps"
