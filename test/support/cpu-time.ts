import { existsSync, readFileSync } from 'node:fs';

/** The CPU time of this process in milliseconds: a busy machine does not count, as it would on a clock. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** That of another process of this machine, such as one of a database; undefined where Linux does not tell it. */
export function cpuTimeOfMs(pid: number): number | undefined {
  const file = `/proc/${pid}/schedstat`;
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ', 1)[0]) / 1e6 : undefined;
}
