import { expect } from 'chai';
import { isDialectName } from '../../src/core/dialects.ts';
import { readAnswer, type BackendAnswer } from '../../src/doctor/answer.ts';
import { ODDITIES, odditiesIn } from '../../src/doctor/oddities.ts';
import { isStream, type Json } from '../lab/strange/answer.ts';
import { loadAnswers } from '../lab/strange/cases.ts';
import { toSse } from '../lab/strange/meaning.ts';
import { ODDITIES as CHANGES } from '../lab/strange/oddities.ts';
import { loadRecordings } from '../support/recordings.ts';

/** What the lab calls the change that makes an answer odd in this way, where it has another name. */
const CHANGE_OF: Readonly<Record<string, string>> = {
  'no role in any delta': 'no role',
  'chunks without a choice': 'a chunk that says nothing after each',
  'a choice with another index than 0': 'one choice with the index 1',
  'a whole message in a stream': 'the whole message again beside the finish reason',
  'calls without ids': 'no ids of calls',
  'the name or the id of a call again where it goes on': 'the id of a call in each of its pieces',
  'calls without indexes': 'no indexes of calls',
  'one index for several calls': 'one index for all calls',
  'a finish reason of its own': 'the finish reason of Anthropic',
  'a finish reason in several chunks': 'the finish reason twice',
  'a finish reason beside the last words': 'the finish reason beside the last words',
  'usage in several chunks': 'the usage in every chunk',
  'usage in the choice': 'the usage in the choice',
};

/** Some changes need an answer in many chunks. */
const PIECES = CHANGES.find(({ name }) => name === 'each character in a chunk of its own');
const copyOf = (chunks: readonly Json[]): Json[] => structuredClone(chunks) as Json[];

describe('odditiesIn', () => {
  const answers = loadAnswers({ isPlain: true });
  const read = (body: string, contentType: string): BackendAnswer =>
    readAnswer({ status: 200, headers: { 'content-type': contentType }, text: body }, []);
  const namesIn = (chunks: readonly Json[], done = true): string[] =>
    odditiesIn(
      isStream(chunks) || chunks.length === 0
        ? read(toSse(chunks, done), 'text/event-stream')
        : read(JSON.stringify(chunks[0]), 'application/json'),
    ).map(({ name }) => name);

  it('finds nothing in plain answers, but in one that is odd in two ways', () => {
    const odd = answers.filter(({ chunks }) => namesIn(chunks).length > 0);
    expect(odd.map(({ name, chunks }) => [name, namesIn(chunks)])).to.deep.equal([
      ['reasoning-before-call', ['no role in any delta', 'whole calls in one chunk']],
    ]);
  });

  for (const { name } of ODDITIES) {
    it(`finds ${name}`, () => {
      const change = CHANGES.find((one) => one.name === (CHANGE_OF[name] ?? name));
      const found = answers.flatMap(({ chunks }) =>
        change === undefined
          ? namesIn(chunks, false)
          : [chunks, PIECES?.apply(copyOf(chunks)) ?? []].flatMap((some) => namesIn(change.apply(copyOf(some)) ?? [])),
      );
      expect(found).to.include(name);
    });
  }

  it('finds in the recordings of each kind only what the table says of it', () => {
    for (const { name, provider, status, contentType, body } of loadRecordings()) {
      const dialect = provider.replace('google-openai-compat', 'google').replace(/-\w+$/, '');
      if (status !== 200 || !isDialectName(dialect) || name.includes('multichoice') || /error/.test(name)) continue;
      for (const { name: oddity, dialects } of odditiesIn(read(body.toString(), contentType)))
        expect(dialects, `${oddity} in ${name}`).to.have.property(dialect);
    }
  });
});
