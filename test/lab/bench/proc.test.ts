import { expect } from 'chai';
import { readCpuMicros, readResidentBytes } from './proc.ts';

/** Linux gives out numbers below this. */
const NO_PROCESS = 2 ** 30;

describe('what the bench reads of processes', () => {
  it('is what this one uses and holds', () => {
    expect(readCpuMicros(process.pid)).to.be.above(0);
    expect(readResidentBytes(process.pid)).to.be.above(1024 * 1024);
  });

  it('is nothing of a process that is not there', () => {
    expect(readCpuMicros(NO_PROCESS)).to.equal(0);
    expect(readResidentBytes(NO_PROCESS)).to.be.NaN;
  });
});
