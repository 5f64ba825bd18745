/** The processes of a bench and how they talk: a question by name, an answer under the same name. */
import { spawn, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { availableParallelism } from 'node:os';

/** What is measured has a core to itself; whoever asks it and whom it asks share the other one. */
type Core = keyof typeof CORES;

export interface Child {
  /** Resolves with the answer, and rejects when the process ends before it. */
  ask<Answer>(question: string): Promise<Answer>;
  /** Resolves with what the process says next about this, and rejects when it ends before that. */
  hear<Value>(about: string): Promise<Value>;
  kill(): void;
}

interface Message {
  readonly about: string;
  readonly value?: unknown;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const CORES = { target: '0', load: '1' } as const;
/** Whether every process can have its core. Without that the figures are of a machine that does everything at once. */
export const isPinned =
  availableParallelism() > 1 && Object.values(CORES).every((core) => run('taskset', ['-c', core, 'true']));

/** Keeps this process, with all its threads, on one core where the machine can do that. */
export function stayOn(core: Core): void {
  if (isPinned) run('taskset', ['-a', '-c', '-p', CORES[core], String(process.pid)]);
}

/**
 * What waits minutes for its turn must not be asked cold: V8 throws away what it has compiled for a process that is idle, and a
 * gateway then takes five times the CPU in the first second.
 */
const STAY_WARM = ['--no-memory-reducer-favors-memory', '--retain-maps-for-n-gc=1000000', '--no-flush-bytecode'];

/** Starts a script, of this folder unless its path says otherwise, on a core of its own. `http-proxy` uses what Node deprecates: that is not our news. */
export function startChild(script: string, parameters: readonly string[], core: Core = 'target'): Child {
  const command = [
    ...(isPinned ? ['taskset', '-c', CORES[core]] : []),
    process.execPath,
    '--expose-gc',
    '--no-deprecation',
    ...STAY_WARM,
    resolve(import.meta.dirname, script),
    ...parameters,
  ];
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map<string, Waiting[]>();
  let ended: Error | undefined;

  child.on('message', ({ about, value }: Message) => waiting.get(about)?.shift()?.resolve(value));
  child.once('exit', (code, signal) => {
    ended = new Error(`${script} ${parameters[0] ?? ''} ended: ${code ?? signal}`);
    for (const { reject } of [...waiting.values()].flat()) reject(ended);
  });
  const hear = <Value>(about: string) =>
    new Promise<Value>((fulfil, reject) => {
      if (ended !== undefined) return reject(ended);
      const waiter = { resolve: (value: unknown) => fulfil(value as Value), reject };
      const others = waiting.get(about);
      if (others === undefined) waiting.set(about, [waiter]);
      else others.push(waiter);
    });
  return {
    ask(question) {
      const answer = hear(question);
      if (ended === undefined) child.send({ about: question });
      return answer as Promise<never>;
    },
    hear,
    kill: () => void child.kill('SIGKILL'),
  };
}

/** In a child: tells the bench something it may wait for. */
export function say(about: string, value: unknown): void {
  process.send?.({ about, value });
}

export type Questions = Readonly<Record<string, () => unknown>>;

/** In a child: answers these questions for as long as the bench lives. */
export function answer(questions: Questions): void {
  process.on('message', ({ about }: Message) => {
    void (async () => say(about, await questions[about]?.()))();
  });
  process.once('disconnect', () => process.exit(0));
}

function run(command: string, parameters: readonly string[]): boolean {
  return spawnSync(command, parameters, { stdio: 'ignore' }).status === 0;
}
