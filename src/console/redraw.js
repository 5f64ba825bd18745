/** Draws only what changes, so that the focus, a selection and a click that has begun stay where they are. */

/**
 * Shows these children, and leaves those alone that are there already.
 * @template {ChildNode} Child
 * @param {Element} place
 * @param {readonly Child[]} wanted
 * @param {object} [how]
 * @param {(child: Child) => string} [how.nameOf] What a child keeps while it changes; without it, a child that has
 *   changed is another one.
 * @param {(kept: Child, wanted: Child) => void} [how.renew]
 */
export function showChildren(place, wanted, { nameOf = wholeOf, renew = () => undefined } = {}) {
  const childrenNow = () => /** @type {Child[]} */ ([...place.childNodes]);
  keepFocus(place, () => {
    const before = Map.groupBy(childrenNow(), nameOf);
    const shown = wanted.map((child) => {
      const kept = before.get(nameOf(child))?.shift();
      if (kept === undefined) return child;
      renew(kept, child);
      return kept;
    });
    const staying = new Set(shown);
    for (const child of childrenNow()) if (!staying.has(child)) child.remove();
    shown.forEach((child, at) => {
      const there = place.childNodes[at] ?? null;
      if (there !== child) place.insertBefore(child, there);
    });
  });
}

/**
 * Shows these rows. A row is known by its first cell.
 * @type {(body: HTMLTableSectionElement, rows: readonly HTMLTableRowElement[]) => void}
 */
export function showRows(body, rows) {
  showChildren(body, rows, { nameOf: (row) => row.cells[0]?.outerHTML ?? '', renew: renewCells });
}

/** @type {(kept: HTMLTableRowElement, wanted: HTMLTableRowElement) => void} */
function renewCells(kept, wanted) {
  const cells = [...wanted.cells];
  keepFocus(kept, () => {
    [...kept.cells].forEach((cell, at) => {
      const next = cells[at];
      if (next !== undefined && !cell.isEqualNode(next)) cell.replaceWith(next);
    });
  });
}

/** @param {Node} node */
function wholeOf(node) {
  return node instanceof Element ? node.outerHTML : (node.nodeValue ?? '');
}

/**
 * Gives the focus back to what is moved, or to what comes in the place of what is gone.
 * @type {(place: Element, change: () => void) => void}
 */
function keepFocus(place, change) {
  const focused = document.activeElement;
  const at = controlsOf(place).findIndex((control) => control === focused);
  change();
  if (at < 0 || place.contains(document.activeElement)) return;
  const again = place.contains(focused) ? focused : controlsOf(place)[at];
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** @param {Element} place */
function controlsOf(place) {
  return [...place.querySelectorAll('a, button, [tabindex]')];
}
