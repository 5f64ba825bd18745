/** What every page must look like on every device. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import { expect } from 'chai';
import type { Page } from 'playwright-core';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const SCREENSHOTS = join(import.meta.dirname, 'screenshots');

export const DEVICES = [
  { device: 'desktop', viewport: { width: 1280, height: 800 } },
  { device: 'phone', viewport: { width: 360, height: 740 } },
];

/** Takes a picture for people to look at. Throws when something is wider than its place, or when axe finds anything. */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  const tooWide = await page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('.card')]
      .filter((place) => place.scrollWidth > place.clientWidth)
      .map((place) => place.className || place.nodeName),
  );
  expect(tooWide, 'too wide').to.deep.equal([]);
  // Evaluated by the debugger, since the page itself lets no foreign script in.
  await page.evaluate(AXE);
  const found = await page.evaluate(() => (globalThis as unknown as { axe: AxeRunner }).axe.run());
  expect(found.violations.map(describeViolation)).to.deep.equal([]);
}

interface AxeRunner {
  run(): Promise<AxeResults>;
}

function describeViolation({ id, impact, nodes }: AxeResults['violations'][number]): string {
  return `${impact}: ${id} at ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`;
}
