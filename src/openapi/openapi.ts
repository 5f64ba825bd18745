/** Makes the description of a gateway from `schemas/openapi.json`: what is turned off goes, what it refers to is put in. */

import type { RequestHandler } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import source from '../../schemas/openapi.json' with { type: 'json' };
import { ERRORS, isErrorCode, type ErrorCode } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { sendStatic, toStaticByBaseUrl } from '../wire/static.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { createComponentSchemas, locate, type ComponentSchemas, type JsonObject } from './schemas.ts';

export interface OpenApiOptions {
  readonly defaultModelId: string | null;
  readonly demo: boolean;
  readonly hasAdmin: boolean;
  readonly hasMetrics: boolean;
  readonly passthroughPaths: readonly string[];
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string } & JsonObject;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: JsonObject } & JsonObject;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly never[]>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
    readonly schema: JsonObject;
  }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly [JSON_TYPE]: { readonly schema: JsonObject; readonly example: JsonObject } };
  };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  /** The same below `/v1`. */
  readonly 'x-also-at'?: string;
}

export interface OpenApiResponse {
  readonly description: string;
  readonly headers: JsonObject;
  readonly content: Readonly<Record<string, { readonly schema: JsonObject }>>;
}

/** An operation as the file has it, once its references are resolved. */
interface DescribedOperation extends Omit<OpenApiOperation, 'responses' | 'security'> {
  readonly security?: OpenApiOperation['security'];
  readonly responses: Readonly<Record<string, DescribedReply>>;
  /** Error codes, `#/x-errors/…` for a list of them, and `503:upstream_error` for one with another status than its own. */
  readonly 'x-errors'?: readonly string[];
}

interface DescribedReply {
  readonly description?: string;
  readonly headers?: JsonObject;
  /** Without a schema where the backend decides the form. */
  readonly content?: Readonly<Record<string, { readonly schema?: JsonObject }>>;
}

const JSON_TYPE = 'application/json';

/** Returns the description of a gateway with these settings. Throws if a reference or an error code does not exist. */
export function createOpenApi(options: OpenApiOptions): OpenApiDocument {
  const { components, paths, info, openapi } = source;
  const schemas = createComponentSchemas();
  const model = options.defaultModelId ?? (options.demo ? 'demo' : 'your-model');
  const described: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries<{ readonly tags: readonly string[] }>(methods)) {
      if (!isThere(path, operation.tags, options)) continue;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the file is ours, and a test validates what becomes of it
      const resolved = resolve(operation, schemas) as DescribedOperation;
      (described[path] ??= {})[method] = describeOperation(resolved, model, schemas);
    }
  }
  const operations = Object.values(described).flatMap((methods) => Object.values(methods));
  const tags = new Set(operations.flatMap((operation) => operation.tags));
  const auth = new Set(operations.flatMap(({ security }) => security.flatMap((each) => Object.keys(each))));
  return {
    openapi,
    info: {
      title: info.title,
      version: packageJson.version,
      summary: packageJson.description,
      description: describe(options),
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    tags: source.tags.filter(({ name }) => tags.has(name)),
    paths: described,
    components: {
      schemas: schemas.all(),
      headers: components.headers,
      securitySchemes: Object.fromEntries(
        Object.entries(components.securitySchemes).filter(([name]) => auth.has(name)),
      ),
    },
  };
}

/** Sends the document with the address that the caller used, or 304 for a matching ETag. */
export function showOpenApi(
  document: OpenApiDocument,
  { publicBaseUrl }: { readonly publicBaseUrl: string | null },
): RequestHandler {
  const bodyFor = toStaticByBaseUrl('application/json; charset=utf-8', (baseUrl) =>
    JSON.stringify({ ...document, servers: [{ url: baseUrl }] }),
  );
  return (req, res) => sendStatic(req, res, bodyFor(baseUrlOf(req, publicBaseUrl)));
}

function isThere(path: string, tags: readonly string[], { hasAdmin, hasMetrics }: OpenApiOptions): boolean {
  return (hasAdmin || !tags.includes('Admin')) && (hasMetrics || path !== '/metrics');
}

function describe({ passthroughPaths }: OpenApiOptions): string {
  const sentences = [`${packageJson.description}.`, source.info.description];
  if (passthroughPaths.length > 0) {
    const paths = passthroughPaths.map((path) => `\`${path}\``).join(', ');
    sentences.push(`Passed on to the backend as they come, with all that is below them: ${paths}.`);
  }
  return sentences.join(' ');
}

