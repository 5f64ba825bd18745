import { isObject } from '../core/json.ts';
import { html, prose, type Html } from './html.ts';
import type { OpenApiDocument, OpenApiOperation } from '../openapi/openapi.ts';
import type { JsonObject } from '../openapi/schemas.ts';
import { curl, manual, table, type LinkGroup } from './page.ts';
import { showSchema, typeOf } from './schema-table.ts';

export interface Called {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function showApi(document: OpenApiDocument, linkGroups: readonly LinkGroup[]): Html {
  const operations = operationsOf(document);
  const sections = document.tags.map(({ name, description }) => ({
    id: name.toLowerCase().replaceAll(' ', '-'),
    name,
    description,
    operations: operations.filter(({ operation }) => operation.tags[0] === name),
  }));
  return manual({
    text: html`<h1>API</h1>
      ${prose(document.info.description)}
      ${sections.map(
        ({ id, name, description, operations }) =>
          html`<section class="chapter" aria-labelledby="${id}">
            <h2 id="${id}">${name}</h2>
            ${prose(description)} ${operations.map(showOperation)}
          </section>`,
      )}
      <section class="chapter" aria-labelledby="schemas">
        <h2 id="schemas">Schemas</h2>
        ${Object.entries(document.components.schemas).map(([name, schema]) => showComponent(name, schema))}
      </section>`,
    contents: [
      ...sections.flatMap(({ id, name, operations }) => [
        { depth: 2, text: name, href: `#${id}` },
        ...operations.map(({ operation }) => ({
          depth: 3,
          text: operation.summary,
          href: `#${operation.operationId}`,
        })),
      ]),
      { depth: 2, text: 'Schemas', href: '#schemas' },
    ],
    current: 'api',
    linkGroups,
  });
}

export function operationsOf({ paths }: OpenApiDocument): readonly Called[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

const SECRETS: Readonly<Record<string, string>> = {
  apiKey: '$GATEWAY_API_KEY',
  adminToken: '$ADMIN_TOKEN',
  metricsToken: '$METRICS_TOKEN',
};

function showOperation({ method, path, operation }: Called): Html {
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation;
  const alias = operation['x-also-at'];
  const secret = SECRETS[Object.keys(security[0] ?? {})[0] ?? ''];
  const body = requestBody?.content['application/json'];
  return html`<article class="card operation" aria-labelledby="${operationId}">
    <h3 id="${operationId}"><a href="#${operationId}">${summary}</a></h3>
    <p>
      <code class="call"><b>${method.toUpperCase()}</b> ${path}</code>
      ${alias === undefined ? undefined : html`<span class="muted small">also <code>${alias}</code></span>`}
    </p>
    ${description === undefined ? undefined : prose(description)}
    ${curl({ method, path, secret, ...(body !== undefined && { body: body.example }) })}
    ${
      body === undefined
        ? undefined
        : html`<p>
            Body: ${typeOf(body.schema)}${requestBody?.required === true ? undefined : ', which may be left out'}.
          </p>`
    }
    ${parameters.length === 0 ? undefined : showParameters(parameters)}
    ${table({
      caption: `Replies to ${summary}`,
      columns: ['Status', 'Reply'],
      rows: Object.entries(responses).map(
        ([status, { description, content }]) =>
          html`<tr>
            <th scope="row">${status === 'default' ? 'other' : status}</th>
            <td>${prose(description)} ${showContent(content)}</td>
          </tr>`,
      ),
    })}
  </article>`;
}

function showParameters(parameters: NonNullable<OpenApiOperation['parameters']>): Html {
  return table({
    caption: 'Parameters',
    columns: ['Parameter', 'In', 'Type', 'Meaning'],
    rows: parameters.map(
      ({ name, in: location, schema, description }) =>
        html`<tr>
          <th scope="row"><code>${name}</code></th>
          <td>${location}</td>
          <td>${typeOf(schema)}</td>
          <td>${prose(description)}</td>
        </tr>`,
    ),
  });
}

function showContent(content: Readonly<Record<string, { readonly schema: JsonObject }>>): Html {
  const named = Object.entries(content).filter(([, { schema }]) => !isError(schema) && Object.keys(schema).length > 0);
  return html`${named.map(([type, { schema }]) => html`<p class="muted small">${type}: ${typeOf(schema)}</p>`)}`;
}

function isError({ allOf }: JsonObject): boolean {
  return (
    Array.isArray(allOf) && allOf.some((part) => isObject(part) && part['$ref'] === '#/components/schemas/ErrorReply')
  );
}

function showComponent(name: string, schema: unknown): Html {
  return html`<details>
    <summary>${name}</summary>
    <div class="schema" id="schema-${name}">${showSchema(isObject(schema) ? schema : {})}</div>
  </details>`;
}
