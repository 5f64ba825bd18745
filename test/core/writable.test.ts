import { expect } from 'chai';
import { createJsonEnd } from '../../src/core/reply/json-end.ts';
import { openMachine } from '../support/machine.ts';

describe('what is made for each request', () => {
  const makers: readonly { name: string; make: () => object }[] = [
    { name: 'the translator', make: () => openMachine() },
    { name: 'the end of the arguments of a call', make: createJsonEnd },
  ];
  for (const { name, make } of makers) {
    it(`has no getter of its own, which would keep it in memory: ${name}`, () => {
      const own = Object.values(Object.getOwnPropertyDescriptors(make()));
      expect(own.filter((property) => property.get !== undefined)).to.deep.equal([]);
      expect(own).to.not.deep.equal([]);
    });
  }
});
