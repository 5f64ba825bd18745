import type { Command } from 'commander';
import { CliError, type CliContext } from './context.ts';
import { examine } from '../doctor/examine.ts';
import { formatReport, toJson, toReport } from './doctor-report.ts';
import { addExamples } from './help.ts';
import { createPrinter } from './printer.ts';
import { addTargetOptions, askWithProgress, withEachTarget, type TargetOptions } from './target.ts';

/** Adds `doctor`, which finds what the backend can do and what to set for it. */
export function addDoctor(program: Command, context: CliContext): void {
  const doctor = program
    .command('doctor')
    .description('find out what the backend can do, with tiny requests, and suggest settings for it');
  doctor.option('--backend <name>', 'a backend from BACKENDS_FILE');
  addTargetOptions(doctor).action(async (options: TargetOptions, command: Command) => {
    const printer = createPrinter(context, command);
    const data: object[] = [];
    let isOne = true;
    try {
      await withEachTarget(context, options, async (target) => {
        const examination = await askWithProgress(context, target, examine);
        const report = toReport(target, examination);
        data.push(toJson(report));
        isOne = target.namedBy !== 'BACKENDS_FILE' || options.backend !== undefined;
        if (!printer.isJson) printer.show(undefined, (paint) => formatReport(report, paint));
        if (!examination.isFine)
          throw new CliError('The backend lacks what every client needs: chat, streams or a limit.');
      });
    } finally {
      // Those of a file are one document together.
      if (printer.isJson && data.length > 0) printer.show(isOne ? data[0] : { object: 'list', data }, () => []);
    }
  });
  doctor.addHelpText('after', '\nSends about 30 requests of a few tokens each. Never shows the key.');
  addExamples(doctor, [
    ['doctor', 'the configured backend, or each one in BACKENDS_FILE'],
    ['doctor --backend gpu-a', 'one backend from BACKENDS_FILE'],
    ['doctor --base-url http://127.0.0.1:8000/v1', 'a backend that is not configured yet'],
    ['doctor --model qwen3-32b --json', 'one of several models, as JSON'],
  ]);
}
