/** A request that another process was asked to cancel while its end was on its way to the disk. */

import { expect } from 'chai';
import type { RequestId } from '../../src/contract/ids.ts';
import type { TestSettings } from '../support/settings.ts';
import { parseRequestId } from '../../src/core/ids.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import { openStore } from '../../src/store/open.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import type { Store } from '../../src/core/books/store.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { listen, type Heard } from '../support/heard.ts';
import { makeHeld, type HeldStore } from '../support/held-store.ts';
import { GATEWAY_SECRET, openManagedGateway } from '../support/managed.ts';
import { PATIENT } from '../support/patient.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { newOutcome } from '../support/records.ts';
import { until } from '../support/time.ts';
import { callerOf, type Caller } from './caller.ts';
import { answer, stream, text } from './chunks.ts';
import { callerBy, KINDS } from './web-socket-caller.ts';

/** A short reply without it is recorded at once with its end. */
const KEY = { 'idempotency-key': 'key-1' };
const MESSAGES = [{ role: 'user', content: 'Hello' }];

describe('a request that was cancelled elsewhere while its end was on its way', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let below: Store;
  let store: HeldStore;
  let gateways: TestGateway[];

  beforeEach(async () => {
    gateways = [];
    backend = await startScriptedBackend();
    below = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, limits: PATIENT });
    store = makeHeld(below);
  });

  afterEach(async () => {
    store.letGo();
    for (const gateway of gateways) await gateway.close();
    await store.close();
    await backend.close();
  });

  /** Two gateways on one store, which know nothing of each other. */
  async function open<Opened extends TestGateway>(
    openOne: (settings: TestSettings, overrides: GatewayOverrides) => Promise<Opened>,
  ): Promise<readonly [here: Opened, elsewhere: Opened]> {
    const shared = { ...store, close: () => Promise.resolve() };
    const openNext = async (): Promise<Opened> => {
      const gateway = await openOne({ UPSTREAM_BASE_URL: backend.baseUrl, GATEWAY_SECRET }, { store: shared });
      gateways.push(gateway);
      return gateway;
    };
    return [await openNext(), await openNext()];
  }

  async function runningAt(caller: Caller): Promise<RequestId> {
    const list = await caller.get('/api/v1/requests?status=processing');
    const { data } = (await list.json()) as { data: { request_id: string }[] };
    const requestId = parseRequestId(data[0]?.request_id ?? '');
    if (requestId === undefined) throw new Error('no request is running');
    return requestId;
  }

  async function expectCancelled(heard: Heard, elsewhere: Caller): Promise<void> {
    const requestId = await runningAt(elsewhere);
    expect((await elsewhere.cancel(requestId)).status).to.equal(202);
    store.letGo();
    await until(() => heard.isOver);
    expect(heard.text).to.include('request_cancelled');
    // What a stream has said before is whole. The response is not.
    if (/^event: response/m.test(heard.text)) {
      expect(heard.text).to.match(/"status": ?"cancelled"/);
      expect(heard.text).not.to.include('response.completed');
    } else {
      expect(heard.text).not.to.match(/response\.completed|"status": ?"completed"/);
    }
    expect(heard.status).to.be.oneOf([200, 409]);
    expect((await elsewhere.record(requestId)).status).to.equal('cancelled');
  }

  const REPLIES: readonly { readonly name: string; readonly script: Reply; readonly ends: 'finish' | 'discard' }[] = [
    { name: 'an answer', script: answer(), ends: 'finish' },
    { name: 'a refusal', script: { json: { error: { message: 'no' } }, status: 400 }, ends: 'finish' },
    { name: 'a failure in its middle', script: stream([text('Hello')], 'cut'), ends: 'finish' },
    { name: 'a refused key', script: { json: { error: { message: 'no' } }, status: 401 }, ends: 'discard' },
  ];

  for (const kind of KINDS) {
    for (const { name, script, ends } of REPLIES) {
      it(`ends as a cancel for its client instead of ${name} (${kind})`, async () => {
        const [here, elsewhere] = await open(openGateway);
        backend.reply(script);
        const settling = store.hold(ends);
        const request = { model: 'm', input: 'Hi', stream: kind === 'stream' };
        const heard = listen(callerBy(kind, here.url).create(request, { headers: KEY }));
        await settling;
        await expectCancelled(heard, callerOf(elsewhere.url));
      });
    }
  }

  for (const isStream of [false, true]) {
    for (const { name, script } of REPLIES.filter(({ ends }) => ends === 'finish')) {
      it(`ends as a cancel instead of ${name} to a chat completion (${isStream ? 'stream' : 'json'})`, async () => {
        const [here, elsewhere] = await open(openManagedGateway);
        const { secret } = await here.issue();
        backend.reply(script);
        const settling = store.hold('finish');
        const heard = listen(callerOf(here.url, secret).complete({ model: 'm', messages: MESSAGES, stream: isStream }));
        await settling;
        await expectCancelled(heard, callerOf(elsewhere.url, secret));
      });
    }
  }

  for (const isStream of [false, true]) {
    it(`tells it also if the gateway ends then, of a chat completion (${isStream ? 'stream' : 'json'})`, async () => {
      const [here] = await open(openManagedGateway);
      const { secret } = await here.issue();
      backend.reply(answer());
      const settling = store.hold('finish');
      const heard = listen(callerOf(here.url, secret).complete({ model: 'm', messages: MESSAGES, stream: isStream }));
      await settling;
      const closing = here.close();
      store.letGo();
      await Promise.all([closing, until(() => heard.isOver)]);
      expect(heard.text).to.match(isStream ? /\[DONE\]\s*$/ : /"finish_reason"/);
      expect(heard.text).not.to.include('gateway_interrupted');
    });
  }

  it('is told as interrupted if others have closed its record meanwhile', async () => {
    const [here, elsewhere] = await open(openGateway);
    backend.reply(answer());
    const settling = store.hold('finish');
    const heard = listen(here.create({ model: 'm', input: 'Hi' }, { headers: KEY }));
    await settling;
    const requestId = await runningAt(callerOf(elsewhere.url));
    await below.finish(requestId, newOutcome({ status: 'failed', errorCode: 'gateway_interrupted' }));
    store.letGo();
    await until(() => heard.isOver);
    expect(heard.status).to.equal(503);
    expect(heard.text).to.include('gateway_interrupted');
  });
});
