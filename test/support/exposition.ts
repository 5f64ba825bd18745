/** Reads what Prometheus would read, and objects to what `promtool check metrics` objects to. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly type: string;
  readonly samples: Sample[];
}

const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (\S.*)$/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const VALUE = /^(?:nan|[+-]?inf|[+-]?[\d.]+(?:e[+-]?\d+)?)$/i;
const OTHER_UNITS =
  /_(?:ms|milliseconds|micros|microseconds|minutes|hours|kb|mb|kilobytes|megabytes|percent|bits)(?:_|$)/;

/** The metrics by name. Throws at the first thing which is not as it should be. */
export function readExposition(text: string): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  const helped = new Set<string>();
  const series = new Set<string>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');

  let current: { readonly name: string; readonly family: Family } | undefined;
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, kind, name = '', rest = ''] = COMMENT.exec(line) ?? [];
    if (kind === 'HELP') {
      if (helped.has(name)) throw new Error(`two HELP lines: ${name}`);
      helped.add(name);
    } else if (kind === 'TYPE') {
      if (families.has(name)) throw new Error(`two TYPE lines: ${name}`);
      checkName(name, rest);
      current = { name, family: { type: rest, samples: [] } };
      families.set(name, current.family);
    } else {
      const sample = readSample(line);
      if (current === undefined || !belongsTo(sample, current)) throw new Error(`not under its TYPE: ${line}`);
      const key = sample.name + keyOf(sample.labels);
      if (series.has(key)) throw new Error(`the same series twice: ${line}`);
      series.add(key);
      current.family.samples.push(sample);
    }
  }
  for (const [name, family] of families) {
    if (!helped.has(name)) throw new Error(`no HELP line: ${name}`);
    if (family.type === 'histogram') checkHistogram(name, family);
  }
  return families;
}

/** The sum over all samples of this name that have these labels. */
export function sumOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''));
  if (family === undefined) throw new Error(`there is no ${name}`);
  return family.samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

function checkName(name: string, type: string): void {
  if (!['counter', 'gauge', 'histogram', 'summary'].includes(type)) throw new Error(`${name} is a ${type}`);
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} must not be the name of a ${type}`);
  if (OTHER_UNITS.test(name)) throw new Error(`not in base units: ${name}`);
  if (/[A-Z:]/.test(name)) throw new Error(`not in snake case: ${name}`);
}

function readSample(line: string): Sample {
  const [, name, labelText = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined || !VALUE.test(value)) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labelText.length) {
    const [, label, text = ''] = LABEL.exec(labelText) ?? [];
    if (label === undefined || label in labels || label.startsWith('__')) throw new Error(`bad labels: ${line}`);
    labels[label] = text;
  }
  return { name, labels, value: /inf/i.test(value) ? Infinity : Number(value) };
}

function belongsTo(sample: Sample, { name, family }: { readonly name: string; readonly family: Family }): boolean {
  if (family.type !== 'histogram') return sample.name === name;
  return ['_bucket', '_sum', '_count'].some((suffix) => sample.name === name + suffix);
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).sort((one, other) => (one < other ? -1 : 1));
  return JSON.stringify(names.map((name) => [name, labels[name]]));
}

/** Buckets never fall, and the last of them holds everything. */
function checkHistogram(name: string, { samples }: Family): void {
  const open = new Map<string, { readonly le: number; readonly value: number }>();
  for (const { name: sampleName, labels, value } of samples) {
    const { le, ...rest } = labels;
    const key = keyOf(rest);
    const last = open.get(key);
    if (sampleName === `${name}_bucket`) {
      const bound = le === '+Inf' ? Infinity : Number(le);
      if (last !== undefined && (bound <= last.le || value < last.value))
        throw new Error(`buckets fall: ${name} ${key}`);
      open.set(key, { le: bound, value });
    }
    if (sampleName === `${name}_count` && (last?.le !== Infinity || last.value !== value)) {
      throw new Error(`the count is not that of the buckets: ${name} ${key}`);
    }
  }
}
