/** What somebody without a mouse does: presses keys, and looks where the focus is. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';

const MOST_PRESSES = 400;

/** What has the focus. */
interface Focus {
  /** Its place among all that can be operated, or -1. */
  readonly at: number;
  readonly name: string;
  /** Why nobody sees it; empty when it is seen. */
  readonly hidden: string;
}

/**
 * Goes around the page with the Tab key, or around the dialog that is open. Throws unless everything that can be operated is
 * reached in its order, and is seen with the focus.
 */
export async function expectAllReachable(page: Page): Promise<void> {
  const reached: Focus[] = [];
  for (let presses = 0; presses < MOST_PRESSES; presses++) {
    await page.keyboard.press('Tab');
    const { focus } = await page.evaluate(look);
    // Between the end and the beginning a browser has its own controls.
    if (focus === null) continue;
    if (reached.length > 1 && focus.at === reached[0]?.at) break;
    // A field for a time has several parts.
    if (focus.at !== reached.at(-1)?.at) reached.push(focus);
  }
  const { controls } = await page.evaluate(look);
  const first = reached.findIndex(({ at }) => at === 0);
  const inOrder = [...reached.slice(first), ...reached.slice(0, first)];
  expect(inOrder.map(({ name }) => name)).to.deep.equal(controls);
  expect(inOrder.filter(({ hidden }) => hidden !== '')).to.deep.equal([]);
}

/** Presses Tab until the focus is on the control of this name. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed = new Set<string>();
  for (let presses = 0; presses < MOST_PRESSES; presses++) {
    await page.keyboard.press('Tab');
    const found = await nameOfFocus(page);
    if (typeof name === 'string' ? found === name : name.test(found)) return;
    passed.add(found);
  }
  throw new Error(`the Tab key does not lead to ${name}, but to ${[...passed].join(', ')}`);
}

/** Presses these keys on the control of this name. */
export async function pressOn(page: Page, name: string | RegExp, ...keys: readonly string[]): Promise<void> {
  await tabTo(page, name);
  for (const key of keys) await page.keyboard.press(key);
}

/** Types into the field of this name, in the place of what it has. */
export async function typeInto(page: Page, name: string, text: string): Promise<void> {
  await pressOn(page, name, 'ControlOrMeta+a');
  await page.keyboard.type(text);
}

/** Returns the name of what has the focus; empty for nothing. */
export async function nameOfFocus(page: Page): Promise<string> {
  return (await page.evaluate(look)).focus?.name ?? '';
}

/** Runs in the browser. Returns the names of all that can be operated, in the order of the page. */
function look(): { controls: string[]; focus: Focus | null } {
  const place = document.querySelector('dialog:modal') ?? document;
  const all = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const controls = [...place.querySelectorAll<HTMLElement>(all)].filter(
    (control) => control.tabIndex >= 0 && !control.matches(':disabled') && control.checkVisibility(),
  );
  const nameOf = (control: HTMLElement) => {
    const [label] = (control as HTMLInputElement).labels ?? [];
    const title = document.getElementById(control.getAttribute('aria-labelledby') ?? '');
    const name = control.getAttribute('aria-label') ?? (title ?? label ?? control).textContent;
    return name.trim() === '' ? control.id : name.trim().replaceAll(/\s+/g, ' ');
  };
  const focused = document.activeElement;
  // A dialog itself has the focus between its end and its beginning.
  if (!(focused instanceof HTMLElement) || focused === document.body || focused instanceof HTMLDialogElement) {
    return { controls: controls.map(nameOf), focus: null };
  }
  const { outlineStyle, outlineWidth } = getComputedStyle(focused);
  const box = focused.getClientRects()[0] ?? new DOMRect();
  // A place that scrolls may be larger than the screen.
  const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2;
  const y = (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2;
  const found = document.elementFromPoint(x, y);
  const isOnTop = found !== null && (focused.contains(found) || found.contains(focused));
  const reasons = [
    outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2 ? 'it has no outline' : '',
    isOnTop ? '' : `it is outside of the screen, or under ${found?.outerHTML.slice(0, 80)}`,
  ];
  const hidden = reasons.filter((reason) => reason !== '').join(', ');
  return { controls: controls.map(nameOf), focus: { at: controls.indexOf(focused), name: nameOf(focused), hidden } };
}
