import { readFileSync } from 'node:fs';
import Mocha from 'mocha';

/** What `npm test` may take on two quiet cores, in seconds. */
const MARK = { wallS: 90, cpuS: 150 };

/** mocha's dots and its summary, what the run took, and then one line for other programs to read, such as `12 passed, 0 failed`. */
// mocha takes a reporter from the default export only.
// oxlint-disable-next-line import/no-default-export
export default class TotalsReporter extends Mocha.reporters.Dot {
  override epilogue(): void {
    super.epilogue();
    const { passes, failures, duration = 0 } = this.stats;
    Mocha.reporters.Base.consoleLog(describeCost(duration / 1000, cpuTimeS()));
    Mocha.reporters.Base.consoleLog(`${passes} passed, ${failures} failed`);
  }
}

function describeCost(wallS: number, cpuS: number | undefined): string {
  const cost = `${wallS.toFixed(0)} s${cpuS === undefined ? '' : `, ${cpuS.toFixed(0)} s of CPU time`}`;
  // Only the whole of the tests has a mark.
  if (process.env['npm_lifecycle_event'] !== 'test') return cost;
  const isOver = wallS > MARK.wallS || (cpuS ?? 0) > MARK.cpuS;
  return `${cost}: ${isOver ? 'over' : 'within'} the mark of ${MARK.wallS} s and ${MARK.cpuS} s on two quiet cores`;
}

/** Of this process and of all that have ended in it; undefined where the system does not tell. */
function cpuTimeS(): number | undefined {
  try {
    // What follows the name of the program in Linux, in hundredths of a second: own user and system time, and theirs.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ').slice(11, 15) ?? [];
    return fields.reduce((sum, field) => sum + Number(field), 0) / 100;
  } catch {
    return undefined;
  }
}
