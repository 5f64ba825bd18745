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
    .description('ask the backend with tiny requests what it can do, and say what to set for it');
  doctor.option('--backend <name>', 'one of BACKENDS_FILE');
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
  doctor.addHelpText('after', '\nIt makes about 30 requests, of a few tokens each, and never shows the key.');
  addExamples(doctor, [
    ['doctor', 'the backend of the settings, or each of BACKENDS_FILE'],
    ['doctor --backend gpu-a', 'one of BACKENDS_FILE'],
    ['doctor --base-url http://127.0.0.1:8000/v1', 'one that is not set yet'],
    ['doctor --model qwen3-32b --json', 'one model of several, for a program'],
  ]);
}
