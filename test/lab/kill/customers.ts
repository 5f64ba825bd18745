import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { KeyId } from '../../../src/contract/ids.ts';
import { parseKeyId } from '../../../src/core/ids.ts';
import type { IssuedKey } from '../../../src/contract/operator-types.ts';
import { callerOf, type Caller } from '../../records/caller.ts';
import { callerBy } from '../../records/web-socket-caller.ts';
import { expectBooksToAddUp } from '../../support/books.ts';

/** Who asks in the kill loop, and what else than the records must hold for him. */
export interface Customer {
  /** Of the gateway that serves him. */
  readonly settings: Readonly<Record<string, string>>;
  /** At a gateway that has just started. */
  readonly enter: (url: string) => Promise<Caller>;
  /** Sends the request of this name, which is always the same. */
  readonly ask: (caller: Caller, name: string) => Promise<Response>;
  /** Pays for more at this gateway, where that can be done. */
  readonly topUp: (url: string) => Promise<void>;
  readonly expectBooks: (file: string) => void;
}

export type CustomerKind = keyof typeof CUSTOMERS;

/** Each makes its files in this folder. */
export const CUSTOMERS = {
  'with a key of the backend': withBackendKey,
  'with a prepaid key': withPrepaidKey,
  'over WebSockets': overWebSockets,
  'for compactions': forCompactions,
} as const;

function withBackendKey(): Customer {
  return {
    settings: {},
    enter: (url) => Promise.resolve(callerOf(url)),
    ask: askForResponse,
    topUp: () => Promise.resolve(),
    expectBooks: () => undefined,
  };
}

function overWebSockets(): Customer {
  return { ...withBackendKey(), enter: (url) => Promise.resolve(callerBy('web socket', url)) };
}

function forCompactions(): Customer {
  return { ...withBackendKey(), enter: (url) => Promise.resolve(callerBy('compaction', url)) };
}

const ADMIN_TOKEN = 'the-admin-token-of-the-kill-loop';
const FIRST_CREDITS = 1_000_000_000;
const TOP_UP = 250_000;

function withPrepaidKey(folder: string): Customer {
  const pricesFile = join(folder, 'prices.json');
  writeFileSync(pricesFile, '{"currency": "USD", "models": {"m": {"input": "2", "output": "10"}}}');
  let key: { readonly id: KeyId; readonly secret: string } | undefined;
  let topUps = 0;

  return {
    settings: { AUTH_MODE: 'managed', ADMIN_TOKEN, PRICES_FILE: pricesFile },
    async enter(url) {
      key ??= await issueKey(url);
      // Whether the last one came before the kill is not known. With the same reference it is not added twice.
      if (topUps > 0) await addCredits(url, key.id, topUps);
      return callerOf(url, key.secret);
    },
    ask: (caller, name) => (isForChat(name) ? askForCompletion : askForResponse)(caller, name),
    async topUp(url) {
      topUps += 1;
      if (key !== undefined) await addCredits(url, key.id, topUps);
    },
    expectBooks(file) {
      if (key === undefined) throw new Error('the customer has no key yet');
      const { balanceMicro, lowestMicro, spentMicro } = expectBooksToAddUp(file, key.id);
      expect(balanceMicro + spentMicro, 'what was paid').to.equal(FIRST_CREDITS + topUps * TOP_UP);
      expect(lowestMicro, 'the lowest balance').to.equal(0);
    },
  };
}

function askForResponse(caller: Caller, name: string): Promise<Response> {
  const headers = { 'idempotency-key': name };
  return caller.create({ model: 'm', input: name, max_output_tokens: 100, stream: isForStream(name) }, { headers });
}

function askForCompletion(caller: Caller, name: string): Promise<Response> {
  const messages = [{ role: 'user', content: name }];
  const headers = { 'idempotency-key': name };
  return caller.complete({ model: 'm', messages, max_tokens: 100, stream: isForStream(name) }, { headers });
}

function isForStream(name: string): boolean {
  return name.length % 2 === 0;
}

function isForChat(name: string): boolean {
  return /[13579]$/.test(name);
}

async function issueKey(url: string): Promise<{ id: KeyId; secret: string }> {
  const reply = await administrate(`${url}/admin/v1/keys`, {
    name: `customer ${randomUUID()}`,
    credits: '1000.00',
  });
  expect(reply.status).to.equal(201);
  const { id, secret } = (await reply.json()) as IssuedKey;
  const keyId = parseKeyId(id);
  if (keyId === undefined) throw new Error('the key has no id');
  return { id: keyId, secret };
}

async function addCredits(url: string, keyId: KeyId, time: number): Promise<void> {
  const entry = { amount: '0.25', note: '', reference: `top up ${time}` };
  const reply = await administrate(`${url}/admin/v1/keys/${keyId}/credits`, entry);
  expect(reply.status, await reply.text()).to.be.oneOf([200, 409]);
}

function administrate(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