/** Puts parameters and replies in, where the file refers to them, and makes components of the schemas. */
function resolve(value: unknown, schemas: ComponentSchemas): unknown {
  if (Array.isArray(value)) return value.map((each) => resolve(each, schemas));
  if (!isObject(value)) return value;
  const { $ref: ref, ...rest } = value;
  const inner = Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, resolve(each, schemas)]));
  if (typeof ref !== 'string') return inner;
  if (!ref.startsWith('#')) return schemas.refTo(ref);
  if (ref.startsWith('#/components/headers/')) return value;
  const target = resolve(locate(source, ref), schemas);
  if (!isObject(target)) throw new Error(`there is nothing at ${ref}`);
  return { ...target, ...inner };
}

function describeOperation(described: DescribedOperation, model: string, schemas: ComponentSchemas): OpenApiOperation {
  const { 'x-errors': errors = [], requestBody, responses, ...operation } = described;
  const codesByStatus = groupByStatus(errors);
  const statuses = new Set([...Object.keys(responses), ...codesByStatus.keys()]);
  const isRelayed = responses['default'] !== undefined;
  return {
    security: [],
    ...operation,
    ...(requestBody !== undefined && { requestBody: withModel(requestBody, model) }),
    responses: Object.fromEntries(
      [...statuses].sort().map((status) => {
        const codes = codesByStatus.get(status) ?? [];
        return [status, describeReply({ status, reply: responses[status] ?? {}, codes, isRelayed }, schemas)];
      }),
    ),
  };
}

type Body = NonNullable<OpenApiOperation['requestBody']>;

function withModel(body: Body, model: string): Body {
  const { schema, example } = body.content[JSON_TYPE];
  const asked = 'model' in example ? { ...example, model } : example;
  return { ...body, content: { [JSON_TYPE]: { schema, example: asked } } };
}

function groupByStatus(errors: readonly string[]): ReadonlyMap<string, readonly ErrorCode[]> {
  const codes = new Map<string, ErrorCode[]>();
  for (const error of errors.flatMap(codesOf)) {
    const [code = '', status] = error.split(':').toReversed();
    if (!isErrorCode(code)) throw new Error(`there is no error ${code}`);
    const its = status ?? String(ERRORS[code].status);
    codes.set(its, [...(codes.get(its) ?? []), code]);
  }
  return codes;
}

const LISTS = new Map<string, readonly string[]>(
  Object.entries(source['x-errors']).map(([name, codes]) => [`#/x-errors/${name}`, codes]),
);

function codesOf(error: string): readonly string[] {
  return LISTS.get(error)?.flatMap(codesOf) ?? [error];
}

interface OneReply {
  readonly status: string;
  readonly reply: DescribedReply;
  readonly codes: readonly ErrorCode[];
  readonly isRelayed: boolean;
}

function describeReply({ status, reply, codes, isRelayed }: OneReply, schemas: ComponentSchemas): OpenApiResponse {
  const content = new Map<string, JsonObject>(
    Object.entries(reply.content ?? {}).map(([mediaType, { schema }]) => [mediaType, schema ?? {}]),
  );
  if (codes.length > 0) {
    const other = content.get(JSON_TYPE) ?? (isRelayed ? { description: "The backend's own error." } : undefined);
    const error = errorSchema(codes, schemas);
    content.set(JSON_TYPE, other === undefined ? error : { anyOf: [error, other] });
  }
  return {
    description: [reply.description, ...codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`)]
      .filter(Boolean)
      .join('\n\n'),
    headers: { ...toHeader('x-request-id'), ...reply.headers, ...(WAIT.has(status) && toHeader('retry-after')) },
    content: Object.fromEntries([...content].map(([mediaType, schema]) => [mediaType, { schema }])),
  };
}

const WAIT = new Set(['429', '503']);

function toHeader(name: string): JsonObject {
  return { [name]: { $ref: `#/components/headers/${name}` } };
}

function errorSchema(codes: readonly ErrorCode[], schemas: ComponentSchemas): JsonObject {
  const code = { enum: codes };
  return { allOf: [schemas.refTo('error.json'), { properties: { error: { properties: { code } } } }] };
}
