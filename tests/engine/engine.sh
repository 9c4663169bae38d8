#!/usr/bin/env bash
# A container engine and a PostgreSQL image for the tests, on a Debian machine that can pull no
# image. The image is made on the spot from the files of Debian's postgresql package and
# entrypoint.sh. It stands in for the official image, which the tests use wherever one can be
# pulled (docs/testing.md): the server is the same, the packaging is not.
#
#   engine.sh up     start the engine, make the image (both only where missing)
#   engine.sh env    print the variables that lead testcontainers there: eval "$(engine.sh env)"
#   engine.sh down   stop what `up` started, by its process id, and remove its files
#
# Needs root and apt-get. ENGINE_STATE: folder of its files; PG_MAJOR: Debian's PostgreSQL.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${ENGINE_STATE:-${TMPDIR:-/tmp}/kb-search-engine}
major=${PG_MAJOR:-15}
image=localhost/kb-search-postgres:$major
socket=$state/engine.sock
export DEBIAN_FRONTEND=noninteractive

engine() { docker -H "unix://$socket" "$@"; }

# Whether the process of a pid file is one of ours: a stale file may name anybody's.
ours() {
  [ -s "$1" ] && grep -qsF "$state/" "/proc/$(cat "$1")/cmdline"
}

stop() {
  ours "$1" || return 0
  local pid
  pid=$(cat "$1")
  kill "$pid"
  for _ in $(seq 300); do
    ours "$1" || return 0
    sleep 0.1
  done
  echo "the container engine (process $pid) did not stop within 30 s" >&2
  return 1
}

install_packages() {
  local missing=() package
  for package in docker.io iptables "postgresql-$major"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  # Only the files are wanted: no cluster of Debian's own, no service.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$state/apt.log" 2>&1 || { cat "$state/apt.log" >&2; exit 1; }
}

start_engine() {
  ours "$state/pid" && engine version >/dev/null 2>&1 && return
  rm -rf "$socket" "$state/pid" "$state/exec" # left behind by one that was killed
  # No firewall rules of its own; published ports on loopback only.
  setsid dockerd -H "unix://$socket" --data-root "$state/data" --exec-root "$state/exec" \
    --pidfile "$state/pid" --storage-driver overlay2 --iptables=false --ip6tables=false \
    --ip 127.0.0.1 --log-level warn >"$state/engine.log" 2>&1 </dev/null &
  for _ in $(seq 300); do
    engine version >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo "the container engine did not start within 30 s:" >&2
  tail -20 "$state/engine.log" >&2
  exit 1
}

# The root file system: the server, its libraries, and the few programs that the entrypoint and
# testcontainers call.
fill_root() {
  local root=$1 server=/usr/lib/postgresql/$major share=/usr/share/postgresql/$major
  local programs=() name library folder
  mkdir -p "$root"/{usr/{bin,lib,lib64,local/bin},etc,tmp,run,dev,proc,sys,root} \
    "$root/var/lib/postgresql" "$root/docker-entrypoint-initdb.d"
  ln -s usr/bin "$root/bin"
  ln -s usr/lib "$root/lib"
  ln -s usr/lib64 "$root/lib64"
  ln -s ../run "$root/var/run"
  chmod 1777 "$root/tmp"
  for name in cat chmod chown dash date echo env grep id ls mkdir mktemp rm setpriv sleep tail; do
    programs+=("$(readlink -f "/usr/bin/$name")")
  done
  cp -L "${programs[@]}" "$root/usr/bin/"
  ln -s dash "$root/usr/bin/sh"
  cp --parents -rL "$server/bin" "$share" /usr/lib/locale/C.utf8 /usr/share/zoneinfo "$root/" \
    2>/dev/null || true # a dangling link among the time zones
  mkdir -p "$root$server/lib"
  for library in "$server"/lib/*.so; do
    case $library in *llvmjit* | *plperl* | *plpython* | *pltcl*) continue ;; esac
    cp "$library" "$root$server/lib/"
  done
  for name in createdb initdb pg_ctl pg_dump pg_isready postgres psql; do
    ln -s "$server/bin/$name" "$root/usr/bin/$name"
  done
  { ldd "${programs[@]}" "$root$server"/bin/* "$root$server"/lib/*.so 2>/dev/null || true; } |
    grep -oE '(=> )?/[^ ]+\.so[^ ]* ' | sed 's/^=> //' | sort -u | while read -r library; do
    folder=$(readlink -f "$(dirname "$library")")
    mkdir -p "$root$folder"
    cp -Ln "$library" "$root$folder/$(basename "$library")"
  done
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' \
    'postgres:x:999:999::/var/lib/postgresql:/bin/sh' >"$root/etc/passwd"
  printf '%s\n' 'root:x:0:' 'postgres:x:999:' >"$root/etc/group"
  printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$root/etc/nsswitch.conf"
  install -m 755 "$here/entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"
}

make_image() {
  engine image inspect "$image" >/dev/null 2>&1 && return
  local root
  root=$(mktemp -d "$state/root.XXXXXX")
  chmod 755 "$root"
  fill_root "$root"
  tar -C "$root" -c . | engine import \
    --change 'ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]' --change 'CMD ["postgres"]' \
    --change 'EXPOSE 5432/tcp' --change 'ENV PGDATA=/var/lib/postgresql/data' \
    --change 'ENV LANG=C.UTF-8' - "$image" >/dev/null
  rm -rf "$root"
}

up() {
  mkdir -p "$state"
  install_packages
  start_engine
  make_image
}

print_env() {
  cat <<VARIABLES
export DOCKER_HOST=unix://$socket
export TESTCONTAINERS_RYUK_DISABLED=true
export TESTCONTAINERS_CONNECTION_MODE=docker_host
export KB_SEARCH_TEST_IMAGE=$image
VARIABLES
}

down() {
  if ours "$state/pid"; then
    engine ps -q | while read -r container; do engine rm -f "$container" >/dev/null; done
  fi
  stop "$state/pid"
  stop "$state/exec/containerd/containerd.pid"
  # What a killed engine left mounted, the innermost first.
  cut -d' ' -f2 /proc/mounts | { grep "^$state/" || true; } | sort -r | xargs -r umount
  rm -rf "$state"
}

case ${1:-} in
  up) up ;;
  env) print_env ;;
  down) down ;;
  *)
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
