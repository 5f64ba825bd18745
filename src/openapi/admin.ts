import {
  AFTER,
  BEHIND_KEY,
  PAGE_SIZE,
  RECORD_FILTERS,
  REQUEST_ID,
  SPAN_OF_TIME,
  WITH_BODY,
  type Operation,
  type Parameter,
  type ReplyDescription,
} from './operation.ts';
import type { JsonObject } from './schemas.ts';

const KEY_ID: Parameter = {
  name: 'key_id',
  in: 'path',
  description: 'The id of the key (`key_…`), its name or its prefix.',
  schema: { type: 'string' },
};
const GROUP_ID: Parameter = {
  name: 'group_id',
  in: 'path',
  description: 'The id of the group (`group_…`) or its name.',
  schema: { type: 'string' },
};
const BY_NAME: Parameter = { name: 'name', in: 'query', description: 'Only this name.', schema: { type: 'string' } };
const OF_KEY: Parameter = {
  name: 'key',
  in: 'query',
  description: 'Only of this key: its id, its name or its prefix.',
  schema: { type: 'string' },
};
const OF_GROUP: Parameter = {
  name: 'group',
  in: 'query',
  description: 'Only of this group: its id or its name.',
  schema: { type: 'string' },
};
const BEFORE: Parameter = {
  name: 'before',
  in: 'query',
  description: 'The last id of the page before.',
  schema: { type: 'integer' },
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

const ADMIN_GROUP: ReplyDescription = {
  description: 'The group as it is now.',
  content: { 'application/json': 'admin.json#/$defs/AdminGroup' },
};
const LEDGER: ReplyDescription = {
  description: 'Newest first.',
  content: { 'application/json': 'admin.json#/$defs/Ledger' },
};
const ADMIN_REQUEST: ReplyDescription = {
  description: 'The record as it is now.',
  content: { 'application/json': 'request-replies.json#/$defs/AdminRequest' },
};

export const ADMIN_OPERATIONS: readonly Operation[] = [
  {
    id: 'adminListKeys',
    method: 'get',
    path: '/admin/v1/keys',
    tag: 'Admin',
    summary: 'List the keys',
    auth: 'adminToken',
    parameters: [
      PAGE_SIZE,
      AFTER,
      BY_NAME,
      OF_GROUP,
      {
        name: 'search',
        in: 'query',
        description: 'Only keys with this in their name, or with this prefix or id.',
        schema: { type: 'string' },
      },
      {
        name: 'gateway_secret',
        in: 'query',
        description: 'Only keys that GATEWAY_SECRET_PREVIOUS alone knows.',
        schema: { enum: ['previous'] },
      },
    ],
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
    errors: [...IN_ADMIN_WITH_BODY, 'missing_required_parameter', 'duplicate_request'],
  },
  ...operationsOf({
    name: 'Key',
    path: '/admin/v1/keys/{key_id}',
    parameter: KEY_ID,
    reply: ADMIN_KEY,
    change: { limits: { requests_per_minute: 60 } },
    credit: { amount: '10.00', reference: 'invoice-1' },
    delete: 'Delete a key',
    ledgerId: 'adminGetLedger',
  }),
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
    id: 'adminListGroups',
    method: 'get',
    path: '/admin/v1/groups',
    tag: 'Admin',
    summary: 'List the groups',
    auth: 'adminToken',
    parameters: [
      PAGE_SIZE,
      AFTER,
      BY_NAME,
      {
        name: 'search',
        in: 'query',
        description: 'Only groups with this in their name, or with this id.',
        schema: { type: 'string' },
      },
    ],
    replies: {
      200: { description: 'Newest first.', content: { 'application/json': 'admin.json#/$defs/GroupList' } },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminCreateGroup',
    method: 'post',
    path: '/admin/v1/groups',
    tag: 'Admin',
    summary: 'Create a group of keys',
    auth: 'adminToken',
    body: {
      schema: 'admin.json#/$defs/CreateGroup',
      example: { name: 'Research', credits: '100.00', limits: { spend_per_day: '10.00' } },
    },
    replies: { 201: ADMIN_GROUP },
    errors: [...IN_ADMIN_WITH_BODY, 'missing_required_parameter', 'duplicate_request'],
  },
  ...operationsOf({
    name: 'Group',
    path: '/admin/v1/groups/{group_id}',
    parameter: GROUP_ID,
    reply: ADMIN_GROUP,
    change: { limits: { spend_per_month: '500.00' } },
    credit: { amount: '100.00', reference: 'invoice-2' },
    delete: 'Delete a group that has no keys',
    ledgerId: 'adminGetGroupLedger',
  }),
  {
    id: 'adminListRequests',
    method: 'get',
    path: '/admin/v1/requests',
    tag: 'Admin',
    summary: 'List the requests of all callers',
    auth: 'adminToken',
    parameters: [...RECORD_FILTERS, OF_KEY, OF_GROUP],
    replies: {
      200: {
        description: 'Newest first.',
        content: { 'application/json': 'request-replies.json#/$defs/AdminRequestList' },
      },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminGetRequest',
    method: 'get',
    path: '/admin/v1/requests/{request_id}',
    tag: 'Admin',
    summary: 'Look at the request of any caller',
    auth: 'adminToken',
    parameters: [REQUEST_ID],
    replies: { 200: ADMIN_REQUEST },
    errors: [...BEHIND_KEY, 'request_not_found'],
  },
  {
    id: 'adminCancelRequest',
    method: 'post',
    path: '/admin/v1/requests/{request_id}/cancel',
    tag: 'Admin',
    summary: 'Cancel the request of any caller',
    auth: 'adminToken',
    parameters: [REQUEST_ID],
    replies: { 200: ADMIN_REQUEST, 202: ADMIN_REQUEST },
    errors: [...BEHIND_KEY, 'request_not_found'],
  },
  {
    id: 'adminGetUsage',
    method: 'get',
    path: '/admin/v1/usage',
    tag: 'Admin',
    summary: 'Sum up what all requests used',
    auth: 'adminToken',
    parameters: [
      ...SPAN_OF_TIME,
      OF_KEY,
      { ...OF_GROUP, description: 'Only of this group: its id or its name; `*` for all groups, each by itself.' },
    ],
    replies: {
      200: {
        description: 'By key, span of time and model.',
        content: { 'application/json': 'admin.json#/$defs/KeyUsageList' },
      },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminGetUsageTotals',
    method: 'get',
    path: '/admin/v1/usage/totals',
    tag: 'Admin',
    summary: 'Sum up what all requests used in a time, by key, group, model or time',
    auth: 'adminToken',
    parameters: [
      {
        name: 'by',
        in: 'query',
        description: 'What to sum up by. `per` is that of the curves, and of the rows by `time`.',
        schema: { type: 'string', enum: ['key', 'group', 'model', 'time'], default: 'model' },
      },
      ...SPAN_OF_TIME,
      OF_KEY,
      OF_GROUP,
    ],
    replies: {
      200: {
        description: 'The 100 that cost most, or the latest 100 by time.',
        content: { 'application/json': 'admin.json#/$defs/UsageTotalList' },
      },
    },
    errors: IN_ADMIN,
  },
  {
    id: 'adminListLimits',
    method: 'get',
    path: '/admin/v1/limits',
    tag: 'Admin',
    summary: 'See how full the limits are',
    auth: 'adminToken',
    replies: {
      200: {
        description: 'Of all processes of the gateway.',
        content: { 'application/json': 'admin.json#/$defs/AdminLimitList' },
      },
    },
    errors: WITHOUT_STORE,
  },
  {
    id: 'adminListPrices',
    method: 'get',
    path: '/admin/v1/prices',
    tag: 'Admin',
    summary: 'See the prices in force',
    auth: 'adminToken',
    replies: {
      200: {
        description: 'In the order of PRICES_FILE.',
        content: { 'application/json': 'admin.json#/$defs/AdminPriceList' },
      },
    },
    errors: WITHOUT_STORE,
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

interface Account {
  readonly name: 'Key' | 'Group';
  readonly path: string;
  readonly parameter: Parameter;
  readonly reply: ReplyDescription;
  /** The examples of a change and of an entry. */
  readonly change: JsonObject;
  readonly credit: JsonObject;
  /** What a deletion does. */
  readonly delete: string;
  readonly ledgerId: string;
}

/** Returns what can be done with one key or one group. */
function operationsOf({ name, path, parameter, reply, ...account }: Account): readonly Operation[] {
  const noun = name.toLowerCase();
  const common = { tag: 'Admin', auth: 'adminToken', parameters: [parameter] } as const;
  return [
    {
      ...common,
      id: `adminGet${name}`,
      method: 'get',
      path,
      summary: `Look at one ${noun}`,
      replies: { 200: reply },
      errors: IN_ADMIN,
    },
    {
      ...common,
      id: `adminUpdate${name}`,
      method: 'patch',
      path,
      summary: `Change a ${noun}`,
      body: { schema: `admin.json#/$defs/Update${name}`, example: account.change },
      replies: { 200: reply },
      errors: [...IN_ADMIN_WITH_BODY, 'duplicate_request'],
    },
    {
      ...common,
      id: `adminDelete${name}`,
      method: 'delete',
      path,
      summary: account.delete,
      replies: {
        200: {
          description: `The ${noun} is deleted.`,
          content: { 'application/json': `admin.json#/$defs/${name}Deleted` },
        },
      },
      errors: IN_ADMIN,
    },
    {
      ...common,
      id: `adminCredit${name}`,
      method: 'post',
      path: `${path}/credits`,
      summary: `Grant credits to a ${noun}, or correct them`,
      body: { schema: 'admin.json#/$defs/CreditKey', example: account.credit },
      replies: { 200: reply },
      errors: [...IN_ADMIN_WITH_BODY, 'missing_required_parameter', 'duplicate_request'],
    },
    {
      ...common,
      id: account.ledgerId,
      method: 'get',
      path: `${path}/ledger`,
      summary: `List what makes up the balance of a ${noun}`,
      parameters: [parameter, PAGE_SIZE, BEFORE],
      replies: { 200: LEDGER },
      errors: IN_ADMIN,
    },
  ];
}
