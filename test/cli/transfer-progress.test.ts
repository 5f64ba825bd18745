import { expect } from 'chai';
import { createTransferProgress, formatProgress } from '../../src/cli/transfer-progress.ts';

describe('createTransferProgress', () => {
  function open(isTTY: boolean) {
    const written: string[] = [];
    const clock = { nowMs: 0 };
    const stderr = { isTTY, write: (text: string) => written.push(text) };
    return { written, clock, progress: createTransferProgress({ stderr, nowMs: () => clock.nowMs }) };
  }

  for (const { isTTY, tooSoonMs, lateMs } of [
    { isTTY: true, tooSoonMs: 99, lateMs: 100 },
    { isTTY: false, tooSoonMs: 9999, lateMs: 10_000 },
  ]) {
    it(`leaves out what comes less than ${lateMs} ms after the last ${isTTY ? 'on a terminal' : 'elsewhere'}`, () => {
      const { written, clock, progress } = open(isTTY);
      clock.nowMs = 1_000_000;
      progress.show({ step: 'copy', rows: 0, ofRows: 100 });
      clock.nowMs += tooSoonMs;
      progress.show({ step: 'copy', rows: 40, ofRows: 100 });
      expect(written).to.have.lengthOf(1);
      clock.nowMs += lateMs - tooSoonMs;
      progress.show({ step: 'copy', rows: 50, ofRows: 100 });
      expect(written).to.have.lengthOf(2);
      progress.show({ step: 'copy', rows: 100, ofRows: 100 });
      expect(written, 'the end of a step').to.have.lengthOf(3);
    });
  }

  it('counts the rate of each step from its own beginning', () => {
    const { written, clock, progress } = open(false);
    progress.show({ step: 'copy', rows: 50, ofRows: 100 });
    clock.nowMs = 1000;
    progress.show({ step: 'copy', rows: 100, ofRows: 100 });
    progress.show({ step: 'compare', rows: 0, ofRows: 100 });
    clock.nowMs = 3000;
    progress.show({ step: 'compare', rows: 100, ofRows: 100 });
    expect(written.slice(-2)).to.deep.equal([
      'copied 100 of 100 rows (100 %), 50 rows/s\n',
      'compared 100 of 100 rows (100 %), 50 rows/s\n',
    ]);
  });
});

describe('formatProgress', () => {
  for (const { rows, ofRows, inThisRun, line } of [
    { rows: 0, ofRows: 0, inThisRun: { rows: 0, ms: 0 }, line: 'copied 0 of 0 rows (100 %)' },
    { rows: 7, ofRows: 1000, inThisRun: { rows: 7, ms: 0 }, line: 'copied 7 of 1 000 rows (0 %)' },
    {
      rows: 45_999,
      ofRows: 100_000,
      inThisRun: { rows: 24_600, ms: 2000 },
      line: 'copied 45 999 of 100 000 rows (45 %), 12 300 rows/s, 4.39 s left',
    },
    { rows: 5, ofRows: 5, inThisRun: { rows: 5, ms: 1000 }, line: 'copied 5 of 5 rows (100 %), 5 rows/s' },
  ]) {
    it(`says "${line}"`, () => {
      expect(formatProgress({ step: 'copy', rows, ofRows }, inThisRun)).to.equal(line);
    });
  }
});
