/** What every page must look like on every device. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults, RunOptions } from 'axe-core';
import { expect } from 'chai';
import type { Page } from 'playwright-core';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const SCREENSHOTS = join(import.meta.dirname, 'screenshots');
const DEVICES = [
  { device: 'phone', viewport: { width: 390, height: 844 } },
  { device: 'tablet', viewport: { width: 900, height: 1100 } },
  { device: 'desktop', viewport: { width: 1440, height: 900 } },
];

/**
 * Shows the page on a narrow and on a wide screen, by day and by night, and takes a picture of each for people to look at.
 * Throws when something is wider than its place, or when axe finds anything. Leaves the page on a desktop by day.
 */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  // Evaluated by the debugger, since the page itself lets no foreign script in.
  await page.evaluate(AXE);
  for (const { device, viewport } of DEVICES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const shown = `${name}-${device}-${colorScheme}`;
      await page.screenshot({ path: join(SCREENSHOTS, `${shown}.png`), fullPage: true });
      // By night the page has other colours, and nothing else is different.
      const options: RunOptions = colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {};
      const found = await page.evaluate(
        (options) => (globalThis as unknown as { axe: AxeRunner }).axe.run(options),
        options,
      );
      expect(found.violations.map(describeViolation), shown).to.deep.equal([]);
    }
    expect(await findTooWide(page), `too wide: ${name}-${device}`).to.deep.equal([]);
  }
}

interface AxeRunner {
  run(options: RunOptions): Promise<AxeResults>;
}

function describeViolation({ id, impact, nodes }: AxeResults['violations'][number]): string {
  return `${impact}: ${id} at ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`;
}

function findTooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('.card')]
      .filter((place) => place.scrollWidth > place.clientWidth)
      .map((place) => place.className || place.nodeName),
  );
}
