import type { Command } from 'commander';
import { CliError } from './context.ts';
import { examine } from '../doctor/examine.ts';
import { formatReport, toJson, toReport } from './doctor-report.ts';
import { addCommand } from './command.ts';
import type { Cli } from './printer.ts';
import { addTargetOptions, askWithProgress, withEachTarget, type TargetOptions } from './target.ts';

export function addDoctor(program: Command, cli: Cli): void {
  const doctor = addCommand(program, 'doctor', {
    what: 'find out what the backend can do, with tiny requests, and suggest settings for it',
    note: 'Sends about 30 requests of a few tokens each. Never shows the key.',
    examples: [
      ['doctor', 'the configured backend, or each one in BACKENDS_FILE'],
      ['doctor --backend gpu-a', 'one backend from BACKENDS_FILE'],
      ['doctor --base-url http://127.0.0.1:8000/v1', 'a backend that is not configured yet'],
      ['doctor --model qwen3-32b --json', 'one of several models, as JSON'],
    ],
  });
  doctor.option('--backend <name>', 'a backend from BACKENDS_FILE');
  addTargetOptions(doctor).action(async (options: TargetOptions) => {
    const data: object[] = [];
    let isOne = true;
    try {
      await withEachTarget(cli, options, async (target) => {
        const examination = await askWithProgress(cli, target, examine);
        const report = toReport(target, examination);
        data.push(toJson(report));
        isOne = target.namedBy !== 'BACKENDS_FILE' || options.backend !== undefined;
        if (!cli.printer.isJson) cli.printer.show(undefined, (paint) => formatReport(report, paint));
        if (!examination.isFine)
          throw new CliError('The backend lacks what every client needs: chat, streams or a limit.');
      });
    } finally {
      // Those of a file are one document together.
      if (cli.printer.isJson && data.length > 0) cli.printer.show(isOne ? data[0] : { object: 'list', data }, () => []);
    }
  });
}
