import { readFile } from 'node:fs/promises';
import { readMarkdown, type MarkdownDocument } from './markdown.ts';

export interface Guide {
  readonly name: string;
  readonly file: string;
  readonly document: MarkdownDocument;
}

export interface GuideGroup {
  readonly name: string;
  readonly guides: readonly Guide[];
}

/** Of the clone or of the package, which has the guides beside `dist`. */
const ROOT = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../../../', import.meta.url);
const README = 'readme';
/** Served by their names, since whoever runs the image has no folder with them. Others in `src/deploy` may hold settings. */
const DEPLOY_FILES = [
  'alertmanager.yml',
  'alerts.yml',
  'autoscaler.yaml',
  'compose.yaml',
  'dashboard.json',
  'grafana.yml',
  'haproxy.cfg',
  'kubernetes.yaml',
  'prometheus.yml',
];

/** In the order for new readers. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Use it': [README, 'clients', 'from-chat-completions', 'web-socket-and-compaction', 'troubleshooting'],
  'Operate it': ['operate', 'settings', 'backends', 'managed-keys', 'database'],
  'Rely on it': ['guarantees', 'decisions', 'changes'],
};

/** Where the text is of guides that had an address of their own: links to them are out in the world. */
export const MOVED: ReadonlyMap<string, string> = new Map([
  ['alerts', 'operate#alerts'],
  ['benchmarks', 'decisions#benchmarks'],
  ['defences', 'guarantees#attacks'],
  ['limits', 'guarantees#limits'],
  ['operators-console', 'managed-keys#the-operators-console'],
  ['promises', 'guarantees'],
  ['several-backends', 'backends#several-backends'],
  ['several-gateways', 'database#several-gateways'],
]);

export const EXAMPLE_BASE_URL = 'http://127.0.0.1:8080';

/** Reads all guides one after the other, so that running streams are not delayed. */
export async function readGuides(): Promise<readonly GuideGroup[]> {
  const groups: GuideGroup[] = [];
  for (const [name, names] of Object.entries(GROUPS)) {
    const guides: Guide[] = [];
    for (const guide of names)
      guides.push(await readGuide(guide, guide === README ? 'README.md' : `src/docs/${guide}.md`));
    groups.push({ name, guides });
  }
  return groups;
}

async function readGuide(name: string, file: string): Promise<Guide> {
  return { name, file, document: readMarkdown(await readFile(new URL(file, ROOT), 'utf8')) };
}

export async function readDeployFiles(): Promise<readonly (readonly [name: string, text: string])[]> {
  return Promise.all(
    DEPLOY_FILES.map(async (file) => [file, await readFile(new URL(`src/deploy/${file}`, ROOT), 'utf8')] as const),
  );
}

/** Returns the address of a link from a guide; undefined if the gateway does not serve it. */
export function toHref(link: string, from: Guide, guides: readonly Guide[]): string | undefined {
  if (link.startsWith('#')) return link;
  if (link.startsWith(EXAMPLE_BASE_URL)) return `..${link.slice(EXAMPLE_BASE_URL.length)}`;
  const url = new URL(link, `file:///${from.file}`);
  if (url.protocol === 'https:' || url.protocol === 'http:') return url.href;
  const file = DEPLOY_FILES.find((name) => url.href === `file:///src/deploy/${name}`);
  if (file !== undefined) return file;
  const to = guides.find(({ file }) => url.href === `file:///${file}${url.hash}`);
  return to === undefined ? undefined : to.name + url.hash;
}
