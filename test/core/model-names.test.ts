import { expect } from 'chai';
import { lastPartOf, plainNameOf } from '../../src/core/model-names.ts';

describe('the name of a model', () => {
  for (const name of ['m', 'M', 'm:latest', 'M:8b\nq4', 'm-2026-08-06', 'm@20260806', 'm-0613:latest', 'm-001']) {
    it(`is m without letters, tag and date: ${name}`, () => {
      expect(plainNameOf(name)).to.equal('m');
    });
  }

  it('keeps what may be another model', () => {
    for (const name of ['m-12', 'm-2026-08', 'm-mini', 'maker/m']) expect(plainNameOf(name)).to.equal(name);
  });

  it('ends with what follows the last slash', () => {
    expect(['m', 'maker/M:8b', 'host:5000/library/m', '/m', 'm/'].map(lastPartOf)).to.deep.equal([
      'm',
      'M:8b',
      'm',
      'm',
      '',
    ]);
  });
});
