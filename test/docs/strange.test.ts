import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { isDialectName } from '../../src/core/dialects.ts';
import { ODDITIES } from '../../src/doctor/oddities.ts';
import { fillInStrange, readPeers, STRANGE_DOCUMENTS, type Peers } from '../support/generate-strange.ts';

describe('the tables of odd answers', () => {
  for (const path of STRANGE_DOCUMENTS) {
    it(`are as they are now: ${path.split('/').at(-1)} (else: npm run types)`, () => {
      const document = readFileSync(path, 'utf8');
      expect(document).to.include('<!-- strange: ');
      expect(document).to.equal(fillInStrange(document, readPeers()));
    });
  }

  it('have a source for each kind of answer', () => {
    for (const { name, dialects, others = '' } of ODDITIES) {
      expect(Object.keys(dialects).every(isDialectName), name).to.equal(true);
      expect(
        [...Object.values(dialects), others].some((source) => /recorded|[#./`]/.test(source)),
        name,
      ).to.equal(true);
    }
  });

  it('have this gateway, which understands all', () => {
    const groups = readPeers()['this gateway']?.groups ?? [];
    expect(groups).to.have.length.above(5);
    for (const { group, tried, right } of groups) expect(right, group).to.equal(tried);
  });

  const peers: Peers = {
    One: { version: '1.2', date: '2026-01-02', groups: [{ group: 'calls', tried: 3, right: 2 }] },
    Two: { version: '', date: '2026-01-03', groups: [] },
  };
  const show = (name: string): string => fillInStrange(`<!-- strange: ${name} -->\n<!-- /strange -->`, peers);

  it('say of how many odd answers each translator was right', () => {
    expect(show('peers')).to.include('| odd | One 1.2 | Two |\n| --- | --- | --- |\n| calls | 2 of 3 | – |\n');
    expect(show('peers')).to.include('2026-01-02 (One), 2026-01-03 (Two)');
  });

  it('are refused with a mark of what is not known', () => {
    expect(() => show('other')).to.throw('no table "other"');
  });
});
