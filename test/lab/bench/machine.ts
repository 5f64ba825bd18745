import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { isPinned } from './processes.ts';
import { percentile } from './statistics.ts';

/** On what a run was made: a record is durable when the disk says so, which takes as long as this disk takes. */
export interface Machine {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly isPinned: boolean;
  readonly fsyncP50Ms: number;
  readonly fsyncP99Ms: number;
}

const SYNCS = 300;
/** One page of a database. */
const PAGE = Buffer.alloc(4096, 1);

/** `folder` is where the databases are. */
export function describeMachine(folder: string): Machine {
  const ms = measureSyncs(folder);
  const [cpu] = cpus();
  return {
    node: process.version,
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    isPinned,
    fsyncP50Ms: percentile(ms, 50),
    fsyncP99Ms: percentile(ms, 99),
  };
}

/** How long each of some syncs of a page took, in milliseconds. */
export function measureSyncs(folder: string): number[] {
  const file = openSync(join(folder, 'fsync'), 'w');
  const ms = Array.from({ length: SYNCS }, () => {
    const startMs = performance.now();
    writeSync(file, PAGE);
    fdatasyncSync(file);
    return performance.now() - startMs;
  });
  closeSync(file);
  return ms;
}
