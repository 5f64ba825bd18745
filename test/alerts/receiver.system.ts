/** The receiver of the guide, which checks what the gateway signs. */
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { lookup } from 'node:dns';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import alertSchema from '../../schemas/alert.json' with { type: 'json' };
import { openWebhook } from '../../src/alerts/webhook.ts';
import type { Alert } from '../../src/contract/operator-types.ts';
import { BLOCKS } from '../docs/documents.ts';
import { blocksRunAs } from '../docs/blocks.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/time.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

describe('the alerts of the guide on operation', () => {
  let folder: string;
  let receiver: ChildProcess;
  let url: string;
  let printed: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'receiver-'));
    const [block] = blocksRunAs('receiver');
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    writeFileSync(join(folder, 'receiver.mjs'), block?.code.replace('9099', String(port)) ?? '');
    receiver = spawn(process.execPath, [join(folder, 'receiver.mjs')], { env: { ALERT_WEBHOOK_SECRET: SECRET } });
    printed = '';
    receiver.stdout?.on('data', (bytes: Buffer) => {
      printed += bytes.toString();
    });
    await until(async () => (await fetch(url).catch(() => undefined))?.status === 401);
  });
  after(async () => {
    receiver.kill();
    await once(receiver, 'exit');
    rmSync(folder, { recursive: true });
  });

  const example = (): unknown => {
    const block = BLOCKS.find(({ language, code }) => language === 'json' && code.includes('"spend.threshold"'));
    return JSON.parse(block?.code ?? '');
  };

  async function send(secret: string, nowMs: () => number): Promise<string> {
    const said: string[] = [];
    const note = (fields: Readonly<Record<string, unknown>>) => void said.push(String(fields['problem']));
    const webhook = openWebhook({
      lookup,
      url,
      secret,
      nowMs,
      log: { warn: note, error: note },
      count: (_alert, result) => said.push(result),
    });
    webhook.send('alert_1', example() as Alert);
    await until(() => said.length > 0);
    await webhook.close();
    return said[0] ?? '';
  }

  it('shows an alert of the schema', () => {
    const isAlert = new Ajv({ allowUnionTypes: true }).compile(alertSchema);
    expect(isAlert(example()), JSON.stringify(isAlert.errors)).to.equal(true);
  });

  it('has a receiver that takes what the gateway signs', async () => {
    expect(await send(SECRET, Date.now)).to.equal('sent');
    await until(() => printed.includes('\n'));
    expect(JSON.parse(printed)).to.deep.equal(example());
  });

  it('has a receiver that refuses another secret', async () => {
    expect(await send(`whsec_${'b'.repeat(44)}`, Date.now)).to.equal('it answers 401');
  });

  it('has a receiver that refuses what is old', async () => {
    expect(await send(SECRET, () => Date.now() - 301_000)).to.equal('it answers 401');
  });
});
