/**
 * Keeps the end of a growing place in view, unless somebody has scrolled away from it.
 * @param {HTMLElement} place
 * @returns {() => void} To be called before the place grows.
 */
export function createFollow(place) {
  let isScrolling = false;
  return () => {
    // One measurement per frame: each one lays the page out again.
    if (isScrolling) return;
    isScrolling = true;
    const isAtEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
    requestAnimationFrame(() => {
      isScrolling = false;
      if (isAtEnd) place.scrollTop = place.scrollHeight;
    });
  };
}
