import { expect } from 'chai';
import { blocksRunAs, howIsRun } from './blocks.ts';
import { BLOCKS, DOCUMENTS, readBlocks } from './documents.ts';

describe('the blocks of code in README and the guides', () => {
  for (const { path } of DOCUMENTS) {
    it(`are all run in a way that a rule says: ${path}`, () => {
      for (const block of BLOCKS.filter((block) => block.path === path)) expect(() => howIsRun(block)).not.to.throw();
    });
  }

  it('are not called an output where they begin with a command', () => {
    const commands =
      /^(?:sudo |\w+=\S+ )*(?:bash|cat|cd|cp|curl|docker|echo|export|git|kill|kubectl|node|npm|npx|openssl|pg_\w+|psql|python3?|sh|systemctl)\b/m;
    const wrong = blocksRunAs('output').filter(({ code }) => commands.test(code));
    expect(wrong.map(({ path, line }) => `${path}:${line}`)).to.deep.equal([]);
  });

  it('have one configuration of Codex, which is the one that the tests of Codex use', () => {
    expect(blocksRunAs('codex')).to.have.lengthOf(1);
  });

  for (const { path, line, code } of blocksRunAs('parsed')) {
    it(`are JSON where they say so: ${path}:${line}`, () => {
      // A list may be cut at its beginning and at its end.
      const whole = code.replaceAll(/,\s*…\s*(?=[,}\]])/g, '');
      expect(() => JSON.parse(whole) as unknown).not.to.throw();
    });
  }
});

describe('howIsRun', () => {
  const read = (text: string) => readBlocks({ path: 'guide.md', text });

  it('knows a block by its language, and its place by its line', () => {
    const [sh, ts] = read('# A\n\n```sh\ncurl x\n```\n\n- b\n\n  ```ts\n  c();\n  ```\n');
    expect(sh).to.deep.equal({ path: 'guide.md', section: 'A', line: 3, language: 'sh', code: 'curl x\n' });
    expect([sh, ts].map((block) => block && howIsRun(block))).to.deep.equal(['shell', 'client']);
  });

  for (const language of ['', 'rust', 'sh not-run', 'toml']) {
    it(`throws for a block of "${language}" that no rule knows`, () => {
      const [block] = read(`\n\`\`\`${language}\nx\n\`\`\`\n`);
      expect(() => block && howIsRun(block)).to.throw(`guide.md:2: no rule says how a block of "${language}" is run`);
    });
  }
});
