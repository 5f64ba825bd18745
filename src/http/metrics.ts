import type { RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';
import { createKeyCheck } from '../access/authenticate.ts';
import type { ShownMetrics } from '../telemetry/metrics.ts';

/** Answers `/metrics`. Needs the token, if there is one. */
export function showMetrics(metrics: ShownMetrics, token: string | null): RequestHandler {
  const isToken = token === null ? () => true : createKeyCheck([token]);
  return async (req, res) => {
    const presented = /^bearer +(.*)$/i.exec(req.headers.authorization?.trim() ?? '')?.[1] ?? '';
    if (!isToken(presented)) {
      throw new ApiError(presented === '' ? 'missing_api_key' : 'invalid_api_key', {
        message: 'Send METRICS_TOKEN as "Authorization: Bearer <token>".',
        headers: { 'www-authenticate': 'Bearer' },
      });
    }
    const text = await metrics.show();
    res.set({ 'content-type': metrics.contentType, 'cache-control': 'no-store' }).end(text);
  };
}

/** Answers `/metrics` where it is not served; the message helps to set up a scrape. */
export const refuseMetrics: RequestHandler = () => {
  throw new ApiError('not_found', {
    message: 'Metrics are served on METRICS_PORT, or on this port if METRICS_TOKEN is set.',
  });
};
