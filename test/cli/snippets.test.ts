import { expect } from 'chai';
import { writeSnippets } from '../../src/cli/snippets.ts';

const URL = 'http://127.0.0.1:8080/api/v1';

describe('writeSnippets', () => {
  it('writes one for each client, with the address and the model filled in', () => {
    const snippets = writeSnippets(URL, 'qwen3-32b');
    expect(snippets.map(({ id }) => id)).to.deep.equal(['openai-js', 'openai-python', 'ai-sdk', 'codex']);
    for (const { text } of snippets) {
      expect(text).to.contain(`"${URL}"`).and.contain('"qwen3-32b"').and.contain('GATEWAY_API_KEY');
    }
  });

  it('tells the AI SDK to store nothing', () => {
    const text = writeSnippets(URL, 'm').find(({ id }) => id === 'ai-sdk')?.text;
    expect(text).to.contain('providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } }');
  });

  it('tells Codex to use the Responses API', () => {
    const text = writeSnippets(URL, 'm').find(({ id }) => id === 'codex')?.text;
    expect(text).to.match(/^model = "m"\nmodel_provider = "gateway"\n/);
    expect(text).to.contain('wire_api = "responses"');
  });

  for (const [what, model, quoted] of [
    ['a quote', 'a"); evil("', String.raw`"a\"); evil(\""`],
    ['a backslash', 'a\\', String.raw`"a\\"`],
    ['a new line', 'a\nb', String.raw`"a\nb"`],
    ['what moves the cursor', 'a\u{1b}[2J\u{7f}\u{9b}', String.raw`"a\u001b[2J\u007f\u009b"`],
    ['what turns the line around', 'a\u{202e}b', String.raw`"a\u202eb"`],
    ['what would end a line of JavaScript', 'a\u{2028}b', String.raw`"a\u2028b"`],
    ['what lies above the first plane', 'a\u{e0001}b', String.raw`"a\udb40\udc01b"`],
  ] as const) {
    it(`keeps ${what} inside its string`, () => {
      for (const { text } of writeSnippets(URL, model)) expect(text).to.contain(quoted);
    });
  }
});
