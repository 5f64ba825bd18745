import { expect } from 'chai';
import * as fc from 'fast-check';
import { createCustomInputReader } from '../../../src/core/reply/custom-input.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';
import { cutAt } from '../../support/cut.ts';
import { runs } from '../../support/property.ts';

/** What the pieces come to, and what each of them brought. */
function read(pieces: Iterable<string>): { text: string; deltas: string[] } {
  const reader = createCustomInputReader();
  const deltas = Array.from(pieces, (piece) => reader.feed(piece));
  deltas.push(reader.end());
  return { text: deltas.join(''), deltas };
}

describe('createCustomInputReader', () => {
  const cases: { name: string; json: string; text: string }[] = [
    { name: 'plain text', json: '{"input":"ls -l"}', text: 'ls -l' },
    { name: 'no text', json: '{"input":""}', text: '' },
    { name: 'white space wherever JSON allows it', json: ' \n{ "input"\t:\r\n "x" } ', text: 'x' },
    { name: 'every short escape', json: String.raw`{"input":"\"\\\/\b\f\n\r\t"}`, text: '"\\/\b\f\n\r\t' },
    { name: 'escapes by number', json: String.raw`{"input":"\u0041\u00e4\u20AC"}`, text: 'Aä€' },
    { name: 'a surrogate pair in escapes', json: String.raw`{"input":"\ud83d\ude00!"}`, text: '😀!' },
    { name: 'a surrogate pair as it is', json: '{"input":"😀!"}', text: '😀!' },
    { name: 'half a surrogate pair', json: String.raw`{"input":"\ud83dx"}`, text: '\ud83dx' },
    { name: 'half a surrogate pair at the end', json: String.raw`{"input":"x\ud83d"}`, text: 'x\ud83d' },
    { name: 'braces and quotes inside', json: String.raw`{"input":"}\"{"}`, text: '}"{' },
    { name: 'line breaks as they are', json: '{"input":"*** Begin\n\t+x\r\n"}', text: '*** Begin\n\t+x\r\n' },
    { name: 'the name in escapes', json: String.raw`{"\u0069nput":"x\ny"}`, text: 'x\ny' },
    { name: 'more fields after it', json: '{"input":"x","timeout":5}', text: 'x' },
    { name: 'more fields before it', json: '{"timeout":5,"input":"x"}', text: 'x' },
    { name: 'another name', json: String.raw`{"patch":"a\nb"}`, text: 'a\nb' },
    { name: 'another name and line breaks as they are', json: '{"patch":"a\nb"}\n', text: 'a\nb' },
    { name: 'a JSON string alone', json: String.raw`"a\nb"`, text: 'a\nb' },
    { name: 'bare text', json: '*** Begin Patch\n', text: '*** Begin Patch\n' },
    { name: 'bare text that begins like the object', json: '{"in', text: '{"in' },
    { name: 'bare text in braces', json: '{ "a": "b" ? c : d }', text: '{ "a": "b" ? c : d }' },
    { name: 'two names of which neither is it', json: '{"a":"x","b":"y"}', text: '{"a":"x","b":"y"}' },
    { name: 'a number', json: '{"input":5}', text: '{"input":5}' },
    { name: 'nothing', json: '', text: '' },
    { name: 'an expression not escaped', json: String.raw`{"input":"^\d+\.\s$"}`, text: String.raw`^\d+\.\s$` },
    { name: 'a path not escaped', json: String.raw`{"input":"C:\users\x\u"}`, text: String.raw`C:\users\x\u` },
    { name: 'an apostrophe escaped as in JavaScript', json: String.raw`{"input":"it\'s"}`, text: "it's" },
    { name: 'a text that is cut', json: '{"input":"abc', text: 'abc' },
    { name: 'a text that is cut in an escape', json: String.raw`{"input":"abc\u00`, text: 'abc' },
    { name: 'a text that is cut after a backslash', json: '{"input":"abc\\', text: 'abc' },
    { name: 'a text that is cut in a surrogate pair', json: String.raw`{"input":"abc\ud83d`, text: 'abc\ud83d' },
    { name: 'another name, and cut', json: String.raw`{"patch":"a\nb`, text: 'a\nb' },
    { name: 'an object that is cut after its string', json: '{"input":"abc"', text: 'abc' },
    { name: 'more white space than anybody writes', json: `${' '.repeat(300)}{"input":"x"}`, text: 'x' },
  ];
  for (const { name, json, text } of cases) {
    it(`reads ${name}, wherever it is cut`, () => {
      expect(read([json]).text).to.equal(text);
      expect(read(json).text, 'character by character').to.equal(text);
      expect(read(json.split('')).text, 'code unit by code unit').to.equal(text);
      for (let cut = 1; cut < json.length; cut += 1) {
        expect(read([json.slice(0, cut), '', json.slice(cut)]).text, `cut at ${cut}`).to.equal(text);
      }
    });
  }

  for (const [name, json] of [
    ['of more than 1 Mi characters', `{"pad":"${'x'.repeat(1024 * 1024)}","input":"x"}`],
    ['with more than 100,000 lists', `{"pad":[${'[],'.repeat(120_000)}[]],"input":"x"}`],
  ] as const) {
    it(`takes arguments ${name} as they are`, () => {
      expect(read([json]).text === json).to.equal(true);
    });
  }

  it('reads a text of more than 1 Mi characters under any name', () => {
    const text = 'x\n'.repeat(600 * 1024);

    expect(read([JSON.stringify({ input: text })]).text === text, 'input').to.equal(true);
    expect(read([JSON.stringify({ patch: text })]).text === text, 'patch').to.equal(true);
  });

  it('gives any text back, however JSON writes it and wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(writtenCharacter(), { maxLength: 40 }), cuts(), opening(), (characters, cuts, opening) => {
        const text = characters.map((character) => character.text).join('');
        const json = `${opening}"${characters.map((character) => character.written).join('')}"}`;
        expect(JSON.parse(json), 'the generator writes JSON').to.deep.equal({ input: text });
        const { text: found, deltas } = read(cutAt(json, cuts));
        expect(found).to.equal(text);
        if (text.isWellFormed()) {
          expect(
            deltas.every((delta) => delta.isWellFormed()),
            'no delta ends in half a pair',
          ).to.equal(true);
        }
      }),
      runs(2000),
    );
  });

  it('takes whatever comes, and takes it alike wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(fragment(), { maxLength: 30 }), cuts(), (fragments, cuts) => {
        const json = fragments.join('');
        expect(read(cutAt(json, cuts)).text).to.equal(read([json]).text);
      }),
      runs(3000),
    );
  });

  it('tells the text as it comes, and holds back no more than an escape or half a pair', () => {
    const reader = createCustomInputReader();
    const told = String.raw`{"input":"ab\n\u00e4c`.split('').map((character) => reader.feed(character));
    expect(told.filter((delta) => delta !== '')).to.deep.equal(['a', 'b', '\n', 'ä', 'c']);
    expect(reader.feed(String.raw`\ud83d`)).to.equal('');
    expect(reader.feed(String.raw`\ude0`)).to.equal('');
    expect(reader.feed('0')).to.equal('😀');
  });

  describe('costs no more than its length, a quarter of a million pieces of one', () => {
    const inputs = {
      'of text': ['{"input":"', 'x'],
      'of escapes': ['{"input":"', '\\'],
      'of half pairs': ['{"input":"', '\ud83d'],
      'of white space in front': ['', ' '],
      'of something else': ['[', '1'],
    };
    for (const [name, [head = '', unit = '']] of Object.entries(inputs)) {
      it(name, () => {
        const reader = createCustomInputReader();
        const startMs = cpuTimeMs();
        reader.feed(head);
        for (let count = 0; count < 250_000; count += 1) reader.feed(unit);
        reader.end();
        expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(1250);
      });
    }
  });
});

