/**
 * The console in a real browser, in front of a whole gateway and a scripted backend.
 *
 *     const scene = useConsole();
 *     it('…', async () => {
 *       const page = await scene.open();
 *       await scene.enter(page);
 *
 * After each test the page must not have complained, nor have asked anybody but the gateway.
 */

import { expect } from 'chai';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import type { TestSettings } from '../support/settings.ts';
import type { KeyDraft } from '../../src/core/books/keys.ts';
import { startScriptedBackend, type ScriptedBackend, type Script } from '../support/backend.ts';
import { CONSTANTS } from '../../src/config/constants.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { delay } from './delays.ts';

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const ADMIN_TOKEN = 'the-admin-token-of-a-test';

const DAY_MS = 86_400_000;

/** Below mocha's own limit, since this one names what is missing. */
const ELEMENT_WITHIN_MS = Number(process.env['ELEMENT_WITHIN_MS'] ?? 200_000);

export interface Scene {
  /** Its queued replies are for requests to a model. Pages ask for the list of models at times of their own, and take none. */
  readonly backend: ScriptedBackend;
  readonly gateway: TestGateway;
  /** Throws without a key that the gateway issues. */
  readonly managed: ManagedGateway;
  /** The key which `enter` types. */
  readonly apiKey: string;
  /** The time of the pages. */
  nowMs(): number;
  /** How far the clock of the gateway is behind. */
  agoMs: number;
  /** A request that is not made by the page; resolves with the text of its reply. */
  create(request: object): Promise<string>;
  /** A new tab at the console; with options it is one of a new browser profile. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Gives the page the test key. */
  enterKey(page: Page): Promise<void>;
  /** Gives the page the test key and waits for the first view. */
  enter(page: Page): Promise<void>;
  /** Follows the link to a view of the caller’s, and waits for it: fields of the view before may have the same names. */
  go(page: Page, view: 'Try it' | 'Requests' | 'Usage'): Promise<void>;
  /** A new tab at a view of the operator's, such as `keys?search=ada`, with the admin token given. */
  openOperator(view: string, options?: BrowserContextOptions): Promise<Page>;
  /** What the browser may complain of in this test, such as a reply that is an error. */
  tolerate(complaint: RegExp): void;
}

interface ConsoleOptions {
  readonly key?: Partial<KeyDraft>;
  /** Replaces the settings of one backend. */
  readonly settings?: (backend: ScriptedBackend) => TestSettings;
}

/** To be called inside `describe`. With a key the gateway issues it, and prices hold; without one the backend judges keys. */
export function useConsole({ key, settings: toSettings }: ConsoleOptions = {}): Scene {
  let browser: Browser;
  /** A profile costs more than all else of a test. No page finds what another left, since each gateway has a port of its own. */
  let profile: BrowserContext;
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let managed: ManagedGateway | undefined;
  let apiKey: string;
  let clock: () => number;
  let complaints: string[];
  let tolerated: RegExp[];

  const scene: Scene = {
    get backend() {
      return backend;
    },
    get gateway() {
      return gateway;
    },
    get apiKey() {
      return apiKey;
    },
    get managed() {
      if (managed === undefined) throw new Error('this gateway issues no keys');
      return managed;
    },
    nowMs: () => clock(),
    agoMs: 0,
    async create(request) {
      const reply = await gateway.create(request, { headers: { authorization: `Bearer ${apiKey}` } });
      return reply.text();
    },
    async open(options) {
      const context = options === undefined ? profile : await openProfile(options);
      const page = await context.newPage();
      await page.addInitScript(shiftClock, clock() - Date.now());
      page.on('pageerror', (error) => complaints.push(`thrown: ${error.message} ${error.stack}`));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
      });
      page.on('request', (request) => {
        if (!request.url().startsWith(`${gateway.url}/`)) complaints.push(`asked elsewhere: ${request.url()}`);
      });
      await page.goto(`${gateway.url}/console/`);
      return page;
    },
    async enterKey(page) {
      await page.getByLabel('API key', { exact: true }).fill(apiKey);
      await page.getByRole('button', { name: 'Continue' }).click();
    },
    async enter(page) {
      await scene.enterKey(page);
      // By then the list of models is there too, which is asked of the backend like anything else.
      await page.locator('#try-model[aria-busy=false]').waitFor();
    },
    async go(page, view) {
      await page.locator('#views').getByRole('link', { name: view }).click();
      await page.getByRole('heading', { name: view, exact: true }).waitFor();
    },
    async openOperator(view, options) {
      const page = await scene.open(options);
      await page.goto(`${gateway.url}/console/operator/#/${view}`);
      await page.getByLabel('Admin token', { exact: true }).fill(ADMIN_TOKEN);
      await page.getByRole('button', { name: 'Continue' }).click();
      const told = page.locator('#view-status:not([hidden]), #view-problem:not([hidden])');
      await told
        .filter({ hasText: /^(?!Loading)./ })
        .first()
        .waitFor();
      return page;
    },
    tolerate: (complaint) => void tolerated.push(complaint),
  };

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
    profile = await openProfile();
  });
  after(() => browser.close());

  beforeEach(async () => {
    complaints = [];
    tolerated = [];
    scene.agoMs = 0;
    clock = clockFromNoon();
    backend = await startScriptedBackend(0, ({ path }) => !path.endsWith('/models'));
    backend.always(answerAsBackend);
    const settings = {
      ...(toSettings?.(backend) ?? { UPSTREAM_BASE_URL: backend.baseUrl }),
      ADMIN_TOKEN,
      // Counted as it is on a machine that has time.
      tokenCountTimeoutMs: CONSTANTS.tokenCountTimeoutMs,
      DEFAULT_MODEL_ID: key === undefined ? 'big-model' : 'm',
    };
    const overrides = { nowMs: () => clock() - scene.agoMs };
    if (key === undefined) {
      gateway = await openGateway(settings, overrides);
      apiKey = TEST_KEY;
    } else {
      managed = await openManagedGateway(settings, overrides);
      gateway = managed;
      apiKey = (await managed.issue(key)).secret;
    }
  });

  afterEach(async () => {
    const others = browser.contexts().filter((context) => context !== profile);
    await Promise.all([...profile.pages(), ...others].map((each) => each.close()));
    await profile.clearPermissions();
    await gateway.close();
    await backend.close();
    expect(complaints.filter((complaint) => !tolerated.some((pattern) => pattern.test(complaint)))).to.deep.equal([]);
  });

  return scene;

  async function openProfile(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(ELEMENT_WITHIN_MS);
    if (process.env['PAGE_DELAYS'] !== undefined) await delay(context);
    return context;
  }
}

