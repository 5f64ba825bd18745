# Sourced by run: installs the load balancers whose configurations the guide has, and the programs that read the files of
# src/deploy. What cannot be installed is not tested,
# and the test says so.

install_balancers() {
  local missing=() as_root=() program
  export PATH=$PATH:/usr/sbin
  for program in nginx haproxy caddy prometheus docker-compose; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
  echo "balancers: installing ${missing[*]}"
  "${as_root[@]}" apt-get update >/dev/null 2>&1 || true
  for program in "${missing[@]}"; do
    # At run level 1 no service is started.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$program" \
      >/dev/null 2>&1 || echo "balancers: $program could not be installed"
  done
}

install_balancers
