#!/bin/sh
# systemd.sh SHARE: systemd as the first process of its own namespaces, over a copy of this
# machine's files that is thrown away. Only SHARE is written through to the machine.
#
# Nothing that this machine would do at its boot is done: what its targets want is hidden, so that
# no unit cleans a folder, sets a kernel setting, or mounts something.
set -e
share=$1
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/sayso-systemd-$$
mkdir "$group"
echo $$ > "$group/cgroup.procs"
echo "$group" > "$share/cgroup"
exec unshare --mount --pid --fork --cgroup --uts --ipc --kill-child --propagation private sh -ec '
  mount -t tmpfs tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root
  r=/mnt/root
  mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay $r
  mount -t proc proc $r/proc
  mount -t sysfs -o ro sysfs $r/sys
  mount -t tmpfs tmpfs $r/sys/fs/cgroup
  mount -t cgroup2 cgroup2 $r/sys/fs/cgroup
  mount --rbind /dev $r/dev
  for place in run var/log etc/systemd/system; do mount -t tmpfs -o mode=755 tmpfs $r/$place; done
  mount -t tmpfs -o mode=1777 tmpfs $r/tmp
  for wants in $r/lib/systemd/system/*.wants; do mount -t tmpfs tmpfs $wants; done
  : > $r/etc/fstab
  mkdir -p "$r$1"
  mount --bind "$1" "$r$1"
  printf "[Unit]\nDefaultDependencies=no\n" > $r/etc/systemd/system/sayso-test.target
  mkdir $r/run/old
  cd $r
  pivot_root . run/old
  umount --lazy /run/old
  export container=sayso-test
  exec /lib/systemd/systemd --system --unit=sayso-test.target --log-target=console \
    --show-status=no
' sh "$share"
