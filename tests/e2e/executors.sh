# Follow docs/how-to/executors.md in namespaces of our own, whose /etc, /home, /run, /srv, /opt,
# /usr/local/libexec and /var/lib/sudo are copies or empty: users, rules and files that are made here
# are nobody else's.
# usage: executors.sh SCRATCH ROOT PYTHON_PREFIX STEPS
set -eu
scratch=$1 root=$2 prefix=$3 steps=$4
cp -a /etc "$scratch/etc" && mount --bind "$scratch/etc" /etc
mkdir -p /usr/local/libexec && mount -t tmpfs -o mode=755 none /usr/local/libexec
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
# `ann` may use sudo for everything while she sets up, as an administrator does; the attacks below
# run without that.
echo 'ann ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ann && chmod 440 /etc/sudoers.d/ann

as() { # as USER COMMAND…: with that user's own environment and groups
    user=$1 && shift
    setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \
        env -i PATH="/opt/sayso/.venv/bin:$PATH" HOME="/home/$user" USER="$user" "$@"
}
. "$steps"
