import type { LookupFunction } from 'node:net';
import { createAlerts, type Alerts, type AlertsOptions } from './alerts.ts';
import { openWebhook, type WebhookOptions } from './webhook.ts';

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
