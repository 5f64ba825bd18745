import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CreateResponse, ResponseEvent, ResponseResource } from '../../src/contract/types.ts';
import type { MachineSettings } from './machine.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');

export interface Fixture {
  readonly name: string;
  readonly request: CreateResponse;
  /** What the gateway is set to, where the case depends on it. */
  readonly settings: MachineSettings;
  /** The backend's answer, byte for byte. */
  readonly sse: Buffer;
  expectedEvents(): ResponseEvent[];
  expectedResponse(): ResponseResource;
  /** Writes what was got as what is expected from now on. Every line of the difference is to be read against the contract. */
  update(events: readonly ResponseEvent[]): void;
}

/** All cases of `test/fixtures`, one folder each. */
export function loadFixtures(): Fixture[] {
  return readdirSync(FIXTURES).map(loadFixture);
}

function loadFixture(name: string): Fixture {
  const path = (file: string) => join(FIXTURES, name, file);
  const settings = path('settings.json');
  return {
    name,
    request: readJson(path('request.json')) as CreateResponse,
    settings: existsSync(settings) ? (readJson(settings) as MachineSettings) : {},
    sse: readFileSync(path('chunks.sse')),
    expectedEvents: () => readJson(path('events.json')) as ResponseEvent[],
    expectedResponse: () => readJson(path('response.json')) as ResponseResource,
    update(events) {
      // One event a line, so that a difference is read event by event.
      writeFileSync(path('events.json'), `[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]\n`);
      const terminal = events.at(-1);
      const response = terminal !== undefined && 'response' in terminal ? terminal.response : null;
      writeFileSync(path('response.json'), `${JSON.stringify(response, null, 2)}\n`);
    },
  };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
