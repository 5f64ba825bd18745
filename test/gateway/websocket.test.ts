import { expect } from 'chai';
import { request } from 'undici';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';

describe('a WebSocket handshake', () => {
  let gateway: TestGateway;

  beforeEach(async () => {
    gateway = await openGateway({});
  });

  afterEach(async () => {
    await gateway.close();
  });

  it('gets 426 at once, which sends Codex back to HTTP', async () => {
    const { statusCode, body } = await request(`${gateway.url}/api/v1/responses`, {
      headers: { authorization: `Bearer ${TEST_KEY}` },
      upgrade: 'websocket',
    });
    expect(statusCode).to.equal(426);
    expect(await body.json()).to.have.nested.property('error.code', 'method_not_allowed');
  });
});
