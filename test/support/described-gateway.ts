/** Holds real replies against the description which the gateway gives of itself. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { createOpenApi, type OpenApiDocument, type OpenApiOperation } from '../../src/openapi/openapi.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Description {
  /** The methods and paths, such as `get /healthz`. */
  readonly operations: readonly string[];
  /** The codes of the errors by which this operation may refuse a request. */
  codesOf(operation: string): readonly string[];
  /** Returns the code of an error that the gateway itself has answered with. Throws when the reply is not as it is described. */
  check(operation: string, reply: Reply): string | undefined;
}

/** Reads a description; the one of a running gateway is at `/openapi.json`. */
export function readDescription(document: OpenApiDocument): Description {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, keywords: ['discriminator'] });
  for (const name of Object.keys(document)) ajv.addKeyword(name);
  ajv.addSchema(document, 'openapi.json');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );

  function responsesOf(operation: string): OpenApiOperation['responses'] {
    const [method = '', path = ''] = operation.split(' ');
    const described = document.paths[path]?.[method];
    if (described === undefined) throw new Error(`${operation} is not described`);
    return described.responses;
  }

  const validators = new Map<string, ValidateFunction>();

  function validatorOf(operation: string, status: string, mediaType: string): ValidateFunction {
    const [method = '', path = ''] = operation.split(' ');
    const pointer = ['paths', path, method, 'responses', status, 'content', mediaType, 'schema'];
    const escaped = pointer.map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')));
    const $ref = `openapi.json#/${escaped.join('/')}`;
    const validate = validators.get($ref) ?? ajv.compile({ $ref });
    validators.set($ref, validate);
    return validate;
  }

  return {
    operations,
    codesOf: (operation) => Object.values(responsesOf(operation)).flatMap((response) => enumsOf(response)),
    check(operation, { status, headers, text }) {
      const responses = responsesOf(operation);
      const key = [String(status), `${String(status)[0]}XX`, 'default'].find((name) => name in responses);
      if (key === undefined) throw new Error(`${operation} answers ${status}, which is not described: ${text}`);
      const mediaType = headers.get('content-type')?.split(';', 1)[0] ?? '';
      const content = responses[key]?.content ?? {};
      if ('*/*' in content || (status === 101 && text === '')) return undefined;
      if (!(mediaType in content)) throw new Error(`${operation} ${status} is not described as ${mediaType}: ${text}`);
      const values: unknown[] = mediaType === 'text/event-stream' ? eventsOf(text) : [parsed(mediaType, text)];
      const validate = validatorOf(operation, key, mediaType);
      for (const value of values) {
        if (!validate(value)) throw new Error(`${operation} ${status}: ${ajv.errorsText(validate.errors)}: ${text}`);
      }
      const { error } = (values[0] ?? {}) as { error?: { code: string } | null };
      return status >= 400 ? error?.code : undefined;
    },
  };
}

let whole: Description | undefined;

/** Throws when the reply is an error which the description does not know of this operation; else it is what comes back. */
export async function asDescribed(operation: string, reply: Response): Promise<Response> {
  if (reply.status < 400) return reply;
  whole ??= readDescription(
    createOpenApi({
      defaultModelId: null,
      demo: true,
      hasAdmin: true,
      hasMetrics: true,
      passthroughPaths: [],
    }),
  );
  const { status, headers } = reply;
  whole.check(operation, { status, headers, text: await reply.clone().text() });
  return reply;
}

function eventsOf(text: string): unknown[] {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map((match) => match[1] ?? '');
  return data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as unknown);
}

function parsed(mediaType: string, text: string): unknown {
  return mediaType === 'application/json' ? JSON.parse(text) : text;
}

/** The values of every `code` that the schemas in it narrow. */
function enumsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const values = name === 'code' ? (inner as { enum?: readonly string[] }).enum : undefined;
    return values ?? enumsOf(inner);
  });
}
