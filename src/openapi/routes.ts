import { ADMIN_OPERATIONS } from './admin.ts';
import { OPERATING } from './operating.ts';
import {
  BEHIND_KEY,
  RECORD_FILTERS,
  REQUEST_ID,
  SPAN_OF_TIME,
  WITH_BODY,
  type ErrorRef,
  type Operation,
  type Parameter,
  type ReplyDescription,
} from './operation.ts';

export interface DescribedGateway {
  readonly defaultModelId: string | null;
  readonly demo: boolean;
  readonly hasAdmin: boolean;
  readonly hasMetrics: boolean;
}

/** Returns the operations of a gateway with these settings, in the order for readers. */
export function operationsOf({ defaultModelId, demo, hasAdmin, hasMetrics }: DescribedGateway): readonly Operation[] {
  const model = defaultModelId ?? (demo ? 'demo' : 'your-model');
  return [
    ...responseOperations(model),
    ...REQUEST_OPERATIONS,
    ...chatOperations(model),
    ...ACCOUNT_OPERATIONS,
    ...(hasAdmin ? ADMIN_OPERATIONS : []),
    ...OPERATING.filter(({ path }) => hasMetrics || path !== '/metrics'),
  ];
}

const LIMITED = [...BEHIND_KEY, 'concurrency_limit_exceeded', 'server_overloaded'] as const;
const OF_BACKEND = ['upstream_error', 'upstream_unreachable', 'upstream_invalid_response', 'upstream_timeout'] as const;

const RECORDED = [
  ...LIMITED,
  ...WITH_BODY,
  ...OF_BACKEND,
  'missing_required_parameter',
  'invalid_idempotency_key',
  'duplicate_request',
  'request_cancelled',
  'insufficient_credits',
  'spend_limit_exceeded',
  'forbidden',
  'model_not_found',
  'gateway_draining',
  'gateway_interrupted',
] as const;

const TRANSLATED: readonly ErrorRef[] = [
  ...RECORDED,
  'unsupported_parameter',
  'previous_response_not_found',
  'context_length_exceeded',
  'content_filter',
  'insufficient_quota',
  'not_found',
  // A backend is overloaded, or refuses with a status of its own.
  ['upstream_error', '503'],
  ['invalid_request', '4XX'],
];

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A second request with the same key and the same body gets a 409 with the record of the first, or the status of ' +
    'DUPLICATE_STATUS, then without an error.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const DUPLICATE: ReplyDescription = {
  description: 'The request was made before, or it was cancelled.',
  content: { 'application/json': 'request-replies.json#/$defs/DuplicateReply' },
  headers: ['location', 'idempotency-replayed', 'x-should-retry'],
};

