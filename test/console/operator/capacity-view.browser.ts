import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { expectGoodLooks } from '../looks.ts';
import { inHalves, useConsole } from '../scene.ts';

describe('the backends of the operator', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'backends-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const scene = useConsole({
    settings({ baseUrl }) {
      const file = join(folder, 'backends.json');
      const backends = [
        { name: 'gpu-a', base_url: baseUrl, models: ['m', 'qwen3-*'], max_concurrent: 4 },
        { name: 'gpu-b', base_url: baseUrl, dialect: 'vllm', models: ['other'], weight: 2 },
      ];
      writeFileSync(file, JSON.stringify({ backends }));
      return { BACKENDS_FILE: file };
    },
  });

  async function makeRest(): Promise<void> {
    for (let count = 0; count < 3; count += 1) {
      scene.backend.reply({ json: {}, status: 503, headers: { 'retry-after': '600' } });
      await scene.create({ model: 'other', input: 'Hi' });
    }
  }

  it('show what runs, and change while one looks', async () => {
    const ended = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(ended.promise));
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    const page = await scene.openOperator('backends');
    const row = page.getByRole('row', { name: 'gpu-a' });
    await row.getByText('1 of 4').waitFor();
    ended.resolve();
    await reply;
    await row.getByText('0 of 4').waitFor();
    // What it has answered is counted when all of it has come.
    await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    expect(await row.getByRole('cell').allInnerTexts()).to.include.members(['up', 'm, qwen3-*']);
    await page.getByText(`The gateway that answers is ${hostname()}.`).waitFor();
  });

  it('say why one rests, and until when', async () => {
    await makeRest();
    const page = await scene.openOperator('backends');
    const row = page.getByRole('row', { name: 'gpu-b' });
    await row.getByText(/^resting$/).waitFor();
    await row.getByText(/until .*, after upstream_/).waitFor();
  });

  it('say what is wrong when the gateway is gone, and keep what they know', async () => {
    scene.tolerate(/ERR_/);
    const page = await scene.openOperator('backends');
    await page.route('**/admin/v1/backends', (route) => route.abort());
    await page.getByText('The gateway does not answer. Is it still running?').waitFor();
    await page.getByRole('row', { name: 'gpu-a' }).waitFor();
    await page.unroute('**/admin/v1/backends');
    await page.getByText('Live').waitFor();
    await page.getByText('The gateway does not answer').waitFor({ state: 'hidden' });
  });

  it('look well on each screen, by day and by night', async () => {
    await makeRest();
    const page = await scene.openOperator('backends');
    await page.getByRole('row', { name: 'gpu-a' }).waitFor();
    await expectGoodLooks(page, 'operator-backends');
  });
});
