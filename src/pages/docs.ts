import type { RequestHandler } from 'express';
import { notFound } from '../wire/no-route.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { showApi, operationsOf } from './api-reference.ts';
import { EXAMPLE_BASE_URL, MOVED, readDeployFiles, readGuides, toHref, type Guide, type GuideGroup } from './guides.ts';
import { escapeHtml, html, type Html } from './html.ts';
import type { OpenApiDocument } from '../openapi/openapi.ts';
import { BASE_URL, createPage, manual, searchBox, type LinkGroup, type Page } from './page.ts';
import { sendStatic, toStatic } from '../wire/static.ts';

interface SearchEntry {
  readonly text: string;
  readonly page: string;
  readonly href: string;
  readonly body: string;
}

const LOOK_UP = 'Look up';

/** Answers `/docs` and `/docs/:guide`. Makes each page on first use. */
export async function showDocs(
  api: OpenApiDocument,
  { publicBaseUrl }: { readonly publicBaseUrl: string | null },
): Promise<RequestHandler> {
  const { version } = api.info;
  const groups = await readGuides();
  const guides = groups.flatMap((group) => group.guides);
  const linkGroups = toLinkGroups(groups);
  const toPage = (describe: () => Omit<Page, 'version'>): RequestHandler => {
    const sendPage = createPage(() => ({ version, ...describe() }));
    return (req, res) => sendPage(req, res, baseUrlOf(req, publicBaseUrl));
  };
  const pages = new Map<string | undefined, RequestHandler>([
    [undefined, toPage(() => ({ title: 'Docs · Responses gateway', path: '/docs', main: listGuides(groups) }))],
    ['api', toPage(() => ({ title: 'API · Responses gateway', path: '/docs/api', main: showApi(api, linkGroups) }))],
    ['search.json', showSearchEntries(api, guides)],
    ...guides.map(
      (guide) =>
        [
          guide.name,
          toPage(() => ({
            title: `${guide.document.title} · Docs`,
            path: `/docs/${guide.name}`,
            main: showGuide(guide, guides, linkGroups),
          })),
        ] as const,
    ),
    ...(await readDeployFiles()).map(
      ([name, text]) =>
        [name, showStatic(name.endsWith('.json') ? 'application/json' : 'text/plain; charset=utf-8', text)] as const,
    ),
  ]);
  return (req, res, next) => {
    const name = typeof req.params['guide'] === 'string' ? req.params['guide'] : undefined;
    const page = pages.get(name);
    const moved = MOVED.get(name ?? '');
    if (moved !== undefined) return res.redirect(308, req.path.endsWith('/') ? `../${moved}` : moved);
    // Relative links do not work with a trailing slash.
    if (page !== undefined && req.path.endsWith('/')) return res.redirect(307, `../${name ?? 'docs'}`);
    return (page ?? notFound)(req, res, next);
  };
}

function showSearchEntries(api: OpenApiDocument, guides: readonly Guide[]): RequestHandler {
  const entries: readonly SearchEntry[] = [
    ...guides.flatMap(({ name, document }) =>
      document.sections.map(({ text, anchor, body }) => ({
        text,
        page: document.title,
        href: `${name}#${anchor}`,
        body,
      })),
    ),
    ...operationsOf(api).map(({ method, path, operation }) => ({
      text: `${operation.summary} (${method.toUpperCase()} ${path})`,
      page: 'API',
      href: `api#${operation.operationId}`,
      body: operation.description ?? '',
    })),
  ];
  return showStatic('application/json; charset=utf-8', JSON.stringify(entries));
}

function showStatic(type: string, content: string): RequestHandler {
  const body = toStatic(type, content);
  return (req, res) => sendStatic(req, res, body);
}

function toLinkGroups(groups: readonly GuideGroup[]): readonly LinkGroup[] {
  return [
    ...groups.map(({ name, guides }) => ({
      name,
      links: guides.map(({ name, document }) => ({ href: name, title: document.title })),
    })),
    { name: LOOK_UP, links: [{ href: 'api', title: 'API' }] },
  ];
}

function listGuides(groups: readonly GuideGroup[]): Html {
  return html`<div class="view reading" id="guides">
    <h1>Docs</h1>
    ${searchBox('docs/')}
    ${groups.map(
      ({ name, guides }) =>
        html`<section class="chapter">
          <h2>${name}</h2>
          <ul class="link-list">
            ${guides.map(
              ({ name, document: { title, summary } }) =>
                html`<li><a href="docs/${name}">${title}</a> <span class="muted">${summary}</span></li>`,
            )}
          </ul>
        </section>`,
    )}
    <section class="chapter">
      <h2>${LOOK_UP}</h2>
      <ul class="link-list">
        <li><a href="docs/api">API</a> <span class="muted">Every path, field and error.</span></li>
        <li><a href="openapi.json">OpenAPI 3.1</a> <span class="muted">The same, for programs.</span></li>
      </ul>
    </section>
  </div>`;
}

function showGuide(guide: Guide, guides: readonly Guide[], linkGroups: readonly LinkGroup[]): Html {
  const { document } = guide;
  const sections = document.headings.filter(({ depth }) => depth === 2 || depth === 3);
  const text = document.render({ toHref: (link) => toHref(link, guide, guides), showLiteral });
  return manual({
    text: html`<article class="prose">${text}</article>`,
    contents: sections.map(({ depth, text, anchor }) => ({ depth, text, href: `#${anchor}` })),
    current: guide.name,
    linkGroups,
  });
}

function showLiteral(text: string): Html {
  return { html: escapeHtml(text).replaceAll(EXAMPLE_BASE_URL, BASE_URL.html) };
}
