import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readMarkdown } from '../../src/pages/markdown.ts';
import { DOCUMENTS, readLinks, ROOT, type Document } from './documents.ts';

/** Those that people read at GitHub only. */
const OTHERS: readonly Document[] = globSync('.github/**/*.md', { cwd: ROOT }).map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}));

describe('the links of README and the guides', () => {
  for (const document of [...DOCUMENTS, ...OTHERS]) {
    it(`lead to files and headings that are there: ${document.path}`, () => {
      expect(readLinks(document).flatMap((link) => findProblem(document.path, link) ?? [])).to.deep.equal([]);
    });
  }

  it('lead from README to every guide', () => {
    const [readme, ...guides] = DOCUMENTS;
    const links = readme === undefined ? [] : readLinks(readme);
    expect(guides.map(({ path }) => path).filter((path) => !links.includes(path))).to.deep.equal([]);
  });

  it('lead from the messages of the program to guides and headings that are there', () => {
    const named = globSync(['src/**/*.ts', 'src/deploy/*.yml'], {
      cwd: ROOT,
      exclude: ['src/contract/*.generated.*', 'src/http/**/pages/**'],
    }).flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/(?<![a-z])\/docs\/(?!api\b)([\w-]+)(#[\w-]+)?/g)].map(
        ([, name = '', anchor = '']) => findProblem('README.md', `src/docs/${name}.md${anchor}`),
      ),
    );
    expect(named.filter((problem) => problem !== undefined)).to.deep.equal([]);
  });
});

/** What is wrong with a link; undefined when nothing is. What is elsewhere is not asked for. */
function findProblem(from: string, link: string): string | undefined {
  if (link.startsWith('https:') || link.startsWith('http://127.0.0.1:8080/')) return undefined;
  const { protocol, pathname, hash } = new URL(link, `file:///${from}`);
  const path = decodeURIComponent(pathname.slice(1));
  const file = join(ROOT, path);
  if (protocol !== 'file:' || !existsSync(file)) return `${link}: there is no such file`;
  if (hash === '') return undefined;
  if (!statSync(file).isFile() || !path.endsWith('.md')) return `${link}: it has no headings`;
  const { headings } = readMarkdown(readFileSync(file, 'utf8'));
  const isThere = headings.some(({ anchor }) => anchor === decodeURIComponent(hash.slice(1)));
  return isThere ? undefined : `${link}: there is no such heading`;
}
