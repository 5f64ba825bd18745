import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { drawTerminal, readPicture, recordTerminal } from '../support/generate-picture.ts';

/** Linux has all of them. */
const PROGRAMS = ['bash', 'curl', 'grep', 'stdbuf'];

describe('the picture of README', () => {
  before(function () {
    const missing = PROGRAMS.filter((program) => !canRun(program));
    if (missing.length === 0) return;
    console.log(`\n  not run, since there is no ${missing.join(', ')}: the commands of the picture`);
    this.skip();
  });

  it('shows what its commands print today (else: npm run lab picture)', async () => {
    const now = readPicture(drawTerminal(await recordTerminal()));
    expect(readPicture().map(toComparable)).to.deep.equal(now.map(toComparable));
  });
});

function toComparable(text: string): string {
  return text.replaceAll(/\breq_\w+/g, 'req_');
}

function canRun(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