function responseOperations(model: string): readonly Operation[] {
  return [
    {
      id: 'createResponse',
      method: 'post',
      path: '/api/v1/responses',
      alias: '/v1/responses',
      tag: 'Responses',
      summary: 'Create a response',
      description:
        'With `"stream": true` the reply is a stream of events. Each `data:` line is one JSON object, and the last one is ' +
        '`data: [DONE]`. A failure before the first event is an ordinary error; after it, an `error` event and ' +
        '`response.failed` end the stream. Unknown fields are ignored.',
      auth: 'apiKey',
      parameters: [IDEMPOTENCY_KEY],
      body: { schema: 'create-response.json', example: { model, input: 'Hello!' } },
      replies: {
        200: {
          description: 'The response, or the events that make it.',
          content: { 'application/json': 'response.json', 'text/event-stream': 'event.json' },
          headers: ['x-upstream-request-id', 'x-dropped-tools', 'x-dropped-items', 'x-ignored-parameters'],
        },
        409: DUPLICATE,
      },
      errors: [...TRANSLATED, 'unsupported_tool'],
    },
    {
      id: 'compactResponse',
      method: 'post',
      path: '/api/v1/responses/compact',
      alias: '/v1/responses/compact',
      tag: 'Responses',
      summary: 'Compact a conversation',
      description:
        'The backend writes a summary of the conversation, which comes back sealed in a `compaction` item, after the latest ' +
        'messages of the user. Send the `output` unchanged instead of the conversation at the beginning of the next `input`.',
      auth: 'apiKey',
      parameters: [IDEMPOTENCY_KEY],
      body: {
        schema: 'compact-response.json',
        example: { model, input: [{ role: 'user', content: 'Hello!' }] },
      },
      replies: {
        200: {
          description: 'The items that replace the conversation.',
          content: { 'application/json': 'compaction.json' },
          headers: ['x-upstream-request-id', 'x-dropped-items'],
        },
        409: DUPLICATE,
      },
      errors: TRANSLATED,
    },
    {
      id: 'countInputTokens',
      method: 'post',
      path: '/api/v1/responses/input_tokens',
      alias: '/v1/responses/input_tokens',
      tag: 'Responses',
      summary: 'Count input tokens',
      description:
        'How many input tokens the backend would count for this request. Its messages, tools and schema are translated as they ' +
        'would be, and counted by the backend itself where its kind can do that (llama.cpp, vLLM). Else they are counted with a ' +
        'vocabulary of OpenAI, while the model may have another one, and writes its own template around them. Nothing is ' +
        'generated: there is no record and no cost. What takes too long to count is estimated by arithmetic.',
      auth: 'apiKey',
      body: { schema: 'create-response.json', example: { model, input: 'Hello!' } },
      replies: {
        200: {
          description: 'The count.',
          content: { 'application/json': 'input-tokens.json' },
          headers: ['x-dropped-tools', 'x-dropped-items'],
        },
      },
      errors: [
        ...LIMITED,
        ...WITH_BODY,
        'missing_required_parameter',
        'model_not_found',
        'unsupported_parameter',
        'unsupported_tool',
        'previous_response_not_found',
        'gateway_draining',
      ],
    },
    {
      id: 'openWebSocket',
      method: 'get',
      path: '/api/v1/responses',
      alias: '/v1/responses',
      tag: 'Responses',
      summary: 'Open a WebSocket for responses',
      description:
        'Send the headers of a WebSocket handshake. Each text frame asks for a response, and the gateway makes one after the ' +
        'other. It answers with the events of a stream, one JSON object per frame, without `[DONE]`, or with an error frame. ' +
        '`previous_response_id` continues the latest response of the same connection. Web pages send the key as a second ' +
        'subprotocol, `openai-insecure-api-key.<key>`, after one such as `responses`. A page of another origin needs `CORS_ORIGINS`.',
      auth: 'apiKey',
      frames: {
        takes: ['create-response.json', 'web-socket-create.json'],
        sends: ['event.json', 'web-socket-error.json', 'web-socket-duplicate.json'],
      },
      replies: { 101: { description: 'The connection is a WebSocket from here on.' } },
      errors: [...LIMITED, 'forbidden', 'gateway_draining', 'method_not_allowed'],
    },
  ];
}

const RECORD = { 'application/json': 'request-record.json' } as const;

const REQUEST_OPERATIONS: readonly Operation[] = [
  {
    id: 'listRequests',
    method: 'get',
    path: '/api/v1/requests',
    alias: '/v1/requests',
    tag: 'Requests',
    summary: "List the caller's own records",
    description:
      'Newest first. While `has_more` is true, ask for the next page with `after` = `last_id`; a page may have fewer records ' +
      'than `limit`, or none, because each call looks through a bounded number of them. With an `Idempotency-Key` header the ' +
      'reply is the one record of that key.',
    auth: 'apiKey',
    parameters: [
      { ...IDEMPOTENCY_KEY, description: 'Asks for the one record of the request that was sent with this key.' },
      ...RECORD_FILTERS,
    ],
    replies: {
      200: {
        description: 'The records, or the one record of the key.',
        content: { 'application/json': 'request-replies.json#/$defs/RequestsFound' },
      },
    },
    errors: [...BEHIND_KEY, 'invalid_idempotency_key', 'request_not_found'],
  },
  {
    id: 'getRequest',
    method: 'get',
    path: '/api/v1/requests/{request_id}',
    alias: '/v1/requests/{request_id}',
    tag: 'Requests',
    summary: 'Look at one record',
    auth: 'apiKey',
    parameters: [REQUEST_ID],
    replies: { 200: { description: 'The record as it stands.', content: RECORD } },
    errors: [...BEHIND_KEY, 'request_not_found'],
  },
  {
    id: 'cancelRequest',
    method: 'post',
    path: '/api/v1/requests/{request_id}/cancel',
    alias: '/v1/requests/{request_id}/cancel',
    tag: 'Requests',
    summary: 'Cancel a request',
    auth: 'apiKey',
    parameters: [REQUEST_ID],
    replies: {
      200: { description: 'It had ended before; the record says how.', content: RECORD },
      202: { description: 'The cancel is accepted, and the record ends `cancelled`.', content: RECORD },
    },
    errors: [...BEHIND_KEY, 'request_not_found'],
  },
];

