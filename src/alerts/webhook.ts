/** Posts alerts as https://www.standardwebhooks.com describes it. */

import { createHmac } from 'node:crypto';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { messageOf } from '../core/errors.ts';
import { bareHostOf } from '../core/bare-host.ts';
import type { Alert } from '../contract/operator-types.ts';
import { createBackOff } from '../core/back-off.ts';

export interface Webhook {
  hasRoom(): boolean;
  /** Returns at once. Drops the alert when there is no room. */
  send(id: string, alert: Alert): void;
  /** Drops what waits. */
  close(): Promise<void>;
}

export interface WebhookOptions {
  readonly url: string;
  readonly secret: string;
  readonly proxy?: { readonly url: string };
  readonly nowMs: () => number;
  readonly log: WebhookLog;
  readonly count: (alert: Alert, result: AlertResult) => void;
  readonly lookup: LookupFunction;
}

export interface WebhookLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export type AlertResult = 'sent' | 'failed' | 'dropped';

interface Waiting {
  readonly id: string;
  readonly alert: Alert;
}

const MAX_WAITING = 100;
const TRIES = 8;
const ANSWER_WITHIN_MS = 10_000;
const BACK_OFF = { firstMs: 1000, atMostMs: 60_000 };
const MAX_ANSWER_BYTES = 65_536;

/** Opens the webhook. Alerts are posted one after the other. */
export function openWebhook(options: WebhookOptions): Webhook {
  const { url, log, count } = options;
  const key = Buffer.from(options.secret.slice('whsec_'.length), 'base64');
  let agent: Dispatcher | undefined;
  const closing = new AbortController();
  const waiting: Waiting[] = [];
  let sending: Promise<void> | undefined;

  async function sendAll(): Promise<void> {
    for (let next = waiting[0]; next !== undefined && !closing.signal.aborted; next = waiting[0]) {
      await sendOne(next);
      waiting.shift();
    }
    sending = undefined;
  }

  async function sendOne({ id, alert }: Waiting): Promise<void> {
    const nextWaitMs = createBackOff(BACK_OFF);
    const body = JSON.stringify(alert);
    for (let tries = 1; !closing.signal.aborted; tries += 1) {
      const problem = await post(id, body);
      if (problem === undefined) return count(alert, 'sent');
      if (closing.signal.aborted) break;
      if (tries === TRIES) {
        log.error({ alert: id, type: alert.type, tries, problem }, 'the alert was given up');
        return count(alert, 'failed');
      }
      log.warn({ alert: id, type: alert.type, tries, problem }, 'the alert was not taken, and is sent again');
      await delay(nextWaitMs(false), undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
    count(alert, 'dropped');
  }

  async function post(id: string, body: string): Promise<string | undefined> {
    const fault = options.proxy === undefined ? addressFault(bareHostOf(new URL(url)), url) : proxyFault(url);
    if (fault !== undefined) return fault;
    const timestamp = String(Math.floor(options.nowMs() / 1000));
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ANSWER_WITHIN_MS);
    try {
      // Loaded with the first alert, because it would be a tenth of a start.
      const undici = await import('undici');
      agent ??=
        options.proxy === undefined
          ? new undici.Agent({ connections: 1, connect: { timeout: ANSWER_WITHIN_MS, lookup: lookUpAllowed(options) } })
          : new undici.ProxyAgent({
              uri: options.proxy.url,
              connections: 1,
              connectTimeout: ANSWER_WITHIN_MS,
              proxyTls: { lookup: options.lookup },
            });
      const { statusCode, body: answer } = await undici.request(url, {
        method: 'POST',
        dispatcher: agent,
        signal: AbortSignal.any([late.signal, closing.signal]),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'responses-gateway',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
      });
      await answer.dump({ limit: MAX_ANSWER_BYTES });
      if (statusCode >= 200 && statusCode < 300) return undefined;
      const isRedirect = statusCode >= 300 && statusCode < 400;
      return `it answers ${statusCode}${isRedirect ? ', and redirects are not followed' : ''}`;
    } catch (error) {
      if (late.signal.aborted) return `it does not answer within ${ANSWER_WITHIN_MS / 1000} s`;
      return messageOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    hasRoom: () => waiting.length < MAX_WAITING,
    send(id, alert) {
      if (closing.signal.aborted || waiting.length >= MAX_WAITING) return count(alert, 'dropped');
      waiting.push({ id, alert });
      sending ??= sendAll();
    },
    async close() {
      closing.abort();
      if (waiting.length > 0) log.warn({ waiting: waiting.length }, 'the gateway ends with alerts that were not sent');
      await sending;
      await agent?.destroy();
    },
  };
}

/** Checks the address that the connection goes to, since a name can change between two lookups. */
function lookUpAllowed(options: WebhookOptions): LookupFunction {
  return (host, { all, ...how }, callback) => {
    options.lookup(host, { ...how, all: true }, (error, addresses) => {
      const found = typeof addresses === 'string' ? [] : addresses;
      const [first] = found;
      if (error !== null || first === undefined) return callback(error ?? new Error(`${host} has no address`), []);
      const fault = found.map(({ address }) => addressFault(address, options.url)).find((fault) => fault !== undefined);
      if (fault !== undefined) return callback(new Error(fault), []);
      if (all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

/** Behind a proxy nobody here knows the address. */
function proxyFault(url: string): string | undefined {
  if (url.startsWith('https:')) return undefined;
  return 'ALERT_WEBHOOK_URL leads through a proxy without https:// (NO_PROXY names hosts of the own network)';
}

/** Without TLS only to the own network. Names are checked when they have been resolved. */
function addressFault(address: string, url: string): string | undefined {
  if (url.startsWith('https:') || isIP(address) === 0) return undefined;
  if (OWN_NETWORKS.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return undefined;
  return 'ALERT_WEBHOOK_URL leads to a public address without https://';
}

/**
 * What no router of the internet passes on: loopback, private, shared and link-local addresses. An IPv6 address that embeds an
 * IPv4 one (RFC 4291, 6052, 3056) leads where that leads.
 */
const OWN_NETWORKS = new BlockList();
for (const [address, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  OWN_NETWORKS.addSubnet(address, prefix, isIPv6(address) ? 'ipv6' : 'ipv4');
