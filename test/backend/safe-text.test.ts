import { expect } from 'chai';
import { toSafeText } from '../../src/backend/safe-text.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';

describe('toSafeText', () => {
  const cases: readonly { name: string; text: string; expected: string; secrets?: readonly string[] }[] = [
    {
      name: 'leaves an ordinary sentence alone',
      text: "Invalid 'messages[3]'. Use <tool> or hf_transfer.",
      expected: "Invalid 'messages[3]'. Use <tool> or hf_transfer.",
    },
    { name: 'makes one line of several', text: ' one\r\n\ttwo\u2028three ', expected: 'one two three' },
    { name: 'takes out control characters', text: 'a\u0000b\u001b[31mc\u009bd\u007fe', expected: 'a b [31mc d e' },
    { name: 'takes out what turns the direction of text', text: 'a\u202eb\u2066c', expected: 'a b c' },
    { name: 'repairs half of a surrogate pair', text: 'a\ud800b', expected: 'a\ufffdb' },
    {
      name: 'takes out an OpenAI key',
      text: 'Incorrect API key provided: sk-proj-abcDEF123456.',
      expected: 'Incorrect API key provided: [redacted]',
    },
    {
      name: 'takes out a key that is masked already',
      text: 'key sk-abcd********wxyz is wrong',
      expected: 'key [redacted] is wrong',
    },
    {
      name: 'takes out keys of other issuers',
      text: 'gsk_abcdef123456 and hf_ABCDEFGHIJKLMNOPQR and xai-1234567890123456',
      expected: '[redacted] and [redacted] and [redacted]',
    },
    { name: 'takes out a Google key', text: 'key AIzaSyA1234567890abcdefghij wrong', expected: 'key [redacted] wrong' },
    { name: 'takes out what follows Bearer', text: 'got "Bearer abc.def" here', expected: 'got "[redacted]" here' },
    {
      name: 'takes out a JSON web token',
      text: 'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def bad',
      expected: 'token [redacted] bad',
    },
    {
      name: 'takes out the key that was sent, wherever it is',
      text: 'no hunter2hunter2 here: hunter2hunter2',
      secrets: ['hunter2hunter2'],
      expected: 'no [redacted] here: [redacted]',
    },
    {
      name: 'leaves words alone that a very short key would hit',
      text: 'a demo model',
      secrets: ['', 'demo'],
      expected: 'a demo model',
    },
    {
      name: 'ends before a Python stack',
      text: 'It broke\nTraceback (most recent call last):\n  File "x"',
      expected: 'It broke',
    },
    {
      name: 'ends before a JavaScript stack',
      text: 'TypeError: x\n    at run (/srv/app/index.js:10:5)\n    at more',
      expected: 'TypeError: x',
    },
    { name: 'ends before a page', text: 'Bad gateway: <html><body>secret</body></html>', expected: 'Bad gateway:' },
    { name: 'leaves nothing of a page', text: '<!DOCTYPE html><p>x', expected: '' },
    { name: 'leaves nothing of nothing', text: '', expected: '' },
  ];

  for (const { name, text, expected, secrets = [] } of cases) {
    it(`always ${name}`, () => {
      expect(toSafeText(text, secrets)).to.equal(expected);
    });
  }

  it('bounds the message to 1,000 characters', () => {
    const text = toSafeText('word '.repeat(1000), []);

    expect(text).to.have.length(1000);
    expect(text.endsWith('…')).to.equal(true);
  });

  it('does not cut a key in two to show its first half', () => {
    const text = toSafeText(`${'x'.repeat(980)} sk-${'a'.repeat(100)}`, []);

    expect(text).to.not.include('sk-');
  });

  it('looks at no more than the first 4,000 characters', () => {
    expect(toSafeText(`${' '.repeat(3999)}ab`, [])).to.equal('a');
  });

  it('is quick with what is made to be slow', () => {
    const startMs = cpuTimeMs();
    for (const text of [' '.repeat(1e6), '\nat '.repeat(1e6), 'sk-'.repeat(1e6), '<'.repeat(1e6), 'eyJ'.repeat(1e6)])
      toSafeText(text, []);

    // A pattern that goes over a text again and again takes far longer.
    expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(10_000);
  });
});
