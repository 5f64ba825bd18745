import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ODDITIES } from '../../src/doctor/oddities.ts';
import { toTable } from './generate-matrix.ts';

const DOCS = join(import.meta.dirname, '../../src/docs');
const PEERS_PATH = join(DOCS, 'peers.json');
/** What these guides show between `<!-- strange: name -->` and `<!-- /strange -->`. */
export const STRANGE_DOCUMENTS: readonly string[] = [join(DOCS, 'backends.md'), join(DOCS, 'decisions.md')];
const PART = /(<!-- strange: (\w+) -->\n).*?(<!-- \/strange -->)/gs;

/** Of odd answers that it got, how many a translator understood or did not believe. */
export interface Understood {
  readonly group: string;
  readonly tried: number;
  readonly right: number;
}

export interface PeerResult {
  /** UTC. */
  readonly date: string;
  readonly version: string;
  readonly groups: readonly Understood[];
}

/** What a run of `npm run lab strange -- --peer` has found, by the name of the translator. */
export type Peers = Readonly<Record<string, PeerResult>>;

/** Keeps what a run has found of a translator, and shows it in the guide. */
export function publishPeer(name: string, result: PeerResult): void {
  writeFileSync(PEERS_PATH, `${JSON.stringify({ ...readPeers(), [name]: result }, null, 2)}\n`);
  writeAll();
}

export function readPeers(): Peers {
  return JSON.parse(readFileSync(PEERS_PATH, 'utf8')) as Peers;
}

/** Returns the document with its tables as they are now. Throws for a mark that names none. */
export function fillInStrange(document: string, peers: Peers): string {
  return document.replaceAll(PART, (_, start: string, name: string, end: string) => {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`there is no table "${name}" of odd answers`);
    return `${start}\n${part(peers)}\n\n${end}`;
  });
}

const PARTS: Readonly<Record<string, (peers: Peers) => string>> = {
  oddities: showOddities,
  peers: showPeers,
};

function showOddities(): string {
  const rows = ODDITIES.map(({ name, dialects, others, reading }) => {
    const known = Object.entries(dialects).map(([dialect, source]) => `\`${dialect}\` (${source})`);
    return [name, [...known, ...(others === undefined ? [] : [others])].join('; '), reading];
  });
  return toTable(['in an answer', 'seen at', 'the gateway'], rows);
}

/** Kinds down, translators across: of how many odd answers each was right. */
function showPeers(peers: Peers): string {
  const all = Object.entries(peers);
  const groups = all[0]?.[1].groups.map(({ group }) => group) ?? [];
  const head = ['odd', ...all.map(([name, { version }]) => `${name} ${version}`.trim())];
  const rows = groups.map((group) => [
    group,
    ...all.map(([, { groups: found }]) => {
      const of = found.find((one) => one.group === group);
      return of === undefined ? '–' : `${of.right} of ${of.tried}`;
    }),
  ]);
  return `${toTable(head, rows)}\n\nMeasured ${all.map(([name, { date }]) => `${date} (${name})`).join(', ')}.`;
}

function writeAll(): void {
  for (const path of STRANGE_DOCUMENTS) writeFileSync(path, fillInStrange(readFileSync(path, 'utf8'), readPeers()));
}

if (process.argv[1] === import.meta.filename) writeAll();
