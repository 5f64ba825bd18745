import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { toRequestId } from '../core/ids.ts';
import type { Addresses } from '../config/banner.ts';
import { createConnections } from './connections.ts';
import { createApp, createMetricsApp, type OperatorRoutes } from './app.ts';
import { serverClassesOf } from './express-prototypes.ts';
import { closeServer, createHttpServer, listen } from './server.ts';
import type { Services } from './services.ts';

/** The other transport, which takes over connections of the server. */
export interface Upgrades {
  takes(req: IncomingMessage): boolean;
  leave(): void;
  close(): Promise<void>;
}

export interface Servers {
  /** Throws if a port is taken. */
  listen(): Promise<Addresses>;
  /**
   * Refuses new requests after `DRAIN_DELAY_MS`, in which readiness fails already. Resolves when no
   * request runs, or `DRAIN_TIMEOUT_MS` later.
   */
  drain(): Promise<void>;
  /** Ends all requests with `gateway_interrupted`, and all connections. */
  close(): Promise<void>;
}

const INTERRUPT_MS = 2000;

/** Creates the server of the application, and the one of `METRICS_PORT` if it is set. */
export function createServers(services: Services, operator: OperatorRoutes, upgrades: Upgrades): Servers {
  const { running } = services.requests;
  const { log, newUniquePart } = services.telemetry;
  const { clientStallMs: stallMs } = services.access;
  const { host, port, metricsHost, metricsPort } = services.settings;
  const { drainDelayMs, drainTimeoutMs } = services.settings;
  const newRequestId = () => toRequestId(newUniquePart());
  const connections = createConnections(log);
  const app = createApp(services, operator, connections);
  const server = createHttpServer(app, newRequestId, {
    classes: serverClassesOf(app),
    upgrades: (req) => upgrades.takes(req),
    isLeaving: () => running.leaving || connections.areScarce(),
    stallMs,
  });
  connections.watch(server);
  const metricsServer =
    metricsPort === null ? undefined : createHttpServer(createMetricsApp(services), newRequestId, { stallMs });

  return {
    async listen() {
      const url = await listen(server, { host, port });
      if (metricsServer === undefined) return { url };
      return { url, metricsUrl: await listen(metricsServer, { host: metricsHost, port: metricsPort ?? 0 }) };
    },
    async drain() {
      running.leave();
      if (drainDelayMs > 0) await delay(drainDelayMs, undefined, { ref: false });
      running.drain();
      upgrades.leave();
      await running.whenIdle(drainTimeoutMs);
    },
    async close() {
      running.drain();
      running.interrupt();
      await running.whenIdle(INTERRUPT_MS);
      await upgrades.close();
      await closeServer(server);
      // The metrics close last, so that a scrape can still count the last requests.
      if (metricsServer !== undefined) await closeServer(metricsServer);
    },
  };
}
