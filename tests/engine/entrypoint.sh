#!/bin/sh
# A stand-in for the entrypoint of the official postgres image: POSTGRES_USER, POSTGRES_PASSWORD,
# POSTGRES_DB, POSTGRES_INITDB_ARGS, *.sql of /docker-entrypoint-initdb.d, and the server's own
# arguments after the image's name.
set -eu

: "${POSTGRES_USER:=postgres}"
: "${POSTGRES_PASSWORD:=}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
: "${PGDATA:=/var/lib/postgresql/data}"
export PGDATA

as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }

mkdir -p "$PGDATA" /var/run/postgresql
chown postgres:postgres "$PGDATA" /var/run/postgresql
chmod 700 "$PGDATA"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(mktemp)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password"
  chown postgres "$password"
  # shellcheck disable=SC2086 # several arguments in one variable, as in the official image
  as_postgres initdb -U "$POSTGRES_USER" --pwfile="$password" -E UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS:-}
  rm -f "$password"
  printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  # A first server on the socket only, so that nobody connects before the set-up is done.
  as_postgres pg_ctl -w -o "-c listen_addresses=''" start
  [ "$POSTGRES_DB" = postgres ] || as_postgres createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  for script in /docker-entrypoint-initdb.d/*.sql; do
    [ -e "$script" ] || continue
    as_postgres psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$script"
  done
  as_postgres pg_ctl -m fast -w stop
fi

[ "${1:-postgres}" != postgres ] || [ $# -eq 0 ] || shift
exec setpriv --reuid=postgres --regid=postgres --init-groups -- \
  postgres -c listen_addresses='*' "$@"