/** A UTF-16 code unit and one of the ways in which JSON can write it. */
function writtenCharacter(): fc.Arbitrary<{ text: string; written: string }> {
  const units = fc.oneof(
    fc.constantFrom('"', '\\', '/', '\b', '\f', '\n', '\r', '\t', '\0', '{', '}', 'u', 'n', 'é', '€', '\u2028'),
    fc.constantFrom('\ud83d', '\ude00', '😀', '👩‍👩‍👧'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  );
  return fc.tuple(units, fc.nat(2)).map(([text, way]) => ({ text, written: write(text, way) }));
}

function write(text: string, way: number): string {
  const shortest = JSON.stringify(text).slice(1, -1);
  if (way === 0) return shortest;
  const units = text.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const numbered = units.join('');
  return way === 1 ? numbered : numbered.replaceAll(/[a-f]/g, (letter) => letter.toUpperCase());
}

function opening(): fc.Arbitrary<string> {
  return fc.constantFrom('{"input":', ' {\n"input" : ', '{ "input":\t', '{"inpu\\u0074":');
}

function fragment(): fc.Arbitrary<string> {
  const of = [
    '{',
    '}',
    '"',
    'input',
    'patch',
    ':',
    '\\',
    '\\u',
    'd83d',
    'DE00',
    '\ud83d',
    '\ude00',
    'n',
    ' ',
    '\n',
    ',',
  ];
  return fc.oneof(fc.constantFrom(...of, '{"input":"', '"}'), fc.string({ maxLength: 3 }));
}

function cuts(): fc.Arbitrary<number[]> {
  return fc.array(fc.nat(1000), { maxLength: 12 });
}
