/**
 * Copies the text of an element, or selects it where the browser does not let a page copy.
 *
 * @param {HTMLElement} place
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copy(place) {
  try {
    await navigator.clipboard.writeText(place.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(place);
    return false;
  }
}
