import { globSync } from 'node:fs';
import { expect } from 'chai';
import { readGuides, toHref, type Guide } from '../../src/pages/guides.ts';
import { readMarkdown } from '../../src/pages/markdown.ts';
import { ROOT } from '../docs/documents.ts';

describe('readGuides', () => {
  it('reads README first, and every guide once, with a title and a sentence', async () => {
    const guides = (await readGuides()).flatMap((group) => group.guides);
    expect(guides[0]).to.include({ name: 'readme', file: 'README.md' });
    const files = guides.map(({ file }) => file).sort();
    expect(files).to.deep.equal(['README.md', ...globSync('src/docs/*.md', { cwd: ROOT })].sort());
    for (const { file, document } of guides) {
      expect(document.title, file).not.to.equal('');
      expect(document.summary, file).not.to.equal('');
    }
  });
});

describe('toHref', () => {
  const guide = (name: string, file: string): Guide => ({ name, file, document: readMarkdown('# T\n') });
  const readme = guide('readme', 'README.md');
  const database = guide('database', 'src/docs/database.md');
  const guides = [readme, database];

  for (const { link, from, href } of [
    { link: '#backup', from: database, href: '#backup' },
    { link: './database.md#backup', from: database, href: 'database#backup' },
    { link: 'database.md', from: database, href: 'database' },
    { link: '../../README.md#start', from: database, href: 'readme#start' },
    { link: 'src/docs/database.md#backup', from: readme, href: 'database#backup' },
    { link: 'http://127.0.0.1:8080/console', from: readme, href: '../console' },
    { link: 'http://127.0.0.1:8080/docs/api#createResponse', from: readme, href: '../docs/api#createResponse' },
    { link: 'https://example.com/a?b#c', from: readme, href: 'https://example.com/a?b#c' },
    { link: '../deploy/alerts.yml', from: database, href: 'alerts.yml' },
    { link: '../deploy/.env', from: database, href: undefined },
    { link: '.env.example', from: readme, href: undefined },
    { link: '../console/index.html', from: database, href: undefined },
    { link: './missing.md', from: database, href: undefined },
    { link: 'javascript:alert(1)', from: readme, href: undefined },
    { link: '//example.com/README.md', from: readme, href: undefined },
  ]) {
    it(`leads ${link} in ${from.file} to ${href ?? 'nothing'}`, () => {
      expect(toHref(link, from, guides)).to.equal(href);
    });
  }
});
