import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
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

/** In the order for new readers. A guide that is not named here comes last. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Get started': [README, 'from-chat-completions', 'clients', 'troubleshooting'],
  'Use more of it': ['web-socket-and-compaction', 'managed-keys', 'limits'],
  'Operate it': [
    'operate',
    'settings',
    'database',
    'several-backends',
    'several-gateways',
    'alerts',
    'operators-console',
    'changes',
  ],
  'Know what it does': ['promises', 'defences', 'benchmarks', 'decisions'],
};
const OTHERS = 'More';

export const EXAMPLE_BASE_URL = 'http://127.0.0.1:8080';

/** Reads all guides one after the other, so that running streams are not delayed. */
export async function readGuides(): Promise<readonly GuideGroup[]> {
  const files = (await readdir(new URL('src/docs/', ROOT))).filter((file) => file.endsWith('.md')).sort();
  const guides = [await readGuide(README, 'README.md')];
  for (const file of files) guides.push(await readGuide(basename(file, '.md'), `src/docs/${file}`));
  const named = new Set(Object.values(GROUPS).flat());
  const others = guides.map(({ name }) => name).filter((name) => !named.has(name));
  return Object.entries({ ...GROUPS, [OTHERS]: others })
    .map(([name, names]) => ({
      name,
      guides: names.flatMap((wanted) => guides.filter(({ name }) => name === wanted)),
    }))
    .filter(({ guides }) => guides.length > 0);
}

async function readGuide(name: string, file: string): Promise<Guide> {
  return { name, file, document: readMarkdown(await readFile(new URL(file, ROOT), 'utf8')) };
}

/** Returns the address of a link from a guide; undefined if the gateway does not serve it. */
export function toHref(link: string, from: Guide, guides: readonly Guide[]): string | undefined {
  if (link.startsWith('#')) return link;
  if (link.startsWith(EXAMPLE_BASE_URL)) return `..${link.slice(EXAMPLE_BASE_URL.length)}`;
  const url = new URL(link, `file:///${from.file}`);
  if (url.protocol === 'https:' || url.protocol === 'http:') return url.href;
  const to = guides.find(({ file }) => url.href === `file:///${file}${url.hash}`);
  return to === undefined ? undefined : to.name + url.hash;
}
