/** What Linux says of processes; not a number where there is no /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second. */
const TICK_MICROS = 10_000;

/** Of this process, of its children, and of those that have ended. */
export function readCpuMicros(pid: number): number {
  try {
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const ticks = processes.map((name) => readTicks(name, pid)).reduce((sum, count) => sum + count, 0);
    return ticks * TICK_MICROS;
  } catch {
    return Number.NaN;
  }
}

function readTicks(process: string, parent: number): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${process}/stat`, 'utf8');
  } catch {
    // It has just ended, and its parent counts for it.
    return 0;
  }
  // Behind the name, which may have spaces: state, parent, and from the twelfth on user, system, and those of dead children.
  const [, ppid, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (Number(ppid) !== parent && Number(process) !== parent) return 0;
  const own = Number(rest[9]) + Number(rest[10]);
  return Number(process) === parent ? own + Number(rest[11]) + Number(rest[12]) : own;
}

/** Of this process alone. */
export function readResidentBytes(pid: number): number {
  try {
    const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kb) * 1024;
  } catch {
    return Number.NaN;
  }
}
