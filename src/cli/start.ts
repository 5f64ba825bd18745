import type { Command } from 'commander';
import { addExamples } from './help.ts';

/** `start`: what `npm start` does. */
export function addStart(program: Command): void {
  const start = program
    .command('start')
    .description('start the gateway; it ends at Ctrl-C or SIGTERM, after the requests that run')
    .action(async () => {
      // Imported only now: it loads the whole gateway, and most commands need none of it.
      const { serve } = await import('../process/serve.ts');
      await serve();
    });
  addExamples(start, [['start', 'with the settings of the environment and of .env']]);
}

/** What belongs to a backend; empty counts as not set. */
const NO_BACKEND = { UPSTREAM_BASE_URL: '', UPSTREAM_API_KEY: '', UPSTREAM_DIALECT: '' };

/** `demo`: a start with the embedded demo backend, whatever the settings say of another one. */
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
