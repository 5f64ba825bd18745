import { readFileSync } from 'node:fs';

/**
 * Returns how many bytes this kernel may hold at most of what goes from one socket to another by TCP. What it does hold depends on how
 * fast the reader was, and on what others hold.
 */
export function kernelMayTake(): number {
  try {
    const limits = ['tcp_rmem', 'tcp_wmem'].map(
      (name) => readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').split('\t')[2],
    );
    return limits.reduce((sum, limit) => sum + Number(limit), 0);
  } catch {
    return 64 * 1024 * 1024;
  }
}
