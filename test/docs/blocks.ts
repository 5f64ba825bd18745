/** How each block of code in README and the guides is run. A block that no rule fits fails `blocks.test.ts`. */

import { BLOCKS, type Block } from './documents.ts';

/** What happens to a block: which test runs it, or why none does. */
export type How =
  /** One command after the other in a shell, beside a gateway: `commands.system.ts`. */
  | 'shell'
  /** As a program in front of the demo backend: `programs.system.ts`. */
  | 'program'
  /** As a test of mocha's: `programs.system.ts`. */
  | 'mocha'
  /** By the client in front of a strict backend: `test/clients/docs.test.ts`. */
  | 'client'
  /** With the types that are generated from the description of the API: `test/clients/openapi.test.ts`. */
  | 'generated'
  /** As the configuration of Codex: `test/clients/codex.test.ts`. */
  | 'codex'
  /** By the alerts of a webhook: `test/alerts/receiver.system.ts`. */
  | 'receiver'
  /** As JSON, in which `…` stands for what is left out: `blocks.test.ts`. */
  | 'parsed'
  /** As YAML, or as a unit of systemd: `blocks.test.ts`. */
  | 'yaml'
  | 'unit'
  /** One command after the other, with a PostgreSQL: `databases.system.ts`. */
  | 'postgres'
  /** With the SDK of OpenTelemetry, in front of a collector: `test/clients/traces.test.ts`. */
  | 'traces'
  /** By a load balancer in front of two gateways, and of a client that leaves: `balancers.system.ts`, `proxies.system.ts`. */
  | 'balancer'
  /** By a proxy through which a stream must arrive live: `test/lab/cluster/proxies.system.ts`. */
  | 'proxy'
  /** What a command prints, which is compared where it follows the command: `commands.system.ts`. */
  | 'output'
  /** For another program, or for a machine that no test has. */
  | 'not run';

interface Rule {
  readonly language: string;
  /** What the code has. */
  readonly has?: RegExp;
  readonly how: How;
}

/** The first one that fits holds. */
const RULES: readonly Rule[] = [
  { language: 'sh', how: 'shell' },
  { language: 'js', has: /webhook-signature/, how: 'receiver' },
  { language: 'js', how: 'program' },
  { language: 'python', how: 'program' },
  { language: 'ts', has: /^import .*\bcreateGateway\b/m, how: 'mocha' },
  { language: 'ts', has: /'openapi-fetch'/, how: 'generated' },
  { language: 'text', has: /^npx openapi-typescript /m, how: 'generated' },
  { language: 'ts', how: 'client' },
  { language: 'toml', has: /^\[model_providers\.gateway\]$/m, how: 'codex' },
  { language: 'json', how: 'parsed' },
  { language: 'yaml', how: 'yaml' },
  { language: 'ini', how: 'unit' },
  { language: 'nginx', has: /proxy_pass http:\/\/10\.0\.0\.21:8000;/, how: 'proxy' },
  { language: 'caddyfile', has: /^encode /m, how: 'proxy' },
  ...['nginx', 'haproxy', 'caddyfile'].map((language) => ({ language, how: 'balancer' }) as const),
  // names.test.ts looks at the metrics in queries, and at the settings in every configuration.
  { language: 'promql', how: 'not run' },
  { language: 'text', has: /^ALERT_WEBHOOK_URL=/m, how: 'not run' },

  // A text is an output, but for these.
  // The address is the reader's.
  { language: 'text', has: /^git clone /m, how: 'not run' },
  { language: 'text', has: /^docker (?:build|run|exec|compose) /m, how: 'not run' },
  { language: 'text', has: /^pg_dump /m, how: 'postgres' },
  { language: 'text', has: /^\.\/gateway db migrate --to postgres:/m, how: 'postgres' },
  // test/clients/run.test.ts runs it.
  { language: 'text', has: /^\S+\/gateway run /m, how: 'not run' },
  // test/package/installed.ts runs it.
  { language: 'text', has: /^npx --no-install responses-gateway /m, how: 'not run' },
  // Asks a gateway that runs with several backends. `test/cli/backends.test.ts` has its table.
  { language: 'text', has: /^\$ \.\/gateway backends$/m, how: 'not run' },
  { language: 'text', has: /^import .*'@opentelemetry\/sdk-node'/m, how: 'traces' },
  { language: 'text', has: /^npx node --import \.\/tracing\.mjs /m, how: 'traces' },
  // What CI runs, or what would run this test again. names.test.ts looks for the scripts.
  { language: 'text', has: /^npm (?:ci|test|run [\w:]+)\b/m, how: 'not run' },
  { language: 'text', how: 'output' },
];

/** Undefined where no rule fits. */
export function howIsRun({ language, code }: Block): How | undefined {
  return RULES.find((rule) => rule.language === language && (rule.has?.test(code) ?? true))?.how;
}

/** All blocks that are run in this way, those of README first. */
export function blocksRunAs(how: How): readonly Block[] {
  return BLOCKS.filter((block) => howIsRun(block) === how);
}
