# Sourced by run. Kernels differ by a thousand times in how much they take for a client that does not read. A network namespace can
# have sizes of its own, and needs no other machine: the whole suite passes where both are large, and where either is small.
SMALL='4096 4096 4096'

# Takes the sizes of what is sent and of what is received: the least, the usual one, the most, in bytes.
tests_with_buffers() {
  within 10m unshare --net bash -c '
    ip link set lo up && cd /proc/sys/net/ipv4 && echo "$1" >tcp_wmem && echo "$2" >tcp_rmem && cd "$3" && npm test' _ "$@" "$PWD"
}

tests_with_all_buffers() {
  if command -v ip >/dev/null && unshare --net true 2>/dev/null; then
    tests_with_buffers "$SMALL" "$(cat /proc/sys/net/ipv4/tcp_rmem)"
    tests_with_buffers "$(cat /proc/sys/net/ipv4/tcp_wmem)" "$SMALL"
    tests_with_buffers '4096 16384 33554432' '4096 8388608 33554432'
  else
    echo 'kernels: this machine allows no network namespace, so no other sizes of its buffers are tried'
    within 10m npm test
  fi
}
