import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { COMMAND_LINE } from '../config/banner.ts';
import { ConfigError } from '../config/config.ts';
import { ApiError } from '../core/errors.ts';
import { addBackends } from './backends.ts';
import { addConfig } from './config.ts';
import { UsageError, type CliContext } from './context.ts';
import { addCredits } from './credits.ts';
import { addDatabase } from './db.ts';
import { addDoctor } from './doctor.ts';
import { addGroups } from './groups.ts';
import { addInit } from './init.ts';
import { addKeys } from './keys.ts';
import { addPrices } from './prices.ts';
import { createPrinter } from './printer.ts';
import { addRequests } from './requests.ts';
import { addRun } from './run.ts';
import { addDemo, addStart } from './start.ts';
import { addUsage } from './usage.ts';

export const EXIT = { done: 0, failed: 1, wrongUsage: 2, wrongSettings: 78 } as const;

const AFTER_HELP = `
Settings come from the environment and from .env.

Exit status: 0 done, 1 failed, 2 wrong usage, 78 wrong settings.`;

/**
 * Runs a command line and returns the exit status; an empty one starts the gateway. Never throws.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let status: number = EXIT.done;
  try {
    const program = createProgram(context, (agentStatus) => {
      status = agentStatus;
    });
    await program.parseAsync(args.length === 0 ? ['start'] : args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUsage;
    if (error instanceof ConfigError) {
      for (const problem of error.problems) context.stderr.write(`${problem}\n`);
      return EXIT.wrongSettings;
    }
    context.stderr.write(`${describeFailure(error)}\n`);
    return error instanceof UsageError ? EXIT.wrongUsage : EXIT.failed;
  }
}

function createProgram(context: CliContext, onAgentEnd: (status: number) => void): Command {
  const program = new Command(COMMAND_LINE)
    .description(packageJson.description)
    .version(packageJson.version)
    .option('--json', 'print JSON instead of a table')
    .option('--no-color', 'print without colors (as NO_COLOR=1 does)')
    .configureHelp({ showGlobalOptions: true, subcommandTerm })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .showSuggestionAfterError()
    .addHelpText('after', AFTER_HELP);
  const cli = { ...context, printer: createPrinter(context, () => program.opts()) };
  addStart(program);
  addDemo(program, cli);
  addInit(program, cli);
  addDoctor(program, cli);
  addRun(program, cli, onAgentEnd);
  addKeys(program, cli);
  addGroups(program, cli);
  addCredits(program, cli);
  addRequests(program, cli);
  addUsage(program, cli);
  addPrices(program, cli);
  addBackends(program, cli);
  addDatabase(program, cli);
  addConfig(program, cli);
  return program;
}

/** As in the help of the command itself, which may name its arguments in another way than it declares them. */
function subcommandTerm(command: Command): string {
  return `${command.name()} ${command.usage().replace('[options]', '').trim()}`.trim();
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The command failed.';
  const { message, cause } = error;
  return error instanceof ApiError && cause instanceof Error ? `${message} (${cause.message})` : message;
}
