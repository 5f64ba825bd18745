import type { Command } from 'commander';
import { addCommand } from './command.ts';
import type { CliContext } from './context.ts';

export function addStart(program: Command): void {
  addCommand(program, 'start', {
    what: 'start the gateway (the default command); stops on Ctrl-C or SIGTERM once running requests have finished',
    examples: [['start', 'with settings from the environment and .env']],
  }).action(async () => {
    const { serve } = await import('../process/serve.ts');
    await serve();
  });
}

/** An environment of production refuses only a demo backend that nobody has asked for. */
const ONLY_DEMO = {
  BACKENDS_FILE: '',
  UPSTREAM_BASE_URL: '',
  UPSTREAM_API_KEY: '',
  UPSTREAM_API_KEY_FILE: '',
  UPSTREAM_DIALECT: '',
  NODE_ENV: '',
};

export function addDemo(program: Command, { env, stderr }: CliContext): void {
  addCommand(program, 'demo', {
    what: 'start the gateway with its embedded demo backend, ignoring UPSTREAM_BASE_URL and BACKENDS_FILE',
    examples: [['demo', 'no model, but every client works']],
  }).action(async () => {
    if (env['NODE_ENV'] === 'production') {
      stderr.write('Warning: NODE_ENV is production, and no model runs behind the demo backend.\n');
    }
    const { serve } = await import('../process/serve.ts');
    await serve(ONLY_DEMO);
  });
}
