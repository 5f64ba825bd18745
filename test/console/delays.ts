/**
 * Pages that are slow at each point where a test may hope that they are quick. A test that fails with them would fail by chance
 * without them.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';

const MOST_MS = 400;
const CPU_SLOWER = 4;

/** Lets all pages of this profile wait at random for what they ask the gateway and for a new address, and makes them slow. */
export async function delay(context: BrowserContext): Promise<void> {
  await context.addInitScript((mostMs) => {
    const add = globalThis.addEventListener.bind(globalThis);
    // In their order, as a browser tells them.
    let told = Promise.resolve();
    const addLate = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
      if (type !== 'hashchange') return add(type, listener, options);
      const tell = async (event: Event) => {
        await told;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));
        listener(event);
      };
      add(type, (event) => void (told = tell(event)), options);
    };
    globalThis.addEventListener = addLate as typeof add;
  }, MOST_MS);
  await context.route('**/*', async (route) => {
    await wait(Math.random() * MOST_MS);
    // The page may be closed by now.
    await route.continue().catch(() => undefined);
  });
  context.on('page', (page) => void slowDown(page).catch(() => undefined));
}

async function slowDown(page: Page): Promise<void> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWER });
}
