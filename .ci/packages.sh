# Run by run: installs what the tests take from the packages of the machine. What cannot be installed is named; the tests of the
# balancers and of src/deploy leave it out then and say so.
set -u

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
missing=()
for program in nginx haproxy caddy prometheus prometheus-alertmanager docker-compose; do
  command -v "$program" >/dev/null || missing+=("$program")
done
[ -x "$CHROMIUM" ] || missing+=(chromium)
[ -n "${TEST_POSTGRES_URL:-}" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -gt 0 ] || exit 0

echo "packages: installing ${missing[*]}"
# An update that fails for one source alone is no reason to give up.
"${as_root[@]}" apt-get update >/dev/null 2>&1 || true
for program in "${missing[@]}"; do
  # At run level 1 no service is started.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$program" \
    >/dev/null 2>&1 || echo "packages: $program could not be installed"
done
