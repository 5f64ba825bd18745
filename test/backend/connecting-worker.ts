/** Asks once, in a thread without nock, whose sockets call themselves connected before they are. */

import { parentPort, workerData } from 'node:worker_threads';
import { askFor, connectTo, JSON_REQUEST, rejection } from './asking.ts';

const { baseUrl, connectTimeoutMs } = workerData as { baseUrl: string; connectTimeoutMs: number };
const backend = connectTo(baseUrl, { connectTimeoutMs });
const error = await rejection(askFor(backend, JSON_REQUEST, { signal: new AbortController().signal, headers: {} }));
await backend.close();
const { code, status, message } = error as { code?: string; status?: number; message?: string };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this port is no window
parentPort?.postMessage({ code, status, message });
