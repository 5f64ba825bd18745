/** What the pages share that are written here: the frame, what they look like, and how they are sent. */

import type { Response } from 'express';
import { etagOf } from './etag.ts';
import { escapeHtml, html, type Html } from './html.ts';
import { PAGE_HEADERS } from '../access/security-headers.ts';

export interface Page {
  readonly title: string;
  readonly version: string;
  /** The page itself, among those of the bar. */
  readonly current: '/' | '/docs';
  readonly main: Html;
}

const LINKS = [
  ['console/', 'Console'],
  ['docs', 'API'],
  ['openapi.json', 'OpenAPI'],
] as const;

/** In the place of the gateway's base URL, which only a request tells. No text that comes from elsewhere can hold it. */
export const BASE_URL: Html = { html: '\0' };

export type SendPage = (res: Response, baseUrl: string) => void;

/** The page that `describe` gives when somebody first asks for it. The latest copy is kept, since hardly ever two base URLs are in use. */
export function createPage(describe: () => Page): SendPage {
  let parts: readonly string[] | undefined;
  let latest: { readonly baseUrl: string; readonly body: string; readonly etag: string } | undefined;

  return (res, baseUrl) => {
    parts ??= toText(describe()).split(BASE_URL.html);
    if (latest?.baseUrl !== baseUrl) {
      const body = parts.join(escapeHtml(baseUrl));
      latest = { baseUrl, body, etag: etagOf(body) };
    }
    const { body, etag } = latest;
    // The browser asks each time whether it still has the right one.
    res
      .set({ ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', etag })
      .send(body);
  };
}

/** How the operation is called on the command line. */
export function curl(call: {
  readonly method: string;
  readonly path: string;
  /** The key or token, or the variable of the shell that has it. */
  readonly secret: string | undefined;
  readonly body?: object;
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
  return { html: `<pre class="code" tabindex="0">${lines.map((line) => line.html).join(' \\\n  ')}</pre>` };
}

/** With a mark wherever the base URL stands. All links are relative, so that the page also works below a path of a proxy. */
function toText({ title, version, current, main }: Page): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="console/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="console/style.css" />
        <link rel="stylesheet" href="console/pages.css" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="bar">
          <p class="brand"><a href="./">Responses gateway</a> <span class="muted">${version}</span></p>
          <nav aria-label="Pages">
            <ul>
              ${LINKS.map(([href, name]) => toLink(href, name, current))}
            </ul>
          </nav>
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html> `;
  return page.html;
}

function toLink(href: string, name: string, current: Page['current']): Html {
  return html`<li><a href="${href}" ${`/${href}` === current ? html`aria-current="page"` : undefined}>${name}</a></li>`;
}
