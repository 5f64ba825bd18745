import type { Request, Response } from 'express';
import { lazily } from '../core/lazily.ts';
import { escapeHtml, html, type Html } from './html.ts';
import { PAGE_HEADERS } from '../wire/security-headers.ts';
import { sendStatic, toStaticByBaseUrl } from '../wire/static.ts';

export interface Page {
  readonly title: string;
  readonly version: string;
  readonly path: string;
  readonly main: Html;
}

const LINKS = [
  ['console/', 'Console'],
  ['docs', 'Docs'],
  ['docs/api', 'API'],
  ['openapi.json', 'OpenAPI'],
] as const;

/** A mark for the base URL, which only a request knows. No other text can contain it. */
export const BASE_URL: Html = { html: '\0' };

export type SendPage = (req: Request, res: Response, baseUrl: string) => Promise<void>;

/** Returns a function that sends the page. It calls `describe` once, on first use. */
export function createPage(describe: () => Page): SendPage {
  const partsOf = lazily(() => toText(describe()).split(BASE_URL.html));
  const bodyFor = toStaticByBaseUrl('text/html; charset=utf-8', (baseUrl) => partsOf().join(escapeHtml(baseUrl)));
  return (req, res, baseUrl) => {
    res.set(PAGE_HEADERS);
    return sendStatic(req, res, bodyFor(baseUrl));
  };
}

export function curl(call: {
  readonly method: string;
  readonly path: string;
  readonly secret: string | undefined;
  readonly body?: object;
  readonly before?: string;
}): Html {
  const method =
    call.method === 'get' || (call.method === 'post' && call.body !== undefined)
      ? ''
      : `-X ${call.method.toUpperCase()} `;
  const lines = [
    html`curl ${method}${BASE_URL}${call.path}`,
    ...(call.secret === undefined ? [] : [html`-H "Authorization: Bearer ${call.secret}"`]),
    ...(call.body === undefined
      ? []
      : [html`-H "Content-Type: application/json"`, html`-d '${JSON.stringify(call.body).replaceAll("'", "'\\''")}'`]),
  ];
  const command: Html = { html: lines.map((line) => line.html).join(' \\\n  ') };
  const before = call.before === undefined ? undefined : html`${call.before}${'\n'}`;
  return html`<pre class="code" tabindex="0">${before}${command}</pre>`;
}

/** Returns the box where a script adds the search. `docs` is the relative address of `/docs/`. */
export function searchBox(docs: string): Html {
  return html`<div class="search" id="page-search" data-docs="${docs}"></div>`;
}

/** Returns a table. The caption is for those who hear the page. */
export function table({
  caption,
  columns,
  rows,
}: {
  readonly caption?: string;
  readonly columns: readonly string[];
  readonly rows: readonly Html[];
}): Html {
  return html`<table>
    ${
      caption === undefined
        ? undefined
        : html`<caption class="hidden-text">
            ${caption}
          </caption>`
    }
    <thead>
      <tr>
        ${columns.map((column) => html`<th scope="col">${column}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

export interface LinkGroup {
  readonly name: string;
  readonly links: readonly { readonly href: string; readonly title: string }[];
}

interface Manual {
  readonly text: Html;
  readonly contents: readonly { readonly depth: number; readonly text: string; readonly href: string }[];
  readonly linkGroups: readonly LinkGroup[];
  readonly current: string;
}

/** Returns a text beside a list of all pages, which has its headings below its own name. On a phone the list is folded above it. */
export function manual({ text, contents, linkGroups, current }: Manual): Html {
  return html`<div class="view manual">
    ${searchBox('')}
    <details class="fold">
      <summary>All pages</summary>
      <nav class="contents" aria-label="Docs">
        <p><a href="../docs">All docs</a></p>
        ${linkGroups.map(
          ({ name, links }) =>
            html`<h2>${name}</h2>
              <ul>
                ${links.map(({ href, title }) =>
                  href === current
                    ? html`<li><a href="${href}" aria-current="page">${title}</a>${toContents(contents)}</li>`
                    : html`<li><a href="${href}">${title}</a></li>`,
                )}
              </ul>`,
        )}
      </nav>
    </details>
    <div class="chapters">${text}</div>
  </div>`;
}

function toContents(contents: Manual['contents']): Html {
  return html`<ul>
    ${contents.map(({ depth, text, href }) => html`<li class="depth-${depth}"><a href="${href}">${text}</a></li>`)}
  </ul>`;
}

/** Leaves a mark for each base URL. All links are relative, to work below a path of a proxy. */
function toText({ title, version, path, main }: Page): string {
  const root = '../'.repeat(path.split('/').length - 2);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${root}console/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="${root}console/style.css" />
        <link rel="stylesheet" href="${root}console/pages.css" />
        <script type="module" src="${root}console/pages.js"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="bar">
          <p class="brand"><a href="${root}./">Responses gateway</a> <span class="muted">${version}</span></p>
          <nav aria-label="Pages">
            <ul>
              ${LINKS.map(([href, name]) => toLink(root + href, name, currentOf(`/${href}`, path)))}
            </ul>
          </nav>
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html> `;
  return page.html;
}

function toLink(href: string, name: string, current: Current): Html {
  return html`<li>
    <a href="${href}" ${current === undefined ? undefined : html`aria-current="${current}"`}>${name}</a>
  </li>`;
}

type Current = 'page' | 'true' | undefined;

function currentOf(link: string, path: string): Current {
  if (link === path) return 'page';
  const isGuide = path.startsWith('/docs/') && LINKS.every(([href]) => path !== `/${href}`);
  return link === '/docs' && isGuide ? 'true' : undefined;
}
