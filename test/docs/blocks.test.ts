import { expect } from 'chai';
import { parseDocument } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import settings from '../../schemas/settings.json' with { type: 'json' };
import { blocksRunAs, howIsRun } from './blocks.ts';
import { BLOCKS, readBlocks } from './documents.ts';

describe('the blocks of code in README and the guides', () => {
  it('are all run in a way that a rule says', () => {
    const strange = BLOCKS.filter((block) => howIsRun(block) === undefined);
    expect(strange.map(({ path, line, language }) => `${path}:${line}: ${language}`)).to.deep.equal([]);
  });

  it('are not called an output where they begin with a command', () => {
    const commands =
      /^(?:sudo |\w+=\S+ )*(?:bash|cat|cd|cp|curl|docker|echo|export|git|kill|kubectl|node|npm|npx|openssl|pg_\w+|psql|python3?|sh|systemctl)\b/m;
    const wrong = blocksRunAs('output').filter(({ code }) => commands.test(code));
    expect(wrong.map(({ path, line }) => `${path}:${line}`)).to.deep.equal([]);
  });

  it('have one configuration of Codex, which is the one that the tests of Codex use', () => {
    expect(blocksRunAs('codex')).to.have.lengthOf(1);
  });

  it('have one configuration of Kilo, which is the one that `npm run lab heavy` uses', () => {
    expect(blocksRunAs('parsed').filter(({ section }) => section === 'Kilo')).to.have.lengthOf(1);
  });

  for (const { path, line, code } of blocksRunAs('parsed')) {
    it(`are JSON where they say so: ${path}:${line}`, () => {
      // A list may be cut at its beginning and at its end.
      const whole = code.replaceAll(/,\s*…\s*(?=[,}\]])/g, '');
      expect(() => JSON.parse(whole) as unknown).not.to.throw();
    });
  }
});

describe('the configurations of other programs in the guides', () => {
  for (const { path, line, code } of blocksRunAs('yaml')) {
    it(`are YAML where they say so: ${path}:${line}`, () => {
      expect(parseDocument(code, { strict: true }).errors).to.deep.equal([]);
    });
  }

  for (const { path, line, code } of blocksRunAs('unit')) {
    it(`are a unit of systemd, which starts the program of the package: ${path}:${line}`, () => {
      const lines = code.split('\n').filter((text) => text !== '' && !text.startsWith('#'));
      const sections = lines.filter((text) => text.startsWith('['));
      expect(sections).to.deep.equal(['[Unit]', '[Service]', '[Install]']);
      const wrong = lines.filter((text) => !sections.includes(text) && !/^[A-Z][A-Za-z]+=\S/.test(text));
      expect(wrong).to.deep.equal([]);
      expect(code).to.include(`/responses-gateway/${packageJson.bin['responses-gateway']} start\n`);
    });

    it(`wait for a database that starts more slowly, and for the requests of a gateway that stops: ${path}:${line}`, () => {
      const secondsOf = (name: string): number => Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(code)?.[1]);
      // systemd gives up after five starts within ten seconds.
      expect(4 * secondsOf('RestartSec')).to.be.above(10);
      expect(1000 * secondsOf('TimeoutStopSec')).to.be.above(settings.properties.DRAIN_TIMEOUT_MS.default);
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
    it(`knows no way for a block of "${language}" that no rule names`, () => {
      const [block] = read(`\n\`\`\`${language}\nx\n\`\`\`\n`);
      expect(block?.language).to.equal(language);
      expect(block && howIsRun(block)).to.equal(undefined);
    });
  }
});
