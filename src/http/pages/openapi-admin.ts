import {
  AFTER,
  BEHIND_KEY,
  PAGE_SIZE,
  SPAN_OF_TIME,
  WITH_BODY,
  type Operation,
  type Parameter,
  type ReplyDescription,
} from './openapi-operation.ts';

const KEY_ID: Parameter = {
  name: 'key_id',
  in: 'path',
  description: 'The id of the key (`key_…`).',
  schema: { type: 'string' },
};
const IN_ADMIN = [...BEHIND_KEY, 'not_found'] as const;
const IN_ADMIN_WITH_BODY = [...IN_ADMIN, ...WITH_BODY] as const;
const WITHOUT_STORE = BEHIND_KEY.filter((code) => code !== 'store_unavailable' && code !== 'internal_error');
const ADMIN_KEY: ReplyDescription = {
  description: 'The key as it is now.',
  content: { 'application/json': 'admin.json#/$defs/AdminKey' },
};
const ISSUED_KEY: ReplyDescription = {
  description: 'The key, with its secret, this once.',
  content: { 'application/json': 'admin.json#/$defs/IssuedKey' },
};

export const ADMIN_OPERATIONS: readonly Operation[] = [
  {
    id: 'adminListKeys',
    method: 'get',
    path: '/admin/v1/keys',
    tag: 'Admin',
    summary: 'List the keys',
    auth: 'adminToken',
    parameters: [PAGE_SIZE, AFTER],
    replies: {
      200: { description: 'Newest first.', content: { 'application/json': 'admin.json#/$defs/KeyList' } },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminCreateKey',
    method: 'post',
    path: '/admin/v1/keys',
    tag: 'Admin',
    summary: 'Issue a key',
    auth: 'adminToken',
    body: { schema: 'admin.json#/$defs/CreateKey', example: { name: 'My team', credits: '10.00' } },
    replies: { 201: ISSUED_KEY },
    errors: [...IN_ADMIN_WITH_BODY, 'missing_required_parameter'],
  },
  {
    id: 'adminGetKey',
    method: 'get',
    path: '/admin/v1/keys/{key_id}',
    tag: 'Admin',
    summary: 'Look at one key',
    auth: 'adminToken',
    parameters: [KEY_ID],
    replies: { 200: ADMIN_KEY },
    errors: IN_ADMIN,
  },
  {
    id: 'adminUpdateKey',
    method: 'patch',
    path: '/admin/v1/keys/{key_id}',
    tag: 'Admin',
    summary: 'Change a key',
    auth: 'adminToken',
    parameters: [KEY_ID],
    body: { schema: 'admin.json#/$defs/UpdateKey', example: { limits: { requests_per_minute: 60 } } },
    replies: { 200: ADMIN_KEY },
    errors: IN_ADMIN_WITH_BODY,
  },
  {
    id: 'adminDeleteKey',
    method: 'delete',
    path: '/admin/v1/keys/{key_id}',
    tag: 'Admin',
    summary: 'Delete a key',
    auth: 'adminToken',
    parameters: [KEY_ID],
    replies: {
      200: { description: 'The key is deleted.', content: { 'application/json': 'admin.json#/$defs/KeyDeleted' } },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminRotateKey',
    method: 'post',
    path: '/admin/v1/keys/{key_id}/rotate',
    tag: 'Admin',
    summary: 'Give a key a new secret',
    auth: 'adminToken',
    parameters: [KEY_ID],
    body: { schema: 'admin.json#/$defs/RotateKey', example: { grace_seconds: 3600 }, isOptional: true },
    replies: { 200: ISSUED_KEY },
    errors: IN_ADMIN_WITH_BODY,
  },
  {
    id: 'adminCreditKey',
    method: 'post',
    path: '/admin/v1/keys/{key_id}/credits',
    tag: 'Admin',
    summary: 'Grant credits, or correct them',
    auth: 'adminToken',
    parameters: [KEY_ID],
    body: { schema: 'admin.json#/$defs/CreditKey', example: { amount: '10.00', reference: 'invoice-1' } },
    replies: { 200: ADMIN_KEY },
    errors: [...IN_ADMIN_WITH_BODY, 'missing_required_parameter', 'duplicate_request'],
  },
  {
    id: 'adminGetLedger',
    method: 'get',
    path: '/admin/v1/keys/{key_id}/ledger',
    tag: 'Admin',
    summary: 'List what makes up the balance of a key',
    auth: 'adminToken',
    parameters: [
      KEY_ID,
      PAGE_SIZE,
      { name: 'before', in: 'query', description: 'The last id of the page before.', schema: { type: 'integer' } },
    ],
    replies: {
      200: { description: 'Newest first.', content: { 'application/json': 'admin.json#/$defs/Ledger' } },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminGetUsage',
    method: 'get',
    path: '/admin/v1/usage',
    tag: 'Admin',
    summary: 'Sum up what all requests used',
    auth: 'adminToken',
    parameters: SPAN_OF_TIME,
    replies: {
      200: {
        description: 'By key, span of time and model.',
        content: { 'application/json': 'admin.json#/$defs/KeyUsageList' },
      },
    },
    errors: BEHIND_KEY,
  },
  {
    id: 'adminListBackends',
    method: 'get',
    path: '/admin/v1/backends',
    tag: 'Admin',
    summary: 'See how the backends are',
    auth: 'adminToken',
    replies: {
      200: {
        description: 'In the order of BACKENDS_FILE.',
        content: { 'application/json': 'admin.json#/$defs/AdminBackendList' },
      },
    },
    errors: WITHOUT_STORE,
  },
  {
    id: 'adminListModels',
    method: 'get',
    path: '/admin/v1/models',
    tag: 'Admin',
    summary: 'See which backends have which models',
    description:
      'The backends are asked with the keys of BACKENDS_FILE. Of one that gives no list, the names in that file are shown.',
    auth: 'adminToken',
    replies: {
      200: {
        description: 'The models of all backends.',
        content: { 'application/json': 'admin.json#/$defs/AdminModelList' },
      },
    },
    errors: WITHOUT_STORE,
  },
];
