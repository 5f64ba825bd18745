# Sourced by run. Kernels differ by a thousand times in how much they take for a client that does not read. A network namespace can
# have sizes of its own, and needs no other machine: the whole suite passes with the largest and with the smallest.
with_buffers() {
  within 15m unshare --net bash -c '
    ip link set lo up && cd /proc/sys/net/ipv4 && echo "$1" >tcp_wmem && echo "$2" >tcp_rmem && cd "$3" && npm test' _ "$@" "$PWD"
}
if command -v ip >/dev/null && unshare --net true 2>/dev/null; then
  with_buffers '4096 16384 33554432' '4096 8388608 33554432'
  with_buffers '4096 4096 4096' '4096 4096 4096'
else
  echo "kernels: this machine allows no network namespace, so no other sizes of its buffers are tried"
fi
