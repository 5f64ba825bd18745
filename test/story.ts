/**
 * `npm run lab story`: which files one request runs through, by V8's own count. Opens a gateway in this process, sends it one JSON
 * request and one stream, and prints the files and functions that ran, and the files that a reader has to open to follow a JSON
 * request from `requests/respond.ts` to the doors of the other rooms.
 */

import { readFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createGateway, readConfig } from '../src/gateway.ts';
import { startScriptedBackend } from './support/backend.ts';

const SOURCES = join(import.meta.dirname, '../src');

// What is done from time to time belongs to no request, however long one takes here.
mock.timers.enable({ apis: ['setInterval'] });
const backend = await startScriptedBackend();
const gateway = await createGateway(
  readConfig({ UPSTREAM_BASE_URL: backend.baseUrl, DATABASE_URL: ':memory:', PORT: '0', LOG_LEVEL: 'silent' }),
);
const { url } = await gateway.listen();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

// The first request loads what is loaded late; the second one shows what every request does.
const json = await countSecond(false);
const stream = await countSecond(true);
await gateway.close();
await backend.close();

print('a JSON request', json);
print('a stream', stream);
const story = json.filter(({ file }) => file.startsWith('requests/'));
const doors = findDoors(story);
console.log(`\nthe story of a JSON request, ${story.length} files to open:`);
for (const { file, entries } of story) {
  const again = entries.filter(({ count }) => count > 1).map(({ name, count }) => `${name} ${count} times`);
  console.log(`  ${file}${again.length === 0 ? '' : `  (entered more than once: ${again.join(', ')})`}`);
}
console.log(`\nthe doors where it ends, ${doors.length} files known by what they promise:\n  ${doors.join('\n  ')}`);

interface CountedFile {
  /** Below `src`. */
  readonly file: string;
  readonly functions: number;
  readonly calls: number;
  /** Exported functions which were called, but for async ones, which V8 counts anew after each wait. */
  readonly entries: readonly { readonly name: string; readonly count: number }[];
}

async function countSecond(isStream: boolean): Promise<readonly CountedFile[]> {
  await request(isStream);
  await session.post('Profiler.takePreciseCoverage');
  await request(isStream);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result.flatMap(toCountedFile).toSorted((one, other) => one.file.localeCompare(other.file));
}

async function request(isStream: boolean): Promise<void> {
  const chunk = { choices: [{ index: 0, delta: { content: 'Hi!' } }] };
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const completion = { choices: [{ index: 0, message: { content: 'Hi!' }, finish_reason: 'stop' }] };
  backend.reply(isStream ? { sse: [chunk, end] } : { json: completion });
  const reply = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: 'Hello', stream: isStream }),
  });
  await reply.text();
}

function toCountedFile({ url, functions }: Profiler.ScriptCoverage): readonly CountedFile[] {
  if (!url.startsWith('file:')) return [];
  const path = fileURLToPath(url);
  const file = relative(SOURCES, path);
  if (file.startsWith('..')) return [];
  const exported = new Set(
    [...readFileSync(path, 'utf8').matchAll(/^export function (\w+)/gm)].map(([, name]) => name),
  );
  const called = functions.map(({ functionName: name, ranges }) => ({ name, count: ranges[0]?.count ?? 0 }));
  const ran = called.filter(({ name, count }) => count > 0 && name !== '');
  if (ran.length === 0) return [];
  const calls = ran.reduce((sum, { count }) => sum + count, 0);
  return [{ file, functions: ran.length, calls, entries: ran.filter(({ name }) => exported.has(name)) }];
}

/** The files of other rooms from which the story takes more than types. */
function findDoors(files: readonly CountedFile[]): readonly string[] {
  const doors = files.flatMap(({ file }) => {
    const source = readFileSync(join(SOURCES, file), 'utf8');
    return [...source.matchAll(/^import (?!type )[^']*'\.\.\/([^']+)'/gm)].map(([, door = '']) => door);
  });
  return [...new Set(doors)].toSorted();
}

function print(title: string, files: readonly CountedFile[]): void {
  const functions = files.reduce((sum, file) => sum + file.functions, 0);
  const calls = files.reduce((sum, file) => sum + file.calls, 0);
  console.log(`\n${title}: ${files.length} files, ${functions} functions, ${calls} calls`);
  for (const file of files) console.log(`  ${file.file}  ${file.functions} functions, ${file.calls} calls`);
}
