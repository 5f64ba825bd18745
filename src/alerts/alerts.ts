/** Notices what an operator should hear of, and sees to it that one gateway tells it once. */

import { createHash } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { hostname } from 'node:os';
import { messageOf } from '../core/errors.ts';
import type { Alert, BackendAlertData, FundsAlertData, StoreAlertData } from '../contract/operator-types.ts';
import { isGroupId } from '../core/ids.ts';
import { formatAmount } from '../core/money/decimal.ts';
import type { Store } from '../core/books/store.ts';
import type { AlertCount, AlertReadings } from '../telemetry/instruments.ts';
import { watchAccounts, type AccountWatch, type Reached } from './accounts.ts';
import { percentOf } from './spending.ts';
import { openWebhook, type AlertResult, type Webhook, type WebhookLog, type WebhookOptions } from './webhook.ts';

export interface Alerts {
  /** Looks at the store and at all accounts. Never rejects. */
  look(): Promise<void>;
  readonly noteRefusal: AccountWatch['noteRefusal'];
  /** Resolves when the alert waits for the webhook, or another gateway sends it. */
  noteRest(rest: { readonly backend: string; readonly restMs: number; readonly reason: string | null }): Promise<void>;
  readonly readings: AlertReadings;
  close(): Promise<void>;
}

export interface AlertsOptions {
  readonly store: Store;
  readonly storeKind: StoreAlertData['store'];
  /** Whether there are accounts. */
  readonly isManaged: boolean;
  readonly openWebhook: ((count: (alert: Alert, result: AlertResult) => void) => Webhook) | null;
  readonly currency: () => string | null;
  readonly nowMs: () => number;
  readonly log: WebhookLog;
  /** 0 looks only when it is asked to. */
  readonly everyMs?: number;
}

export interface OpenAlertsOptions extends Omit<AlertsOptions, 'openWebhook' | 'everyMs'> {
  /** Null sends nothing. */
  readonly webhook: Pick<WebhookOptions, 'url' | 'secret' | 'proxy'> | null;
  /** Whether metrics show the readings. */
  readonly isCounted: boolean;
  readonly lookup: LookupFunction;
}

/** Opens the alerts. Funds are looked at only where somebody hears of it. */
export function openAlerts({ webhook, isCounted, lookup, ...options }: OpenAlertsOptions): Alerts {
  const { nowMs, log } = options;
  return createAlerts({
    ...options,
    openWebhook: webhook && ((count) => openWebhook({ ...webhook, nowMs, log, count, lookup })),
    ...(webhook === null && !isCounted && { everyMs: 0 }),
  });
}

const TYPES = ['credits.threshold', 'spend.threshold', 'backend.resting', 'store.failing'] as const;
const RESULTS = ['sent', 'failed', 'dropped'] as const;

const EVERY_MS = 15_000;
/** A backend that comes and goes, and a store that does, are told of once in this time. */
const AGAIN_AFTER_MS = 3_600_000;

/** Starts to look regularly, until it is closed. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { store, nowMs, log, everyMs = EVERY_MS } = options;
  const counts = new Map<string, AlertCount>();
  // A series that begins with its first alert would hide it from `increase`.
  if (options.openWebhook !== null) for (const type of TYPES) for (const result of RESULTS) add(type, result, 0);
  const webhook = options.openWebhook?.(count) ?? null;
  const accounts = watchAccounts({ store, onReached: sendFunds });
  /** When this process has told of what has no period. */
  const sentAtMs = new Map<string, number>();
  let looking: Promise<void> | undefined;

  function count({ type }: Alert, result: AlertResult): void {
    add(type, result, 1);
  }

  function add(type: Alert['type'], result: AlertResult, more: number): void {
    const key = `${type} ${result}`;
    counts.set(key, { type, result, count: (counts.get(key)?.count ?? 0) + more });
  }

  async function lookOnce(): Promise<void> {
    try {
      if (store.isFailing()) await sendHourly('store.failing', 'store', { store: options.storeKind });
      else if (options.isManaged) await accounts.look();
    } catch (error) {
      // The store logs its own outages, and the next look tries again.
      const isExpected = store.isFailing();
      if (!isExpected) log.warn({ reason: messageOf(error) }, LOOK_FAILED);
    }
  }

  /** Returns whether this gateway or another one tells it. */
  async function sendFunds({ account, spending, level }: Reached): Promise<boolean> {
    if (webhook === null) return true;
    if (!webhook.hasRoom()) return false;
    const subject = `${account.id} ${spending.of}`;
    const { period } = spending;
    if (await store.claimAlert({ subject, period, level })) {
      const type = spending.of === 'credits' ? 'credits.threshold' : 'spend.threshold';
      send(type, `${subject} ${period} ${level}`, toFundsData({ account, spending, level }, options.currency()));
    }
    return true;
  }

  /** Tells what has no period, such as an outage, once in a while. */
  async function sendHourly(type: Alert['type'], subject: string, data: Alert['data']): Promise<void> {
    const now = nowMs();
    if (webhook === null || now - (sentAtMs.get(subject) ?? -Infinity) < AGAIN_AFTER_MS) return;
    sentAtMs.set(subject, now);
    const claim = { subject, period: '', level: 0, againAfterMs: AGAIN_AFTER_MS };
    // A store that cannot be asked must not keep the alert back. Its receiver sees equal ids.
    if (!(await store.claimAlert(claim).catch(() => true))) return;
    send(type, `${subject} ${Math.floor(now / AGAIN_AFTER_MS)}`, data);
  }

  function send(type: Alert['type'], what: string, data: Alert['data']): void {
    const id = `alert_${createHash('sha256').update(what).digest('hex').slice(0, 32)}`;
    log.warn({ alert: id, type, ...data }, 'an alert is sent');
    webhook?.send(id, { type, timestamp: new Date(nowMs()).toISOString(), gateway: hostname(), data });
  }

  const look = (): Promise<void> => {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const timer = everyMs === 0 ? undefined : setInterval(() => void look(), everyMs);
  timer?.unref();
  if (timer !== undefined) void look();

  return {
    look,
    noteRefusal: accounts.noteRefusal,
    noteRest({ backend, restMs, reason }) {
      const data: BackendAlertData = { backend, reason: reason ?? 'unknown', rest_ms: Math.ceil(restMs) };
      return sendHourly('backend.resting', `backend ${backend}`, data);
    },
    get readings() {
      return { groups: accounts.groups, reached: accounts.reached, alerts: [...counts.values()] };
    },
    async close() {
      clearInterval(timer);
      await looking;
      await webhook?.close();
    },
  };
}

const LOOK_FAILED = 'what accounts have spent could not be looked at';

function toFundsData({ account, spending, level }: Reached, currency: string | null): FundsAlertData {
  const { id, name, groupName } = account;
  const { of, usedMicro, limitMicro, opensAtMs } = spending;
  return {
    account: { object: isGroupId(id) ? 'group' : 'key', id, name, group: groupName },
    threshold: level,
    reason: percentOf(spending) < level ? 'refused' : 'reached',
    used_percent: percentOf(spending),
    used: formatAmount(usedMicro),
    limit: formatAmount(limitMicro),
    currency,
    per: of === 'credits' ? null : of,
    opens_at: opensAtMs === null ? null : opensAtMs / 1000,
  };
}
