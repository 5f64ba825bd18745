import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { expectUnmarked, tellEverything } from './canary.ts';

describe('what is told to the gateway', () => {
  useRealSockets();

  let backend: ScriptedBackend;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await backend.close();
  });

  for (const format of ['json', 'pretty']) {
    it(`is not said by a process at any level of its log, in ${format} lines`, async () => {
      let said = '';
      const gateway = await startGatewayProcess(
        { LOG_LEVEL: 'trace', LOG_FORMAT: format, UPSTREAM_BASE_URL: backend.baseUrl },
        { onLog: (piece) => (said += piece) },
      );
      try {
        await tellEverything(gateway.url ?? '', backend);
      } finally {
        await gateway.stop();
      }
      const { stderr } = await gateway.ended();
      expectUnmarked(gateway.banner + said + stderr, 'what the process said');
      expect(said.split('\n').filter((line) => line.includes('the-model')).length).to.be.above(20);
    });
  }
});
