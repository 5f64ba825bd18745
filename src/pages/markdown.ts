/** No HTML of a file becomes HTML of a page. */

import { Marked, type MarkedToken, type RendererObject, type Token, type Tokens } from 'marked';
import { html, type Html } from './html.ts';

export interface Anchor {
  readonly text: string;
  readonly anchor: string;
}

export interface Heading extends Anchor {
  readonly depth: number;
}

/** What is under a heading, or in a row of a table that has an anchor of its own. */
export interface Section extends Anchor {
  /** Without its title. */
  readonly body: string;
}

export interface MarkdownDocument {
  readonly title: string;
  readonly summary: string;
  /** Their anchors follow the rules of GitHub, so that a link works there and here. */
  readonly headings: readonly Heading[];
  readonly terms: readonly Anchor[];
  readonly sections: readonly Section[];
  render(options: RenderOptions): Html;
}

export interface RenderOptions {
  /** Undefined means no address: only the text of the link is shown. */
  readonly toHref: (link: string) => string | undefined;
  readonly showLiteral: (text: string) => Html;
}

/** Reads a text once; it can be rendered several times. */
export function readMarkdown(text: string): MarkdownDocument {
  const tokens = new Marked().lexer(text);
  const anchors = findAnchors(tokens);
  const headings = [...anchors.headings.values()];
  const first = tokens.find(isParagraph);
  return {
    title: headings.find(({ depth }) => depth === 1)?.text ?? '',
    summary: toFirstSentence(toPlainText(first?.tokens ?? [])),
    headings,
    terms: [...anchors.rows.values()].flat(),
    sections: readSections(tokens, anchors),
    render: (options) => ({ html: new Marked({ renderer: createRenderer(anchors, options) }).parser(tokens) }),
  };
}

interface Anchors {
  readonly headings: ReadonlyMap<Token, Heading>;
  readonly rows: ReadonlyMap<Tokens.TableCell, readonly Anchor[]>;
}

function findAnchors(tokens: Token[]): Anchors {
  const all = walk(tokens);
  const toAnchor = createAnchors();
  const headings = new Map<Token, Heading>();
  for (const token of all.filter(isHeading)) {
    const text = toPlainText(token.tokens);
    headings.set(token, { depth: token.depth, text, anchor: toAnchor(text) });
  }
  // They come after all headings, whose anchors must be those that GitHub gives.
  const rows = new Map<Tokens.TableCell, readonly Anchor[]>();
  for (const [cell] of all.filter(isTable).flatMap((table) => table.rows)) {
    if (cell?.tokens[0]?.type !== 'codespan') continue;
    const names = cell.tokens.filter(isCodespan).map(({ text }) => text);
    const anchor = toAnchor(names[0] ?? '');
    const anchors = names.map((text) => ({ text, anchor }));
    rows.set(cell, anchors);
  }
  return { headings, rows };
}

function readSections(tokens: readonly Token[], { headings, rows }: Anchors): readonly Section[] {
  const sections: (Anchor & { readonly texts: readonly string[] })[] = [];
  let under: string[] = [];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading !== undefined) {
      under = [];
      sections.push({ text: heading.text, anchor: heading.anchor, texts: under });
    } else if (isTable(token)) {
      for (const row of token.rows) {
        const anchor = row[0] === undefined ? undefined : rows.get(row[0])?.[0]?.anchor;
        const [text = '', ...others] = row.map((cell) => toPlainText(cell.tokens));
        if (anchor === undefined) under.push(text, ...others);
        else sections.push({ text, anchor, texts: others });
      }
    } else under.push(toBlockText(token));
  }
  return sections.map(({ text, anchor, texts }) => ({ text, anchor, body: texts.filter(Boolean).join(' ') }));
}

/** Blocks within the block stay apart. */
function toBlockText(token: Token): string {
  if (isList(token)) return token.items.map(toBlockText).join(' ');
  if (token.type !== 'list_item' && token.type !== 'blockquote') return textOf(token);
  return (token.tokens ?? []).map(toBlockText).join(' ');
}

