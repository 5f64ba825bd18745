/** Customers who notice nothing while one gateway after the other is replaced. */
import { expect } from 'chai';
import { readTold } from '../../records/caller.ts';
import { answer, finish, text, usageChunk } from '../../records/chunks.ts';
import type { Script } from '../../support/backend.ts';
import { expectServerBooksToAddUp } from '../../support/books.ts';
import type { ProcessOptions } from '../../support/gateway-process.ts';
import { until, untilRead } from '../../support/time.ts';
import { COST_MICRO, type Cluster } from './open-cluster.ts';

const CUSTOMERS = 6;
/** How often a load balancer tries another gateway for one request. */
const TRIES = 20;

/**
 * Replaces all gateways of the cluster by this program, one after the other, under load. Fails unless every request is
 * answered, at one call to the backend for each.
 */
export async function expectNoBreak(cluster: Cluster, program: ProcessOptions): Promise<void> {
  const key = await cluster.issueKey('100.00');
  const asked = cluster.backend.requests.length;
  cluster.backend.always(slowAnswer);
  const load = { isOver: false, answered: 0 };

  async function ask(name: string, isStream: boolean): Promise<void> {
    const body = { model: 'm', input: name, stream: isStream };
    for (let turn = 0; turn < TRIES; turn += 1) {
      const caller = cluster.at(load.answered + turn, key.secret);
      const reply = await caller.create(body, { headers: { 'idempotency-key': name } }).catch(() => undefined);
      const told = reply && (await readTold(reply));
      if (told !== undefined && 'ends' in told) {
        expect(told, name).to.deep.equal({ ends: 'completed' });
        load.answered += 1;
        return;
      }
      // Nobody listens there, or only to what runs: a load balancer asks the next one.
      if (told !== undefined) expect(told, name).to.deep.equal({ status: 503, code: 'gateway_draining' });
    }
    throw new Error(`nobody has answered ${name}`);
  }

  async function countRunning(): Promise<number> {
    const reply = await cluster.at(0, key.secret).get('/api/v1/requests?status=processing');
    return ((await reply.json()) as { data: unknown[] }).data.length;
  }

  const customers = Array.from({ length: CUSTOMERS }, async (_, customer) => {
    for (let request = 0; !load.isOver; request += 1) await ask(`${customer} ${request}`, request % 2 === 0);
  });
  const replacing = async (): Promise<void> => {
    for (const place of cluster.gateways.keys()) {
      const before = load.answered;
      await cluster.replace(place, program);
      // Everybody is served beside the new one as well.
      await until(() => load.answered >= before + CUSTOMERS);
    }
  };
  await Promise.all([
    replacing().finally(() => {
      load.isOver = true;
    }),
    ...customers,
  ]);
  expect(cluster.backend.requests).to.have.lengthOf(asked + load.answered);
  await untilRead(async () => (await countRunning()) === 0);
  expect(await expectServerBooksToAddUp(cluster.database.url, key.id)).to.include({
    requests: load.answered,
    spentMicro: load.answered * COST_MICRO,
  });
}

/** Long enough for a gateway to be stopped in the middle of it. */
const slowAnswer: Script = async (stage) => {
  if ((stage.request.body as { stream?: boolean }).stream !== true) {
    await stage.wait(100);
    await answer()(stage);
    return;
  }
  stage.start();
  for (let piece = 0; piece < 5; piece += 1) {
    await stage.sse(text('Hello'));
    await stage.wait(30);
  }
  await stage.sse(finish('stop'), usageChunk, '[DONE]');
  stage.end();
};
