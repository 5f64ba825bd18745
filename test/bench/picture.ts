/** Curves as an SVG, with nothing in it that a page would have to allow. */

export interface Picture {
  readonly title: string;
  /** What the axes count; both are logarithmic. */
  readonly x: string;
  readonly y: string;
  readonly curves: readonly Curve[];
}

interface Curve {
  readonly name: string;
  /** `[x, y]`, above 0. */
  readonly points: readonly (readonly number[])[];
}

interface Axis {
  readonly ticks: readonly number[];
  /** Where a value is, in pixels. */
  place(value: number): number;
}

const WIDTH = 760;
const HEIGHT = 340;
const PLOT = { left: 60, right: 560, top: 40, bottom: 290 };
const LEGEND_LINE = 22;
/** By Okabe and Ito: for readers who see few colours too. */
const COLOURS = ['#999999', '#e69f00', '#56b4e9', '#009e73', '#d55e00', '#0072b2'];

/** The pictures one below the other, with a name for each curve. */
export function draw(pictures: readonly Picture[]): string {
  // What has one name has one colour in all of them.
  const names = [...new Set(pictures.flatMap(({ curves }) => curves.map(({ name }) => name)))];
  const height = HEIGHT * pictures.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...pictures.flatMap((picture, index) => [
      `<g transform="translate(0 ${index * HEIGHT})">`,
      ...drawOne(picture, names),
      '</g>',
    ]),
    '</svg>\n',
  ].join('\n');
}

function drawOne({ title, x, y, curves }: Picture, names: readonly string[]): string[] {
  const points = curves.flatMap((curve) => curve.points);
  const across = toAxis(
    points.map(([value = 1]) => value),
    PLOT.left,
    PLOT.right,
  );
  const up = toAxis(
    points.map(([, value = 1]) => value),
    PLOT.bottom,
    PLOT.top,
  );
  return [
    write(title, PLOT.left, 22, 'start', 'font-weight="bold"'),
    ...across.ticks.flatMap((tick) => [
      line(across.place(tick), PLOT.top, across.place(tick), PLOT.bottom),
      write(showTick(tick), across.place(tick), PLOT.bottom + 18, 'middle'),
    ]),
    ...up.ticks.flatMap((tick) => [
      line(PLOT.left, up.place(tick), PLOT.right, up.place(tick)),
      write(showTick(tick), PLOT.left - 6, up.place(tick) + 4, 'end'),
    ]),
    write(x, PLOT.right, PLOT.bottom + 36, 'end'),
    write(y, PLOT.left - 6, PLOT.top - 8, 'end'),
    ...curves.flatMap(({ name, points }, index) => {
      const colour = COLOURS[names.indexOf(name) % COLOURS.length] ?? '';
      const places = points.map(([x = 1, y = 1]) => [across.place(x), up.place(y)]);
      const at = PLOT.top + 10 + index * LEGEND_LINE;
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${places.map((place) => place.join(',')).join(' ')}"/>`,
        ...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`),
        `<rect x="${PLOT.right + 16}" y="${at - 9}" width="12" height="12" fill="${colour}"/>`,
        write(name, PLOT.right + 34, at + 2, 'start'),
      ];
    }),
  ];
}

/** Ticks at 1, 2 and 5 of each power of ten, from the first at or below the values to the first at or above them. */
function toAxis(values: readonly number[], from: number, to: number): Axis {
  const [least, most] = values.length === 0 ? [1, 10] : [Math.min(...values), Math.max(...values)];
  const steps: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
    steps.push(...[1, 2, 5].map((digit) => Number((digit * 10 ** power).toPrecision(1))));
  }
  const low = steps.findLast((step) => step <= least) ?? least;
  const high = steps.find((step) => step >= most && step > low) ?? most;
  const scale = (to - from) / Math.log10(high / low);
  return {
    ticks: steps.filter((step) => step >= low && step <= high),
    place: (value) => Math.round((from + Math.log10(value / low) * scale) * 10) / 10,
  };
}

function showTick(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#dddddd"/>`;
}

function write(text: string, x: number, y: number, anchor: 'start' | 'middle' | 'end', more = ''): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#333333" ${more}>${safe}</text>`;
}