function walk(tokens: Token[]): readonly Token[] {
  const all: Token[] = [];
  void new Marked().walkTokens(tokens, (token) => void all.push(token));
  return all;
}

const isHeading = isOf('heading');
const isParagraph = isOf('paragraph');
const isTable = isOf('table');
const isList = isOf('list');
const isCodespan = isOf('codespan');

function isOf<Type extends MarkedToken['type']>(type: Type) {
  return (token: Token): token is Extract<MarkedToken, { type: Type }> => token.type === type;
}

/** The anchors are those of GitHub: the second one of a name ends in -1, and so on. */
function createAnchors(): (text: string) => string {
  const counts = new Map<string, number>();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    while (counts.has(anchor)) {
      const count = (counts.get(slug) ?? 0) + 1;
      counts.set(slug, count);
      anchor = `${slug}-${count}`;
    }
    counts.set(anchor, 0);
    return anchor;
  };
}

function toPlainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('').replaceAll(/\s+/g, ' ');
}

function textOf(token: Token): string {
  if (token.type === 'html') return '';
  if (token.type === 'br') return ' ';
  if ('tokens' in token && token.tokens !== undefined) return toPlainText(token.tokens);
  return 'text' in token && typeof token.text === 'string' ? token.text : '';
}

function toFirstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

function createRenderer({ headings, rows }: Anchors, { toHref, showLiteral }: RenderOptions): RendererObject {
  return {
    html: ({ text }) => (text.trim().startsWith('<!--') ? '' : html`${text}`.html),
    // That of README is for whoever looks at its source.
    image: () => '',
    codespan: ({ text }) => html`<code>${showLiteral(text)}</code>`.html,
    code: ({ text }) => html`<pre class="code" tabindex="0">${showLiteral(text)}</pre>`.html,
    heading(token) {
      const { depth } = token;
      const anchor = headings.get(token)?.anchor ?? '';
      const title: Html = { html: this.parser.parseInline(token.tokens) };
      if (depth === 1) return html`<h1 id="${anchor}">${title}</h1>`.html;
      return html`<h${depth} id="${anchor}"><a href="#${anchor}">${title}</a></h${depth}>`.html;
    },
    link({ href, tokens, autolink }) {
      const content: Html = autolink === true ? showLiteral(href) : { html: this.parser.parseInline(tokens) };
      const address = toHref(href);
      return (address === undefined ? content : html`<a href="${address}">${content}</a>`).html;
    },
    table(table) {
      const show = ({ tokens }: Tokens.TableCell): Html => ({ html: this.parser.parseInline(tokens) });
      return showTable(table, show, (cell) => rows.get(cell)?.[0]?.anchor).html;
    },
  };
}

function showTable(
  { header, rows }: Tokens.Table,
  show: (cell: Tokens.TableCell) => Html,
  anchorOf: (cell: Tokens.TableCell) => string | undefined,
): Html {
  const isOfFigures = header.some(({ align }) => align === 'right');
  // Figures stay beside each other on a phone too, since they are compared across a row.
  return html`<div
    class="${isOfFigures ? 'wide-table' : 'stacked-table'}"
    ${isOfFigures ? html`tabindex="0"` : undefined}
  >
    <table>
      <thead>
        <tr>
          ${header.map((cell) =>
            cell.text === '' ? html`<td></td>` : html`<th scope="col" ${alignmentOf(cell)}>${show(cell)}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, column) =>
                showCell({ cell, content: show(cell), anchor: anchorOf(cell), title: header[column] }),
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

interface ShownCell {
  readonly cell: Tokens.TableCell;
  readonly content: Html;
  readonly anchor: string | undefined;
  readonly title: Tokens.TableCell | undefined;
}

function showCell({ cell, content, anchor, title }: ShownCell): Html {
  return html`<td
    ${alignmentOf(cell)}
    ${anchor === undefined ? undefined : html`id="${anchor}"`}
    ${title === undefined || title.text === '' ? undefined : html`data-title="${toPlainText(title.tokens)}"`}
  >
    ${content}
  </td>`;
}

function alignmentOf({ align }: Tokens.TableCell): Html | undefined {
  return align === 'right' ? html`class="number"` : undefined;
}
