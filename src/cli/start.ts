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
