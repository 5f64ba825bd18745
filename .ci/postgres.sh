# Sourced by run: sees to it that TEST_POSTGRES_URL names a real PostgreSQL on which databases may be made. That is the one
# it names already, else one that runs here and lets us in, else one that is started here; run stops it when it ends.

find_postgres_programs() {
  postgres_programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
  [ -n "$postgres_programs" ] && [ -x "$postgres_programs/initdb" ]
}

# PostgreSQL refuses to run as root; the package has made a user for it.
as_postgres() {
  if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

start_postgres() {
  local port
  postgres_folder=$(mktemp -d)
  chmod 755 "$postgres_folder"
  if [ "$(id -u)" -eq 0 ]; then chown postgres "$postgres_folder"; fi
  port=$(node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
  as_postgres "$postgres_programs/initdb" --pgdata "$postgres_folder/data" --username postgres --auth trust >"$postgres_folder.log" 2>&1 &&
    as_postgres "$postgres_programs/pg_ctl" --pgdata "$postgres_folder/data" --wait --log "$postgres_folder/server.log" \
      --options "-F -h 127.0.0.1 -p $port -k $postgres_folder" start >>"$postgres_folder.log" 2>&1 ||
    { tail -n 5 "$postgres_folder.log" >&2; return 1; }
  export TEST_POSTGRES_URL="postgres://postgres@127.0.0.1:$port/postgres"
}

stop_postgres() {
  as_postgres "$postgres_programs/pg_ctl" --pgdata "$postgres_folder/data" --mode immediate stop >/dev/null 2>&1 || true
  rm -rf "$postgres_folder" "$postgres_folder.log"
}

if [ -z "${TEST_POSTGRES_URL:-}" ]; then
  if found=$(node_modules/.bin/node test/support/find-postgres.ts); then
    export TEST_POSTGRES_URL=$found
  else
    find_postgres_programs || { echo 'postgres: there is none. Name a server with TEST_POSTGRES_URL=postgres://...' >&2; exit 1; }
    start_postgres
  fi
fi
echo "postgres: ${TEST_POSTGRES_URL##*@}"
