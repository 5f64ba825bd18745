import type { Command } from 'commander';
import { addExamples } from './help.ts';

/** Adds `start`, which does the same as `npm start`. */
export function addStart(program: Command): void {
  const start = program
    .command('start')
    .description('start the gateway; it ends at Ctrl-C or SIGTERM, after the requests that run')
    .action(async () => {
      // Most commands do not need the whole gateway.
      const { serve } = await import('../process/serve.ts');
      await serve();
    });
  addExamples(start, [['start', 'with the settings of the environment and of .env']]);
}

const NO_BACKEND = { UPSTREAM_BASE_URL: '', UPSTREAM_API_KEY: '', UPSTREAM_DIALECT: '' };

/** Adds `demo`, which starts the gateway with the embedded demo backend. */
export function addDemo(program: Command): void {
  const demo = program
    .command('demo')
    .description('start the gateway with its embedded demo backend, whatever UPSTREAM_BASE_URL says')
    .action(async () => {
      const { serve } = await import('../process/serve.ts');
      await serve(NO_BACKEND);
    });
  addExamples(demo, [['demo', 'no model runs behind it, but every client works']]);
}
