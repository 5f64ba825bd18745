import { readFileSync } from 'node:fs';
import Mocha from 'mocha';

/** mocha's dots and its summary, what the run took, and then one line for other programs to read, such as `12 passed, 0 failed`. */
// mocha takes a reporter from the default export only.
// oxlint-disable-next-line import/no-default-export
export default class TotalsReporter extends Mocha.reporters.Dot {
  override epilogue(): void {
    super.epilogue();
    const { passes, failures, duration = 0 } = this.stats;
    Mocha.reporters.Base.consoleLog(`${(duration / 1000).toFixed(0)} s${cpuTime()}`);
    Mocha.reporters.Base.consoleLog(`${passes} passed, ${failures} failed`);
  }
}

/** Of this process and of all that have ended in it, where the system tells. */
function cpuTime(): string {
  try {
    // What follows the name of the program in Linux, in hundredths of a second: own user and system time, and theirs.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ').slice(11, 15) ?? [];
    const seconds = fields.reduce((sum, field) => sum + Number(field), 0) / 100;
    return `, ${seconds.toFixed(0)} s of CPU time`;
  } catch {
    return '';
  }
}
