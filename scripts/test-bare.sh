#!/usr/bin/env bash
# README's commands on a bare Debian: debootstrap makes a system with nothing but the package manager, the tracked files
# are unpacked in it, and the console blocks of README's sections "Install" and "Python" run there as they stand, then the
# Python block, and scripts/test.sh.
# Prints the seconds of each, wall-clock and processor, and what `auditwheel show` says of the wheel.
#
#   scripts/test-bare.sh [--release bookworm|trixie] [--quick] [FOLDER]
#
# Without --release both are tested, Debian 12 (bookworm) and Debian 13 (trixie). --quick leaves out scripts/test.sh. Each
# system is made in a new folder under FOLDER (default /tmp) and removed at the end.
#
# Needs root and 14 GB (--quick: 4 GB); installs debootstrap where it is missing. Settings of pip (PIP_*) and proxies
# (*_proxy) hold inside, too. L2GCN_BARE_CCACHE names a folder that serves as the compiler cache inside.
set -euo pipefail
cd "$(dirname "$0")/.."

releases=(bookworm trixie) quick=no folder=/tmp
while [ $# -gt 0 ]; do
  case $1 in
    --release) releases=("$2"); shift ;;
    --quick) quick=yes ;;
    -*) echo "test-bare.sh: unknown option '$1'" >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || { echo "test-bare.sh needs root: it makes a system of its own and enters it" >&2; exit 1; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }

root=
cleanup() {
  local place
  for place in proc sys dev/shm dev/pts root/.cache/ccache; do
    ! mountpoint -q "$root/$place" || umount --lazy "$root/$place"
  done
  rm -rf --one-file-system "$root"
}
trap '[ -z "$root" ] || cleanup' EXIT

# make_system RELEASE: a bare system in $root, with the file systems that every running one has.
make_system() {
  root=$(mktemp -d "$folder/l2gcn-bare-$1-XXXXXX")
  chmod 755 "$root"
  debootstrap --variant=minbase "$1" "$root" >"$root.log" 2>&1 || { tail -n 20 "$root.log"; exit 1; }
  rm -f "$root.log"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mount -t proc proc "$root/proc"
  mount --bind -o ro /sys "$root/sys"
  mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/root/.cache/ccache"
  mount -t tmpfs tmpfs "$root/dev/shm"
  # Terminals of its own: the host may keep its own to itself.
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
  ln -sf pts/ptmx "$root/dev/ptmx"
  # Debian's installer writes this file, debootstrap does not.
  echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
  [ -z "${L2GCN_BARE_CCACHE:-}" ] || mount --bind "$L2GCN_BARE_CCACHE" "$root/root/.cache/ccache"
}

# blocks LANGUAGE TEXT: the fenced blocks of that language.
blocks() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" <<<"$2" | sed '/^```/d'; }

# section NAME: a section of README.
section() { sed -n "/^## $1\$/,/^## /p" README.md; }

# write_steps: the script that runs inside, from README as it stands.
write_steps() {
  local line
  blocks python "$(section Python)" >"$root/root/l2gcn/lines.py"
  {
    echo 'set -euo pipefail; cd /root/l2gcn; TIMEFORMAT="  %R s, processor %U s"'
    while IFS= read -r line; do
      printf 'echo %q\ntime { %s; }\n' "\$ $line" "$line"
    done < <(blocks console "$(section Install)"; [ $quick = yes ] || echo 'bash scripts/test.sh'; blocks console "$(section Python)")
    printf 'echo "the Python lines"\ntime python lines.py\n'
    echo 'pip install -q auditwheel; pip wheel -q --no-deps -w wheel . && auditwheel show wheel/*.whl'
  } >"$root/root/steps.sh"
}

# settings: the environment inside.
settings=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PIP_NO_CACHE_DIR=1)
while IFS='=' read -r name value; do
  case $name in
    PIP_CERT) settings+=(PIP_CERT=/root/pip-cert.pem) ;;
    PIP_FIND_LINKS) ;;  # a folder of this machine
    *) settings+=("$name=$value") ;;
  esac
done < <(env | grep -iE '^(PIP_|[a-z]+_proxy=)' || true)

for release in "${releases[@]}"; do
  echo "== Debian $release"
  make_system "$release"
  mkdir -p "$root/root/l2gcn"
  git ls-files -z | tar --null -T - -c | tar -x -C "$root/root/l2gcn"
  [ -z "${PIP_CERT:-}" ] || cp -L "$PIP_CERT" "$root/root/pip-cert.pem"
  write_steps
  env -i "${settings[@]}" chroot "$root" /bin/bash /root/steps.sh
  cleanup
  root=
  echo "== Debian $release: README's commands work"
done
