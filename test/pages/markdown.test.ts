import { expect } from 'chai';
import { escapeHtml } from '../../src/pages/html.ts';
import { readMarkdown, type RenderOptions } from '../../src/pages/markdown.ts';

const OPTIONS: RenderOptions = { toHref: (link) => link, showLiteral: (text) => ({ html: escapeHtml(text) }) };

function render(text: string, options: Partial<RenderOptions> = {}): string {
  return readMarkdown(text).render({ ...OPTIONS, ...options }).html;
}

describe('readMarkdown', () => {
  it('takes the title, and the first sentence under it', () => {
    const { title, summary } = readMarkdown('# The `db` guide\n\nSays **how**. And\nmore: this.\n\nLater.\n');
    expect([title, summary]).to.deep.equal(['The db guide', 'Says how.']);
  });

  for (const { name, text, summary } of [
    {
      name: 'ends at a colon, which introduces what is not shown',
      text: '# T\n\nShows two: a.\n',
      summary: 'Shows two.',
    },
    { name: 'goes over dots within words', text: '# T\n\nMakes `a.b` 0.2.0 good.\n', summary: 'Makes a.b 0.2.0 good.' },
    { name: 'is all of a text that does not end', text: '# T\n\nAll of\nit\n', summary: 'All of it' },
    { name: 'is empty where there is no text', text: '# T\n', summary: '' },
  ]) {
    it(`has a first sentence that ${name}`, () => {
      expect(readMarkdown(text).summary).to.equal(summary);
    });
  }

  it('gives headings the anchors that GitHub gives', () => {
    const titles = [
      'Retry, inspect, cancel',
      '`a_b` & *c*',
      'Zwölf — 12',
      '401 "no key"',
      'Same',
      'Same',
      'Same-1',
      'Same',
    ];
    const { headings } = readMarkdown(titles.map((title) => `## ${title}\n`).join('\n'));
    expect(headings.map(({ anchor }) => anchor)).to.deep.equal([
      'retry-inspect-cancel',
      'a_b--c',
      'zwölf--12',
      '401-no-key',
      'same',
      'same-1',
      'same-1-1',
      'same-2',
    ]);
    expect(headings[1]).to.include({ depth: 2, text: 'a_b & c' });
  });

  it('finds the terms of tables, and takes no anchor from a heading for them', () => {
    const { headings, terms } = readMarkdown('| a | b |\n|---|---|\n| `HOST`, `PORT` | x |\n| y | `Z` |\n\n## HOST\n');
    expect(headings[0]?.anchor).to.equal('host');
    expect(terms).to.deep.equal([
      { text: 'HOST', anchor: 'host-1' },
      { text: 'PORT', anchor: 'host-1' },
    ]);
  });
});

describe('the sections of a text', () => {
  it('have all that is under a heading, and what a row says that has an anchor', () => {
    const text =
      '# T\n\nOne `two`.\n\n- a\n- b\n\n## S\n\n```sh\nrun\n```\n\n| x | y |\n|---|---|\n| `HOST` | where |\n| m | n |\n';
    expect(readMarkdown(text).sections).to.deep.equal([
      { text: 'T', anchor: 't', body: 'One two. a b' },
      { text: 'S', anchor: 's', body: 'run m n' },
      { text: 'HOST', anchor: 'host', body: 'where' },
    ]);
  });
});

describe('a rendered text', () => {
  it('leaves out pictures, which the gateway does not serve', () => {
    expect(render('Look: ![A terminal](.github/terminal.svg)')).to.equal('<p>Look: </p>\n');
  });

  const HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(1)>';

  for (const [place, text] of Object.entries({
    'a block': `${HOSTILE}\n`,
    'a line': `a ${HOSTILE}\n`,
    'a heading': `## ${HOSTILE}\n`,
    'a table': `| \`${HOSTILE}\` ${HOSTILE} |\n|---|\n| ${HOSTILE} |\n| \`${HOSTILE}\` |\n`,
    'a block of code': `\`\`\`${HOSTILE}\n${HOSTILE}\n\`\`\`\n`,
    'code in a line': `\`${HOSTILE}\`\n`,
    'the text of a link': `[${HOSTILE}](x)\n`,
    'the address of a link': `[x](<${HOSTILE}"onclick="x>)\n`,
    'the text of a picture': `![${HOSTILE}](x)\n`,
    'the address of a picture': `![x](<${HOSTILE}>)\n`,
    'a list': `- ${HOSTILE}\n`,
  })) {
    it(`makes no element of HTML in ${place}`, () => {
      const html = render(text);
      const withoutValues = html.replaceAll(/="[^"]*"/g, '');
      expect(withoutValues, html).not.to.match(/<(?:script|img)|<[^>]* on\w+/i);
    });
  }

  it('leaves comments out, which are for those who write', () => {
    expect(render('a\n\n<!-- not this -->\n\nb <!-- nor this -->\n')).not.to.include('this');
  });

  it('has headings that link to themselves, but for the title', () => {
    expect(render('# Title\n\n## Part one\n')).to.equal(
      '<h1 id="title">Title</h1><h2 id="part-one"><a href="#part-one">Part one</a></h2>',
    );
  });

  it('has the text of a link alone where it leads nowhere', () => {
    const toHref = (link: string) => (link === 'gone.md' ? undefined : `../${link}`);
    expect(render('[a](gone.md) [b](here.md)\n', { toHref })).to.equal('<p>a <a href="../here.md">b</a></p>\n');
  });

  it('shows code, and addresses that are links, as it is told to', () => {
    const showLiteral = (text: string) => ({ html: text.toUpperCase() });
    const html = render('`a` <http://b.c/> [text](d)\n\n```sh\ne\n```\n', { showLiteral });
    expect(html).to.include('<code>A</code>').and.to.include('>HTTP://B.C/</a>').and.to.include('>E</pre>');
    expect(html).to.include('>text</a>');
  });

  it('keeps figures beside each other, and lets other tables be stacked with the title of each column', () => {
    expect(render('| a | b |\n|---|--:|\n| x | 1 |\n')).to.include('class="wide-table"');
    const stacked = render('| a | `b` |\n|---|---|\n| `x` | 1 |\n');
    expect(stacked)
      .to.include('class="stacked-table"')
      .and.to.match(/<td\s+id="x"\s+data-title="a"/);
    expect(stacked).to.match(/<td\s+data-title="b"/);
  });

  it('has no head for a column without a title', () => {
    const html = render('| | b |\n|---|---|\n| x | y |\n');
    expect(html.match(/<th /g)).to.have.lengthOf(1);
    expect(html.match(/data-title="[^"]*"/g)).to.deep.equal(['data-title="b"']);
  });
});