/** Its presence says that the words of the backend are sent on as they come. */
const OF_THE_BACKEND: ReplyDescription = {
  description:
    'Any other answer of the backend, its errors included. An error that is not JSON is replaced by an error in the form of the ' +
    'gateway.',
  content: { '*/*': undefined },
  headers: ['x-upstream-request-id'],
};
const PASSED_ON = [...LIMITED, ...OF_BACKEND, 'gateway_draining', 'not_found'] as const;

function chatOperations(model: string): readonly Operation[] {
  return [
    {
      id: 'createChatCompletion',
      method: 'post',
      path: '/api/v1/chat/completions',
      alias: '/v1/chat/completions',
      tag: 'Chat completions',
      summary: 'Create a chat completion',
      description:
        'The gateway passes the request on to the backend, whose bytes are the reply. It reads of the body only what it needs: the ' +
        'name of the model if there are aliases, and, with `AUTH_MODE=managed`, the fields that are counted. For keys with credits ' +
        'or limits it sends the limit of the output under the name that the backend knows, and refuses fields that ask for more.',
      auth: 'apiKey',
      parameters: [IDEMPOTENCY_KEY],
      body: {
        schema: 'create-chat-completion.json',
        example: { model, messages: [{ role: 'user', content: 'Hello!' }] },
      },
      replies: {
        200: {
          description: 'The answer of the backend, as it sent it.',
          content: {
            'application/json': 'chat-replies.json#/$defs/ChatCompletion',
            'text/event-stream': 'chat-replies.json#/$defs/ChatCompletionChunk',
          },
          headers: ['x-upstream-request-id'],
        },
        409: DUPLICATE,
        default: OF_THE_BACKEND,
      },
      errors: [...RECORDED, 'unsupported_parameter'],
    },
    {
      id: 'listModels',
      method: 'get',
      path: '/api/v1/models',
      alias: '/v1/models',
      tag: 'Chat completions',
      summary: 'List the models',
      description: "The backend's list, with the aliases, and without the models that the key may not use.",
      auth: 'apiKey',
      replies: {
        200: { description: 'The list.', content: { 'application/json': 'chat-replies.json#/$defs/ModelList' } },
        default: OF_THE_BACKEND,
      },
      errors: PASSED_ON,
    },
    {
      id: 'getModel',
      method: 'get',
      path: '/api/v1/models/{model}',
      alias: '/v1/models/{model}',
      tag: 'Chat completions',
      summary: 'Look at one model',
      auth: 'apiKey',
      parameters: [
        { name: 'model', in: 'path', description: 'Its name, slashes included.', schema: { type: 'string' } },
      ],
      replies: {
        200: { description: 'The model.', content: { 'application/json': 'chat-replies.json#/$defs/Model' } },
        default: OF_THE_BACKEND,
      },
      errors: [...PASSED_ON, 'model_not_found'],
    },
  ];
}

const ACCOUNT_OPERATIONS: readonly Operation[] = [
  {
    id: 'getUsage',
    method: 'get',
    path: '/api/v1/usage',
    alias: '/v1/usage',
    tag: 'Account',
    summary: "Sum up what the caller's requests used",
    auth: 'apiKey',
    parameters: SPAN_OF_TIME,
    replies: { 200: { description: 'By span of time and model.', content: { 'application/json': 'usage.json' } } },
    errors: BEHIND_KEY,
  },
  {
    id: 'getKey',
    method: 'get',
    path: '/api/v1/key',
    alias: '/v1/key',
    tag: 'Account',
    summary: "Look at the caller's own key",
    description: 'Its models, limits, balance and usage, with `AUTH_MODE=managed`; otherwise `not_found`.',
    auth: 'apiKey',
    replies: { 200: { description: 'The key.', content: { 'application/json': 'key.json' } } },
    errors: [...BEHIND_KEY, 'not_found'],
  },
];
