import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FAULTS, withFault } from './faults.ts';

const SOURCES = new URL('../../../src/', import.meta.url);

// The system tests plant them, minutes later: a change of the sources that takes the place of one is told here at once.
describe('the faults that the simulation must find', () => {
  for (const fault of FAULTS) {
    it(`plants ${fault.name} in the source as it is now`, () => {
      const source = readFileSync(new URL(fault.file, SOURCES), 'utf8');
      expect(withFault(fault, source)).to.not.equal(source);
    });
  }
});
