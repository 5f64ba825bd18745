# Run by run: installs what the tests take from the packages of the machine. What cannot be installed is named; the tests of the
# balancers and of src/deploy leave it out then and say so.
set -u

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
missing=()
for program in nginx haproxy caddy prometheus prometheus-alertmanager docker-compose faketime; do
  command -v "$program" >/dev/null || missing+=("$program")
done
[ -x "$CHROMIUM" ] || missing+=(chromium)
[ -n "${TEST_POSTGRES_URL:-}" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)

# From 1.21 on PgBouncer keeps prepared statements in transaction mode.
has_pgbouncer() {
  command -v pgbouncer >/dev/null && printf '1.21\n%s\n' "$(pgbouncer --version | sed -n 's/^PgBouncer //p')" | sort -VC
}

# That of Debian 12 is older. The one of Debian 13 runs with the libraries that it comes with, whatever this machine has.
install_pgbouncer() {
  local folder options libraries=(libaudit1 libc6 libcap-ng0 libcap2 libcares2 libevent-2.1-7t64 libpam0g libssl3t64 libsystemd0)
  folder=$(mktemp -d)
  mkdir "$folder"/{lists,cache,sources}
  sed s/bookworm/trixie/g /etc/apt/sources.list.d/debian.sources >"$folder/sources/debian.sources"
  options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$folder/sources" -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
  "${as_root[@]}" apt-get "${options[@]}" update || return
  (cd "$folder" && "${as_root[@]}" apt-get "${options[@]}" download pgbouncer "${libraries[@]}") || return
  for package in "$folder"/*.deb; do "${as_root[@]}" dpkg -x "$package" /opt/pgbouncer || return; done
  "${as_root[@]}" tee /usr/local/bin/pgbouncer >/dev/null <<'END'
#!/bin/sh
libraries=$(echo /opt/pgbouncer/usr/lib/*-linux-gnu)
exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" /opt/pgbouncer/usr/sbin/pgbouncer "$@"
END
  "${as_root[@]}" chmod 755 /usr/local/bin/pgbouncer
}

has_pgbouncer || missing+=(pgbouncer)
[ ${#missing[@]} -gt 0 ] || exit 0

echo "packages: installing ${missing[*]}"
# An update that fails for one source alone is no reason to give up.
"${as_root[@]}" apt-get update >/dev/null 2>&1 || true
for program in "${missing[@]}"; do
  # At run level 1 no service is started.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$program" \
    >/dev/null 2>&1 || echo "packages: $program could not be installed"
done
has_pgbouncer || install_pgbouncer >/dev/null 2>&1 || echo 'packages: PgBouncer 1.21 could not be installed'
