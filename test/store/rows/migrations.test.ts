import { expect } from 'chai';
import { findUnknown } from '../../../src/store/rows/migrations.ts';

const KNOWN = [
  { name: '1', sql: '' },
  { name: '2', sql: '' },
];

describe('findUnknown', () => {
  const cases = [
    { what: 'a new database', applied: [], unknown: undefined },
    { what: 'a database of this version', applied: [on('1'), on('2')], unknown: undefined },
    { what: 'a step that every program must know', applied: [on('1'), on('2'), on('3')], unknown: '3' },
    { what: 'a step beside which this program may run', applied: [on('2'), on('3', '2')], unknown: undefined },
    { what: 'a step beside which only newer programs may run', applied: [on('3', '2'), on('4', '3')], unknown: '4' },
    { what: 'an unknown step behind one that allows it', applied: [on('3'), on('4', '2')], unknown: '3' },
  ];
  for (const { what, applied, unknown } of cases) {
    it(`${unknown === undefined ? 'lets this program use' : 'refuses'} ${what}`, () => {
      expect(findUnknown(applied, KNOWN)).to.equal(unknown);
    });
  }
});

function on(name: string, runsBeside: string | null = null) {
  return { name, runsBeside };
}
