/** The pieces of a text that is cut at these places, which may be any numbers. */
export function cutAt(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((place) => place % (text.length + 1)).sort((one, other) => one - other), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}
