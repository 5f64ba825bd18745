import { expect } from 'chai';
import { createKeyFilter, ownSecretsOf, quotes, secretsOf, withoutSecrets } from '../../src/backend/own-key.ts';

const KEY = 'sk-the-gateway/s+own-key';
const STARS = '*'.repeat(KEY.length);

/** What the filter lets through of the text, handed over in pieces that end at `cuts`. */
function filtered(text: string, cuts: readonly number[] = [], secrets: readonly string[] = [KEY]): string {
  const filter = createKeyFilter(secrets);
  if (filter === undefined) return text;
  // Each piece has memory of its own, since the filter changes it.
  const pieces = [0, ...cuts].map((from, index) => Buffer.from(text.slice(from, cuts[index])));
  return Buffer.concat([...pieces.map((piece) => filter.feed(piece)), filter.end()]).toString();
}

describe('what a backend says', () => {
  it('has stars in the place of the key, wherever the reads are cut', () => {
    const text = `data: {"error":{"message":"You sent ${KEY}, and ${KEY}."}}\n\nsk-the-end`;
    const expected = text.replaceAll(KEY, STARS);
    for (let cut = 1; cut < text.length; cut++) {
      expect(filtered(text, [cut])).to.equal(expected);
      expect(filtered(text, [cut, Math.min(cut + 3, text.length)])).to.equal(expected);
    }
  });

  it('has none of several secrets', () => {
    const other = 'Another secret value';
    expect(filtered(`${other}${KEY} ${other}`, [5, 30], [KEY, other])).to.equal(
      `${'*'.repeat(other.length)}${STARS} ${'*'.repeat(other.length)}`,
    );
  });

  it('is not held back at the end of a line', () => {
    const filter = createKeyFilter([KEY]);
    expect(filter?.feed(Buffer.from('data: s\n\n')).toString()).to.equal('data: s\n\n');
    expect(filter?.feed(Buffer.from('data: s')).toString()).to.equal('data: ');
    expect(filter?.feed(Buffer.from('\n')).toString()).to.equal('s\n');
  });

  it('may have a word in it that is taken for a key', () => {
    expect(createKeyFilter(['ollama', 'sk-1234'])).to.equal(undefined);
    expect(withoutSecrets({ 'x-ratelimit-limit': 'ollama' }, ['ollama'])).to.deep.equal({
      'x-ratelimit-limit': 'ollama',
    });
  });

  it('has no header that quotes the key', () => {
    const headers = { 'x-request-id': `for ${KEY}`, 'retry-after': '7', 'x-ratelimit-key': ['a', KEY] };
    expect(withoutSecrets(headers, [KEY])).to.deep.equal({
      'x-request-id': undefined,
      'retry-after': '7',
      'x-ratelimit-key': undefined,
    });
    expect(withoutSecrets(headers, ['a-key-of-another-one'])).to.equal(headers);
  });

  it('is found to quote the key also as JSON may spell it', () => {
    for (const spelled of [KEY, KEY.replace('/', '\\/'), KEY.replace('+', '\\u002B'), KEY.replace('s', '\\u0073')]) {
      expect(quotes(Buffer.from(`{"message":"${spelled}"}`), [KEY]), spelled).to.equal(true);
    }
    expect(quotes(Buffer.from('{"message":"No. \\/ \\u002b"}'), [KEY])).to.equal(false);
  });
});

describe('the secrets of a request', () => {
  const headers = {
    authorization: `Bearer ${KEY}`,
    'x-goog-api-key': 'g',
    'cf-access-client-secret': 'c',
    cookie: 'session=1',
    'http-referer': 'https://gateway.example',
    accept: 'application/json',
  };

  it('are its key and whatever the operator adds to prove who asks', () => {
    expect(secretsOf(headers)).to.deep.equal([KEY, 'g', 'c', 'session=1']);
  });

  it('are not looked for where the caller has sent them', () => {
    expect(ownSecretsOf(headers, { keyOwner: 'gateway' })).to.deep.equal(secretsOf(headers));
    expect(ownSecretsOf(headers, { keyOwner: 'caller' })).to.deep.equal([]);
  });
});
