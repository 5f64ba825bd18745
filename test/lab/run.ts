/** `npm run lab NAME -- …`: what is run by hand, for hours if you like. Without a name it lists them. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

interface Program {
  readonly what: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
}

const HOUR_OF_MOCHA = ['mocha', '--timeout', '3600000'] as const;

const PROGRAMS: Readonly<Record<string, Program>> = {
  adversary: {
    what: 'what attackers do to others, for a minute each',
    command: ['mocha', '--timeout', '300000', ...testsNamedIn('test/lab/adversary/README.md')],
    env: { ADVERSARY_SECONDS: '60' },
  },
  backends: {
    what: '100 faults of three backends under load, with each failover',
    command: [...HOUR_OF_MOCHA, 'test/gateway/backends-chaos.system.ts'],
    env: { BACKEND_FAULTS: '100' },
  },
  bench: {
    what: 'the gateway beside the backend asked directly, a proxy and the translation alone',
    command: ['node', 'test/lab/bench/bench.ts'],
  },
  choice: {
    what: 'a million requests through the choice of backends, in virtual time',
    command: ['node', 'test/backend/choice/tables.ts'],
  },
  cluster: {
    what: 'three gateways on one PostgreSQL, with every fault of the network',
    command: ['node', 'test/lab/cluster/loop.ts'],
  },
  cost: {
    what: 'what each attack costs the gateway in CPU and memory, beside another checkout',
    command: ['node', 'test/lab/adversary/cost.ts'],
  },
  drift: {
    what: 'what the newest openai, Codex and AI SDK have that no table here has',
    command: ['node', 'test/lab/drift/newest.ts'],
  },
  figures: {
    what: 'how long each page of the operator takes in a database of millions of records',
    command: ['node', 'test/console/figures.ts'],
  },
  heavy: {
    what: 'Copilot CLI, Cline and Kilo, 900 MB once, in front of a strict backend',
    command: ['node', 'test/lab/heavy/heavy.ts'],
  },
  histories: {
    what: '100,000 conversations of any items in any order',
    command: [...HOUR_OF_MOCHA, 'test/gateway/histories.system.ts'],
    env: { HISTORIES: '100000' },
  },
  kill: { what: 'kill -9 in the middle of requests', command: ['node', 'test/lab/kill/loop.ts'] },
  money: {
    what: 'a million random requests of fifty keys, with media and a backend that lies',
    command: [...HOUR_OF_MOCHA, 'test/requests/money.property.system.ts'],
    env: { FAST_CHECK_TIMES: '10' },
  },
  mutate: {
    what: 'faults planted at random in src, and the test that finds each',
    command: ['node', 'test/lab/mutate/mutate.ts'],
  },
  package: { what: 'what npm pack makes, installed elsewhere', command: ['mocha', 'test/package/installed.ts'] },
  picture: { what: 'draws the picture of README', command: ['node', 'test/support/generate-picture.ts'] },
  profile: { what: 'where the CPU of the bench goes', command: ['node', 'test/lab/bench/profile.ts'] },
  prefix: {
    what: 'what it costs to know how each turn of an agent goes on from the one before',
    command: ['node', 'test/lab/bench/prefix.ts'],
  },
  records: {
    what: 'what a record costs on each engine, beside another checkout',
    command: ['node', 'test/lab/bench/records.ts'],
  },
  simulate: {
    what: '10,000 histories of requests in any order of events',
    command: ['node', 'test/lab/simulate/loop.ts'],
  },
  size: { what: 'lines, names and words of the repository, beside other commits', command: ['node', 'test/size.ts'] },
  soak: {
    what: 'half an hour of mixed traffic, and what clients were told beside the records',
    command: ['node', 'test/lab/soak/loop.ts'],
  },
  story: { what: 'which files a request runs through', command: ['node', 'test/story.ts'] },
  strange: {
    what: '100,000 recorded answers and requests as odd backends and clients send them',
    command: ['node', 'test/lab/strange/loop.ts'],
  },
  turns: {
    what: 'every real client in front of backends as strict as the real ones',
    command: [
      'sh',
      '-c',
      'node test/clients/install.ts && tsc -p test/clients && exec mocha --no-config --reporter ./test/support/reporter.ts ' +
        '--timeout 900000 --exit test/clients/turns/turns.test.ts "$@"',
      'turns',
    ],
  },
};

/** Returns the files of the tests that a guide names, such as `core/json-size`. */
function testsNamedIn(guide: string): readonly string[] {
  const names = new Set(
    [...readFileSync(guide, 'utf8').matchAll(/`([\w-]+(?:\/[\w-]+)+)`/g)].map(([, name = '']) => name),
  );
  return [...names].map((name) => {
    const file = [`test/${name}.test.ts`, `test/${name}.system.ts`].find((file) => existsSync(file));
    if (file === undefined) throw new Error(`${guide} names ${name}, which is no test`);
    return file;
  });
}

const [name = '', ...args] = process.argv.slice(2);
const chosen = PROGRAMS[name];
if (chosen === undefined) {
  const list = Object.entries(PROGRAMS).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`);
  console.log(`npm run lab NAME\n\n${list.join('\n')}`);
  process.exitCode = name === '' ? 0 : 1;
} else {
  const [program, ...own] = chosen.command;
  // A setting of who calls it holds in the place of its own.
  const env = { ...chosen.env, ...process.env };
  process.exitCode = spawnSync(program, [...own, ...args], { stdio: 'inherit', env }).status ?? 1;
}
