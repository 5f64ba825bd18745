import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/cli.ts';

const FAST = { input: '2.5', cached_input: '1.25', output: '10' };
const SHOWN = { input: '2.50', cached_input: '1.25', cache_write: '2.50', output: '10.00' };

describe('prices', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'prices-'));
    file = join(folder, 'prices.json');
    write(file, { fast: FAST, 'gpt-*': { input: '1', output: '2' } });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(path: string, models: object): void {
    writeFileSync(path, JSON.stringify({ currency: 'USD', models }));
  }

  const rowsOf = (stdout: string): readonly string[] =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replaceAll(/ +/g, ' '));

  it('are shown as the file has them, with what it leaves out', async () => {
    const { status, stdout, stderr } = await run('prices show', { env: { PRICES_FILE: file } });
    expect(rowsOf(stdout)).to.deep.equal([
      'USD per million tokens:',
      'MODEL INPUT CACHED WRITTEN OUTPUT',
      'fast 2.50 1.25 2.50 10.00',
      'gpt-* 1.00 1.00 1.00 2.00',
    ]);
    expect(stderr).to.equal('A running gateway keeps its prices until SIGHUP or a restart.\n');
    expect(status).to.equal(0);
  });

  it('are found for models as for their requests: by alias, pattern and similar name', async () => {
    const env = { PRICES_FILE: file, MODEL_ALIASES: '{"coder": "fast"}' };
    const { stdout } = await run('prices show coder gpt-5 FAST:latest other --json', { env });
    const cheap = { input: '1.00', cached_input: '1.00', cache_write: '1.00', output: '2.00' };
    expect(JSON.parse(stdout)).to.deep.equal({
      object: 'list',
      currency: 'USD',
      data: [
        { model: 'coder', price: SHOWN },
        { model: 'gpt-5', price: cheap },
        { model: 'FAST:latest', price: SHOWN },
        { model: 'other', price: null },
      ],
    });
  });

  it('are found by the aliases of a backend too', async () => {
    const backendsFile = join(folder, 'backends.json');
    const backends = [{ name: 'a', base_url: 'http://127.0.0.1:1/v1', aliases: { coder: 'fast' } }];
    writeFileSync(backendsFile, JSON.stringify({ backends }));
    const env = { PRICES_FILE: file, BACKENDS_FILE: backendsFile };
    expect(JSON.parse((await run('prices show coder --json', { env })).stdout).data).to.deep.equal([
      { model: 'coder', price: SHOWN },
    ]);
  });

  it('are compared with those of another file', async () => {
    const other = join(folder, 'new.json');
    write(other, { fast: { ...FAST, output: '12' }, slow: FAST });
    const { status, stdout } = await run(`prices check ${other}`, { env: { PRICES_FILE: file } });
    expect(rowsOf(stdout)).to.deep.equal([
      `${other}: 2 models, in USD per million tokens.`,
      `Beside ${file}, in USD:`,
      'MODEL CHANGE INPUT CACHED WRITTEN OUTPUT',
      'fast changed 2.50 1.25 2.50 10.00 → 12.00',
      'gpt-* gone 1.00 → none 1.00 → none 1.00 → none 2.00 → none',
      'slow new none → 2.50 none → 1.25 none → 2.50 none → 10.00',
    ]);
    expect(status).to.equal(0);
  });

  it('have a row for each tier', async () => {
    const other = join(folder, 'new.json');
    const long = { above_tokens: 200_000, input: '5.00', output: '20.00' };
    const flex = { service_tier: 'flex', above_tokens: 9, input: '1.00', output: '2.00' };
    const first = join(folder, 'first.json');
    write(first, { fast: { ...FAST, tiers: [long] } });
    write(other, { fast: { ...FAST, audio_input: '32', tiers: [flex, { ...long, input: '6' }] } });
    expect(rowsOf((await run('prices show', { env: { PRICES_FILE: other } })).stdout).slice(1, 5)).to.deep.equal([
      'MODEL INPUT CACHED WRITTEN OUTPUT',
      'fast 2.50 (audio 32.00) 1.25 2.50 10.00',
      'fast (flex, above 9) 1.00 1.00 1.00 2.00',
      'fast (above 200000) 6.00 6.00 6.00 20.00',
    ]);
    const { stdout } = await run(`prices check ${other}`, { env: { PRICES_FILE: first } });
    expect(rowsOf(stdout).slice(2)).to.deep.equal([
      'MODEL CHANGE INPUT CACHED WRITTEN OUTPUT',
      'fast changed 2.50 → 2.50 (audio 32.00) 1.25 2.50 10.00',
      'fast (above 200000) changed 5.00 → 6.00 5.00 → 6.00 5.00 → 6.00 20.00',
      'fast (flex, above 9) new none → 1.00 none → 1.00 none → 1.00 none → 2.00',
    ]);
  });

  it('are checked with the time zone, which holds from the next start on', async () => {
    const other = join(folder, 'zone.json');
    writeFileSync(other, JSON.stringify({ currency: 'USD', time_zone: 'Europe/Berlin', models: { fast: FAST } }));
    const { stdout } = await run(`prices check ${other}`, { env: { PRICES_FILE: file } });
    expect(stdout).to.include(
      'Spend limits begin anew by the time of Europe/Berlin, and not of UTC, from the next start on.',
    );
    const { stdout: same } = await run(`prices check ${file}`, { env: { PRICES_FILE: file } });
    expect(same).not.to.include('UTC');
  });

  it('are checked with every mistake of the file', async () => {
    const other = join(folder, 'wrong.json');
    write(other, { fast: { input: 3, output: '1' }, slow: { input: '1' } });
    const { status, stdout, stderr } = await run(`prices check ${other}`);
    expect(stdout).to.include(`${other}: models["fast"].input must be in quotes`);
    expect(stdout).to.include(`${other}: models["slow"] must have output`);
    expect({ status, stderr }).to.deep.equal({
      status: 1,
      stderr: 'The file has mistakes; the gateway would reject it.\n',
    });
    const { ok, problems } = JSON.parse((await run(`prices check ${other} --json`)).stdout);
    expect({ ok, count: problems.length }).to.deep.equal({ ok: false, count: 2 });
  });

  it('are those of the settings without a file', async () => {
    const { status, stdout } = await run('prices check', { env: { PRICES_FILE: file } });
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: `${file}: 2 models, in USD per million tokens.\n` });
  });

  for (const { line, says } of [
    { line: 'prices show', says: 'PRICES_FILE is not set, so no model has a price.\n' },
    { line: 'prices check', says: 'PRICES_FILE is not set; name a file.\n' },
  ]) {
    it(`are none where no file is set (${line})`, async () => {
      expect(await run(line)).to.deep.equal({ status: 1, stdout: '', stderr: says });
    });
  }
});
