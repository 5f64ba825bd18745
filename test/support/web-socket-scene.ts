import type { TestSettings } from './settings.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { ResponseResource, WebSocketError } from '../../src/contract/types.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from './backend.ts';
import { openGateway, type TestGateway } from './gateway.ts';
import { speakTo, type Answer, type ConnectionContext, type SpeakOptions } from './web-socket.ts';
import { expectWellFormed } from './well-formed.ts';

/** A backend that answers, a gateway in front of it, and those who speak to that. */
export interface Scene {
  readonly backend: ScriptedBackend;
  readonly gateway: TestGateway;
  /** Opens the gateway, and a first WebSocket. */
  open(settings?: TestSettings, overrides?: GatewayOverrides): Promise<ConnectionContext>;
  speak(options?: SpeakOptions): Promise<ConnectionContext>;
}

/** For the tests of one `describe`: opens a backend before each, and closes everything after it. */
export function useScene(): Scene {
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;
  let speakers: ConnectionContext[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    gateway = undefined;
    speakers = [];
  });

  afterEach(async () => {
    for (const { ws } of speakers) ws.terminate();
    await gateway?.close();
    await backend.close();
  });

  const scene: Scene = {
    get backend() {
      return backend;
    },
    get gateway() {
      if (gateway === undefined) throw new Error('the gateway is not open yet');
      return gateway;
    },
    async open(settings = {}, overrides) {
      gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
      return scene.speak();
    },
    async speak(options) {
      const speaker = await speakTo(scene.gateway.url, options);
      speakers.push(speaker);
      return speaker;
    },
  };
  return scene;
}

/** The final response of an answer that is one. */
export function responseOf(given: Answer): ResponseResource {
  if ('status' in given) throw new Error(JSON.stringify(given));
  return expectWellFormed(given);
}

/** The status and the code of an answer that is an error. */
export function refusalOf(given: Answer): readonly [status: number, code: string, param: string] {
  const { status, error } = errorOf(given);
  return [status, error.code, error.param];
}

export function errorOf(given: Answer): WebSocketError {
  if ('status' in given) return given;
  throw new Error(`no error: ${JSON.stringify(given.at(-1))}`);
}