/** Starts at noon, so that no day, hour or minute of which something is counted ends during a test. */
function clockFromNoon(): () => number {
  const noonMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
  const beganMs = performance.now();
  return () => noonMs + Math.floor(performance.now() - beganMs);
}

/** Runs in the browser. */
function shiftClock(byMs: number): void {
  globalThis.Date = new Proxy(Date, {
    get: (date, name) => (name === 'now' ? () => date.now() + byMs : (Reflect.get(date, name) as unknown)),
    construct: (date, given) => Reflect.construct(date, given.length === 0 ? [date.now() + byMs] : given) as Date,
  });
}

export const MODELS = {
  object: 'list',
  data: [
    { id: 'small-model', context_window: 32_768, input_modalities: ['text'] },
    { id: 'big-model' },
    { id: 'm', refused_fields: ['verbosity', 'user'] },
  ],
};
export const USAGE = {
  prompt_tokens: 1200,
  completion_tokens: 345,
  prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 150 },
  completion_tokens_details: { reasoning_tokens: 45 },
};

/** A list of models, and to every request the same short answer in three pieces. */
export const answerAsBackend: Script = async (stage) => {
  const { path, body } = stage.request;
  if (path.endsWith('/models')) return sendJson(stage, MODELS);
  if ((body as { stream?: boolean }).stream !== true) {
    return sendJson(stage, {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello from afar' }, finish_reason: 'stop' }],
      usage: USAGE,
    });
  }
  await stage.sse(
    chunk({ reasoning_content: 'They greet.' }),
    ...['Hello', ' from', ' afar'].map((content) => chunk({ content })),
  );
  await stage.sse(chunk({}, 'stop'), { choices: [], usage: USAGE }, '[DONE]');
  stage.end();
};

/** A stream whose second half waits until the first has been seen. */
export function inHalves(seen: Promise<void>): Script {
  return async (stage) => {
    await stage.sse(chunk({ content: 'Half' }));
    await seen;
    await stage.sse(chunk({ content: ' and half' }), chunk({}, 'stop'), '[DONE]');
    stage.end();
  };
}

export async function sendJson(stage: Parameters<Script>[0], json: object, status = 200): Promise<void> {
  stage.start(status, { 'content-type': 'application/json' });
  await stage.write(JSON.stringify(json));
  stage.end();
}

/** One chunk of a chat completions stream. */
export function chunk(delta: object, finishReason: string | null = null): object {
  return { choices: [{ index: 0, delta, finish_reason: finishReason }] };
}
