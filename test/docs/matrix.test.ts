import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import clientsPackage from '../clients/package.json' with { type: 'json' };
import { fillInMatrix, MATRIX_DOCUMENTS, readMatrix, type Matrix } from '../support/generate-matrix.ts';

describe('the matrix of clients and backends', () => {
  for (const path of MATRIX_DOCUMENTS) {
    it(`is what the last run has found: ${path.split('/').at(-1)} (else: npm run types)`, () => {
      const document = readFileSync(path, 'utf8');
      expect(document).to.include('<!-- turns: ');
      expect(document).to.equal(fillInMatrix(document, readMatrix()));
    });
  }

  it('is of the clients that are installed now (else: PUBLISH=1 npm run lab turns)', () => {
    const versions: Readonly<Record<string, string>> = {
      ...clientsPackage.dependencies,
      ...clientsPackage.optionalDependencies,
    };
    for (const client of Object.values(readMatrix().clients)) {
      expect(client.version, client.package).to.equal(versions[client.package]);
    }
  });

  const matrix: Matrix = {
    date: '2026-01-02',
    scenarios: ['tool-loop', 'no-tool'],
    clients: { SDK: { package: 'sdk', version: '1.2.3' }, Agent: { package: 'agent', version: '4.5.6' } },
    backends: { One: { SDK: '✓✓', Agent: '✓·' }, Two: { SDK: '✓✗', Agent: '✗·' }, Three: { SDK: '✓✓', Agent: '··' } },
  };
  const show = (name: string): string => fillInMatrix(`<!-- turns: ${name} -->\n<!-- /turns -->`, matrix);

  it('says what does not work for a client that works for others', () => {
    expect(show('clients')).to.include(
      '| SDK | ✓ | `sdk` | 1.2.3 |\n| Agent | tool loop: not Two | `agent` | 4.5.6 |\n',
    );
    expect(show('clients')).to.include('2026-01-02');
  });

  it('names a client where it differs from the others', () => {
    expect(show('scenarios')).to.include('| One | yes | yes |\n| Two | not Agent | no |\n| Three | yes | yes |\n');
  });

  it('is refused with a mark of what is not known', () => {
    expect(() => show('other')).to.throw('no part "other"');
  });
});
