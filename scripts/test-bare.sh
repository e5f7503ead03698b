#!/usr/bin/env bash
# README's Python lines on a bare Debian 12: debootstrap makes a system with nothing but the package manager, the tracked
# files are unpacked in it, and the lines run as they stand, from the packages to an F1. Says the seconds of each step,
# wall-clock and processor, and what `auditwheel show` says of the wheel that was built.
#
# Needs root, debootstrap and 3 GB; installs debootstrap where it is missing. pip's own settings (PIP_*) hold inside, too.
# Usage: test-bare.sh [FOLDER]; the system is made in a new folder under FOLDER (default /tmp) and removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] || { echo "test-bare.sh needs root: it makes a system of its own and enters it" >&2; exit 1; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
root=$(mktemp -d "${1:-/tmp}/l2gcn-bare-XXXXXX")
chmod 755 "$root"
cleanup() {
  for place in dev proc; do mountpoint -q "$root/$place" && umount "$root/$place"; done
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT

debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail -n 20 "$root.log"; exit 1; }
rm -f "$root.log"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root/root/l2gcn"
git ls-files -z | tar --null -T - -c | tar -x -C "$root/root/l2gcn"
inside=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PIP_NO_CACHE_DIR=1)
while IFS='=' read -r name value; do
  case $name in
    PIP_CERT) cp -L "$value" "$root/root/pip-cert.pem" && inside+=(PIP_CERT=/root/pip-cert.pem) ;;
    PIP_FIND_LINKS) ;;  # a folder of this machine
    *) inside+=("$name=$value") ;;
  esac
done < <(env | grep '^PIP_' || true)

# What README says: the indented commands and the Python lines of its section "In Python".
section=$(sed -n '/^## In Python$/,/^It needs NumPy/p' README.md)
commands=$(sed -n 's/^    //p' <<<"$(sed '/^```/,/^```/d' <<<"$section")")
sed -n '/^```python$/,/^```$/p' <<<"$section" | sed '/^```/d' >"$root/root/l2gcn/lines.py"
{
  echo 'set -euo pipefail; cd /root/l2gcn; TIMEFORMAT="  %R s, processor %U s"'
  while IFS= read -r line; do printf 'echo %q\ntime { %s; }\n' "$line" "$line"; done <<<"$commands"
  printf 'echo "the Python lines"\ntime python lines.py\n'
  echo 'pip list 2>/dev/null | tail -n +3'
  echo 'pip install -q auditwheel; pip wheel -q --no-deps -w wheel . && auditwheel show wheel/*.whl'
} >"$root/root/steps.sh"
env -i "${inside[@]}" chroot "$root" /bin/bash /root/steps.sh
