import type { RequestHandler } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { sendStatic, toStaticByBaseUrl } from '../http/static.ts';
import {
  AUTH,
  HEADERS,
  TAGS,
  type ErrorRef,
  type HeaderName,
  type Operation,
  type Parameter,
  type ReplyDescription,
} from './operation.ts';
import { operationsOf, type DescribedGateway } from './routes.ts';
import { createComponentSchemas, type ComponentSchemas, type JsonObject, type SchemaRef } from './schemas.ts';

export interface OpenApiOptions extends DescribedGateway {
  readonly passthroughPaths: readonly string[];
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string } & JsonObject;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: JsonObject } & JsonObject;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly []>>[];
  readonly parameters?: readonly (Parameter & { readonly required: boolean })[];
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

const JSON_TYPE = 'application/json';

/** Returns the description of a gateway with these settings. */
export function createOpenApi(options: OpenApiOptions): OpenApiDocument {
  const schemas = createComponentSchemas();
  const operations = operationsOf(options);
  const tags = new Set(operations.map(({ tag }) => tag));
  const auth = new Set(operations.flatMap(({ auth }) => auth ?? []));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Responses gateway',
      version: packageJson.version,
      summary: packageJson.description,
      description: describe(options),
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    tags: [...tags].map((name) => ({ name, description: TAGS[name] })),
    paths: describePaths(operations, schemas),
    components: {
      schemas: schemas.all(),
      headers: Object.fromEntries(Object.entries(HEADERS).map(([name, description]) => [name, header(description)])),
      securitySchemes: Object.fromEntries(
        [...auth].map((name) => [name, { type: 'http', scheme: 'bearer', description: AUTH[name] }]),
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

function describe({ passthroughPaths }: OpenApiOptions): string {
  const sentences = [
    `${packageJson.description}.`,
    'Everything below `/api/v1` is below `/v1` as well, so that one base URL serves both kinds of client.',
    'Every error is JSON: `{"error": {"message", "type", "param", "code"}}`. A `GET` path also answers `HEAD`. ' +
      'Any other method that is not described here is a 405 `method_not_allowed`. A message that is not valid HTTP, or is too ' +
      'slow or too large in its head, is a 400, 408, 417 or 431 on every path.',
  ];
  if (passthroughPaths.length > 0) {
    const paths = passthroughPaths.map((path) => `\`${path}\``).join(', ');
    sentences.push(`Passed on to the backend as they come, with all that is below them: ${paths}.`);
  }
  return sentences.join(' ');
}

function describePaths(operations: readonly Operation[], schemas: ComponentSchemas): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method] = describeOperation(operation, schemas);
  }
  return paths;
}

function describeOperation(operation: Operation, schemas: ComponentSchemas): OpenApiOperation {
  const { id, tag, summary, description, auth, parameters, body, frames, alias } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(alias !== undefined && { 'x-also-at': alias }),
    ...(description !== undefined && { description }),
    security: auth === undefined ? [] : [{ [auth]: [] }],
    ...(parameters !== undefined && {
      parameters: parameters.map((parameter) => ({ ...parameter, required: parameter.in === 'path' })),
    }),
    ...(body !== undefined && {
      requestBody: {
        required: body.isOptional !== true,
        content: { [JSON_TYPE]: { schema: schemas.refTo(body.schema), example: body.example } },
      },
    }),
    ...(frames !== undefined && {
      'x-websocket-frames': {
        takes: { allOf: frames.takes.map((ref) => schemas.refTo(ref)) },
        sends: { anyOf: frames.sends.map((ref) => schemas.refTo(ref)) },
      },
    }),
    responses: describeReplies(operation, schemas),
  };
}

function describeReplies({ replies, errors }: Operation, schemas: ComponentSchemas): OpenApiOperation['responses'] {
  const codesByStatus = groupByStatus(errors);
  const statuses = new Set([...Object.keys(replies), ...codesByStatus.keys()]);
  return Object.fromEntries(
    [...statuses].sort().map((status) => {
      const codes = codesByStatus.get(status) ?? [];
      const isRelayed = replies['default'] !== undefined;
      return [status, describeReply({ status, reply: replies[status], codes, isRelayed }, schemas)];
    }),
  );
}

function groupByStatus(errors: readonly ErrorRef[]): ReadonlyMap<string, readonly ErrorCode[]> {
  const codes = new Map<string, ErrorCode[]>();
  for (const error of errors) {
    const [code, status] = typeof error === 'string' ? [error, String(ERRORS[error].status)] : error;
    codes.set(status, [...(codes.get(status) ?? []), code]);
  }
  return codes;
}

interface OneReply {
  readonly status: string;
  readonly reply: ReplyDescription | undefined;
  readonly codes: readonly ErrorCode[];
  readonly isRelayed: boolean;
}

function describeReply({ status, reply, codes, isRelayed }: OneReply, schemas: ComponentSchemas): OpenApiResponse {
  const content = Object.entries(reply?.content ?? {}).map(
    ([mediaType, ref]) => [mediaType, schemaOf(ref, schemas)] as const,
  );
  const schemasByType = new Map<string, JsonObject>(content);
  if (codes.length > 0) {
    const other = schemasByType.get(JSON_TYPE) ?? (isRelayed ? { description: "The backend's own error." } : undefined);
    const error = errorSchema(codes, schemas);
    schemasByType.set(JSON_TYPE, other === undefined ? error : { anyOf: [error, other] });
  }
  const names: HeaderName[] = ['x-request-id', ...(reply?.headers ?? []), ...(WAIT.has(status) ? RETRY_AFTER : [])];
  return {
    description: [reply?.description, ...codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`)]
      .filter(Boolean)
      .join('\n\n'),
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: Object.fromEntries([...schemasByType].map(([mediaType, schema]) => [mediaType, { schema }])),
  };
}

const WAIT = new Set(['429', '503']);
const RETRY_AFTER = ['retry-after'] as const;

function schemaOf(ref: SchemaRef | undefined, schemas: ComponentSchemas): JsonObject {
  return ref === undefined ? {} : schemas.refTo(ref);
}

function errorSchema(codes: readonly ErrorCode[], schemas: ComponentSchemas): JsonObject {
  const code = { enum: codes };
  return { allOf: [schemas.refTo('error.json'), { properties: { error: { properties: { code } } } }] };
}

function header(description: string): JsonObject {
  return { description, schema: { type: 'string' } };
}
