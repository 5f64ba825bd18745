import { expect } from 'chai';
import * as fc from 'fast-check';
import { formatCsvLine, parseCsv } from '../../src/cli/csv.ts';
import { runs } from '../support/property.ts';

describe('parseCsv', () => {
  for (const { name, text, rows } of [
    { name: 'nothing', text: '', rows: [] },
    {
      name: 'cells, also empty ones',
      text: 'a,b,\n,,c',
      rows: [
        [1, 'a', 'b', ''],
        [2, '', '', 'c'],
      ],
    },
    {
      name: 'lines as Windows ends them, behind its mark',
      text: '\u{feff}a\r\nb\r\n',
      rows: [
        [1, 'a'],
        [2, 'b'],
      ],
    },
    {
      name: 'quotes, commas and ends of lines in quotes',
      text: '"a ""b"", c\nd",e\nf',
      rows: [
        [1, 'a "b", c\nd', 'e'],
        [3, 'f'],
      ],
    },
    {
      name: 'no empty lines',
      text: 'a\n\n,,\nb\n\n',
      rows: [
        [1, 'a'],
        [4, 'b'],
      ],
    },
  ]) {
    it(`reads ${name}`, () => {
      expect(parseCsv(text)).to.deep.equal(rows.map(([line, ...cells]) => ({ line, cells })));
    });
  }

  for (const text of ['a\n"b', 'a\nb"c"', 'a\n"b"c']) {
    it(`names the line of a wrong quote: ${JSON.stringify(text)}`, () => {
      expect(() => parseCsv(text)).to.throw('line 2: A quote is not closed, or is within a cell.');
    });
  }

  it('reads what was written', () => {
    const cell = fc
      .string({ unit: 'binary' })
      .filter((text) => !/^[=+\-@\t\r\u{feff}]/u.test(text.slice(0, 1).normalize('NFKC')));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const written = rows.map(formatCsvLine).join('\n');
        const kept = rows.filter((cells) => cells.some((text) => text !== ''));
        expect(parseCsv(written).map(({ cells }) => cells)).to.deep.equal(kept);
      }),
      runs(500),
    );
  });
});

describe('formatCsvLine', () => {
  it('quotes what needs it, and leaves out what is not there', () => {
    expect(formatCsvLine(['a', 'b,c', 'd"e', 'f\ng', null, 7, '-2.50'])).to.equal('a,"b,c","d""e","f\ng",,7,-2.50');
  });

  for (const text of ['=1+1', '+1', '-x', '@sum', '\tx', '\uff1d1+1', '\uff0b1', '\uff0dx', '\uff20sum', '\ufe661']) {
    it(`lets no spreadsheet run ${JSON.stringify(text)}`, () => {
      expect(formatCsvLine([text])).to.equal(`'${text}`);
    });
  }
});
