// Made from schemas/*.json by `npm run types`. Not to be edited.

import type { GroupId, KeyId } from './ids.ts';
import type { Latencies, Rejections, InputOfBackends, OwnPrice, UsageOfModel } from './record-types.ts';

/**
 * What the admin API under /admin/v1 takes and gives. The command line takes and gives the same.
 */
export type Admin =
  | CreateKey
  | UpdateKey
  | RotateKey
  | CreditKey
  | KeyList
  | IssuedKey
  | KeyDeleted
  | Ledger
  | KeyUsageList
  | CreateGroup
  | UpdateGroup
  | GroupList
  | GroupDeleted
  | AdminBackendList
  | AdminModelList
  | AdminLimitList
  | UsageTotalList
  | AdminPriceList;
/**
 * The models that the key, or the keys of the group, may use, by name or by a pattern with *; null allows all.
 *
 * @minItems 1
 * @maxItems 100
 */
export type KeyModels = string[] | null;
/**
 * A key with its secret, which can be shown only once.
 */
export type IssuedKey = AdminKey & {
  secret: string;
};
/**
 * The usage of one model by one key in one span of time.
 */
export type UsageOfKey = UsageOfModel & {
  /**
   * The id of the key. For keys that the gateway did not issue, a value that distinguishes callers.
   */
  key: string;
  /**
   * The id of the group. Only in the usage of groups.
   */
  group?: string;
};
/**
 * Information about the gateway.
 */
export type Operate = Landing | Health | Readiness;

/**
 * A key to issue.
 */
export interface CreateKey {
  /**
   * The name of the key or of the group, for people, in characters that are seen. No other key, or no other group, has it.
   */
  name: string;
  /**
   * The name or the id of the group that the key belongs to; null for none.
   */
  group?: string | null;
  /**
   * The time from which the key, or each key of the group, is refused, as Unix time in seconds; null for never.
   */
  expires_at?: number | null;
  models?: KeyModels;
  limits?: KeyLimitsChange;
  /**
   * The first credits, as a decimal number such as "10.00". Without them the key is not prepaid: its limits alone hold.
   */
  credits?: string | null;
}
/**
 * Absent limits are not changed; null means no limit.
 */
export interface KeyLimitsChange {
  requests_per_minute?: number | null;
  tokens_per_minute?: number | null;
  /**
   * It must be a decimal number such as "10.00", or null.
   */
  spend_per_day?: string | null;
  /**
   * It must be a decimal number such as "10.00", or null.
   */
  spend_per_week?: string | null;
  /**
   * It must be a decimal number such as "10.00", or null.
   */
  spend_per_month?: string | null;
}
/**
 * The changes to a key. Absent fields stay as they are; null removes a limit.
 */
export interface UpdateKey {
  /**
   * The name of the key or of the group, for people, in characters that are seen. No other key, or no other group, has it.
   */
  name?: string;
  /**
   * The name or the id of the group that the key belongs to; null for none.
   */
  group?: string | null;
  /**
   * A disabled key is refused. Its running requests end normally.
   */
  disabled?: boolean;
  /**
   * The time from which the key, or each key of the group, is refused, as Unix time in seconds; null for never.
   */
  expires_at?: number | null;
  models?: KeyModels;
  limits?: KeyLimitsChange;
}
/**
 * How a key gets a new secret.
 */
export interface RotateKey {
  /**
   * For how long the former secret is still valid; 0 ends it at once.
   */
  grace_seconds?: number;
}
/**
 * An entry for the ledger of a key or a group, which it makes prepaid.
 */
export interface CreditKey {
  /**
   * A grant adds credits; an adjustment corrects, and may take credits away.
   */
  kind?: 'grant' | 'adjust';
  /**
   * It must be a decimal number such as "10.00" and not zero; that of an adjustment may be negative.
   */
  amount: string;
  /**
   * The reason, for people.
   */
  note?: string;
  /**
   * Your reference for this entry, such as an invoice number, which must be unique in the ledger. A second entry with it is refused with 409, so a request without a reply can be sent again.
   */
  reference?: string;
}
export interface KeyList {
  object: 'list';
  data: AdminKey[];
  has_more: boolean;
}
/**
 * A key as the operator sees it. Amounts are decimal numbers.
 */
export interface AdminKey {
  object: 'key';
  id: KeyId;
  name: string;
  /**
   * The first characters of its secret.
   */
  prefix: string;
  status: 'active' | 'disabled' | 'expired';
  /**
   * The group that the key belongs to; null for none.
   */
  group: {
    id: GroupId;
    name: string;
  } | null;
  created_at: number;
  expires_at: number | null;
  /**
   * The time until which the secret before the last rotation is valid; null when it no longer is.
   */
  former_secret_until: number | null;
  /**
   * The UTC hour in which its last request to a model ended; null for none.
   */
  last_used_at: number | null;
  /**
   * By which secret the database knows the key. With `previous` it is GATEWAY_SECRET_PREVIOUS alone, until the key is used.
   */
  gateway_secret: 'current' | 'previous';
  models: string[] | null;
  limits: AccountLimits;
  /**
   * The credits that can still be used, without reservations; null when the key is not prepaid.
   */
  balance: string | null;
  /**
   * Reserved for running requests.
   */
  held: string;
  spent_today: string;
  spent_this_week: string;
  spent_this_month: string;
  day_ends_at: number;
  week_ends_at: number;
  month_ends_at: number;
}
export interface AccountLimits {
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  spend_per_day: string | null;
  spend_per_week: string | null;
  spend_per_month: string | null;
}
export interface KeyDeleted {
  object: 'key';
  id: KeyId;
  deleted: true;
}
/**
 * The entries that add up to the balance of a key or a group, newest first.
 */
export interface Ledger {
  object: 'list';
  data: LedgerItem[];
  has_more: boolean;
}
export interface LedgerItem {
  object: 'ledger_entry';
  /**
   * Its place in the ledger; later entries have larger ones.
   */
  id: number;
  kind: 'grant' | 'adjust' | 'reserve' | 'release' | 'settle' | 'carry';
  amount: string;
  request_id: string | null;
  note: string;
  reference: string | null;
  created_at: number;
}
export interface KeyUsageList {
  object: 'list';
  data: UsageOfKey[];
  latencies: Latencies;
  rejected: Rejections;
  backends: InputOfBackends;
}
/**
 * A group of keys to create. Its credits and limits hold for all its keys together.
 */
export interface CreateGroup {
  /**
   * The name of the key or of the group, for people, in characters that are seen. No other key, or no other group, has it.
   */
  name: string;
  /**
   * The time from which the key, or each key of the group, is refused, as Unix time in seconds; null for never.
   */
  expires_at?: number | null;
  models?: KeyModels;
  limits?: KeyLimitsChange;
  /**
   * The first credits, as a decimal number such as "10.00". Without them the group is not prepaid: its limits alone hold.
   */
  credits?: string | null;
}
/**
 * The changes to a group. Absent fields stay as they are; null removes a limit.
 */
export interface UpdateGroup {
  /**
   * The name of the key or of the group, for people, in characters that are seen. No other key, or no other group, has it.
   */
  name?: string;
  /**
   * The keys of a disabled group are refused. Their running requests end normally.
   */
  disabled?: boolean;
  /**
   * The time from which the key, or each key of the group, is refused, as Unix time in seconds; null for never.
   */
  expires_at?: number | null;
  models?: KeyModels;
  limits?: KeyLimitsChange;
}
export interface GroupList {
  object: 'list';
  data: AdminGroup[];
  has_more: boolean;
}
/**
 * A group of keys as the operator sees it. Amounts are decimal numbers, of all its keys together.
 */
export interface AdminGroup {
  object: 'group';
  id: GroupId;
  name: string;
  /**
   * How many keys belong to it; 0 for the whole gateway, which has all of them.
   */
  keys: number;
  status: 'active' | 'disabled' | 'expired';
  created_at: number;
  expires_at: number | null;
  models: string[] | null;
  limits: AccountLimits;
  /**
   * The credits that can still be used, without reservations; null when the group is not prepaid.
   */
  balance: string | null;
  /**
   * Reserved for running requests.
   */
  held: string;
  spent_today: string;
  spent_this_week: string;
  spent_this_month: string;
  day_ends_at: number;
  week_ends_at: number;
  month_ends_at: number;
}
export interface GroupDeleted {
  object: 'group';
  id: GroupId;
  deleted: true;
}
/**
 * The backends in the order of BACKENDS_FILE. Several processes of one gateway are summed up, with the worst state.
 */
export interface AdminBackendList {
  object: 'list';
  /**
   * The host name of the gateway that answers: others on the same database see for themselves.
   */
  gateway: string;
  data: AdminBackend[];
}
/**
 * A backend, and what the gateway has seen of it since its start.
 */
export interface AdminBackend {
  object: 'backend';
  name: string;
  base_url: string;
  dialect: string;
  /**
   * Names and patterns of BACKENDS_FILE; null takes every model.
   */
  models: string[] | null;
  weight: number;
  /**
   * Of each process; null for no limit.
   */
  max_concurrent: number | null;
  /**
   * A resting backend has failed and is left alone. A trial is a rest that is over: one request tries it. A draining one is no longer in BACKENDS_FILE, and its last requests run.
   */
  state: 'up' | 'resting' | 'trial' | 'draining';
  /**
   * As Unix time in seconds; null for one that does not rest.
   */
  resting_until: number | null;
  /**
   * The code of the error that it rests for; null for one that is up.
   */
  reason: string | null;
  /**
   * Those of its name, if it has several; empty otherwise. Each of them rests by itself, and the state of the backend is the best of theirs.
   */
  addresses: AdminBackendAddress[];
  /**
   * Requests at the backend now.
   */
  running: number;
  /**
   * Requests that wait for a place here or at another backend.
   */
  waiting: number;
  /**
   * Tries that it answered, with refusals for a reason of the request.
   */
  answered: number;
  /**
   * Tries that it failed.
   */
  failed: number;
  /**
   * Tries that ended because the caller went or cancelled.
   */
  cancelled: number;
  /**
   * How often it was left alone.
   */
  rests: number;
}
/**
 * An address that the name of a backend leads to, which rests by itself.
 */
export interface AdminBackendAddress {
  /**
   * The IP address, without a port.
   */
  address: string;
  /**
   * As of the whole backend: one that rests is left alone, and one request tries it when its rest is over.
   */
  state: 'up' | 'resting' | 'trial' | 'draining';
  /**
   * As Unix time in seconds; null for one that does not rest.
   */
  resting_until: number | null;
  /**
   * The code of the error that it rests for; null for one that is up.
   */
  reason: string | null;
}
/**
 * The models of all backends.
 */
export interface AdminModelList {
  object: 'list';
  data: {
    id: string;
    /**
     * The names of the backends that have it.
     */
    backends: string[];
    [k: string]: unknown;
  }[];
}
/**
 * The limits that all callers share. Several processes of one gateway are summed up.
 */
export interface AdminLimitList {
  object: 'list';
  /**
   * The host name of the gateway that answers: others on the same database see for themselves.
   */
  gateway: string;
  data: AdminLimit[];
}
/**
 * A limit of the gateway, and how full it is.
 */
export interface AdminLimit {
  object: 'limit';
  /**
   * Requests that run, bytes of their bodies, open WebSockets, and bytes of their histories.
   */
  name: 'requests' | 'body_bytes' | 'web_sockets' | 'history_bytes';
  /**
   * The setting of the limit; null for one that cannot be set.
   */
  setting: string | null;
  /**
   * Of all processes.
   */
  used: number;
  /**
   * Of all processes.
   */
  capacity: number;
  /**
   * How full the fullest process is, in percent.
   */
  fullest_percent: number;
}
/**
 * The usage of a time by key, group, model or time.
 */
export interface UsageTotalList {
  object: 'list';
  /**
   * What each row of the list stands for: a key, a group, a model, or an hour, day or month.
   */
  by: 'key' | 'group' | 'model' | 'time';
  total: UsageTotal;
  data: UsageTotal[];
  /**
   * Whether there are more than 100.
   */
  has_more: boolean;
  /**
   * How the usage went over time: of all together, then of the first five rows, unless they are times themselves.
   */
  curves: UsageCurve[];
  latencies: Latencies;
  rejected: Rejections;
  backends: InputOfBackends;
}
/**
 * What requests used together.
 */
export interface UsageTotal {
  /**
   * The id of the key or the group, the name of the model, or the start of the time (ISO 8601, UTC); empty in the total of all.
   */
  name: string;
  /**
   * All requests that ended, whatever their outcome.
   */
  requests: number;
  failed: number;
  cancelled: number;
  input_tokens: number;
  /**
   * Part of the input tokens.
   */
  cached_tokens: number;
  /**
   * The part of the input tokens that they are, from 0 to 1.
   */
  cached_share: number;
  output_tokens: number;
  /**
   * In millionths of the currency unit; 0 when no prices apply.
   */
  cost: number;
  /**
   * What the cached tokens would have cost beyond their price, in millionths of the currency unit.
   */
  saved: number;
  /**
   * The time that all of them took together.
   */
  duration_ms: number;
}
export interface UsageCurve {
  /**
   * As in its row; null for all together.
   */
  name: string | null;
  /**
   * The latest 100 hours, days or months with requests, the oldest first.
   */
  data: {
    /**
     * As Unix time in seconds.
     */
    start: number;
    requests: number;
    /**
     * The part of the input tokens that came from the backend's prefix cache, from 0 to 1.
     */
    cached_share: number;
    /**
     * In millionths of the currency unit.
     */
    cost: number;
  }[];
}
/**
 * The prices in force by name or by a pattern with `*`, in the currency unit per million tokens.
 */
export interface AdminPriceList {
  object: 'list';
  /**
   * Null without PRICES_FILE.
   */
  currency: string | null;
  data: OwnPrice[];
}
/**
 * What the gateway posts to ALERT_WEBHOOK_URL.
 */
export interface Alert {
  /**
   * What has happened.
   */
  type: 'credits.threshold' | 'spend.threshold' | 'backend.resting' | 'store.failing';
  /**
   * When it was noticed, in ISO 8601.
   */
  timestamp: string;
  /**
   * The name of the machine whose gateway has noticed it.
   */
  gateway: string;
  data: FundsAlertData | BackendAlertData | StoreAlertData;
}
/**
 * A key or a group has reached a threshold of its credits or of a spend limit.
 */
export interface FundsAlertData {
  account: AlertedAccount;
  /**
   * The highest of 80, 95 and 100 percent that is reached; 100 also when a request was refused because less was left than it could cost.
   */
  threshold: number;
  /**
   * Why: so much was used, or a request was refused because less was left than it could cost.
   */
  reason: 'reached' | 'refused';
  /**
   * How much of the credits or the limit is used, rounded down. May be more than 100.
   */
  used_percent: number;
  /**
   * What is used, as a decimal number.
   */
  used: string;
  /**
   * The spend limit, or the credits after the latest grant or adjustment, as a decimal number.
   */
  limit: string;
  /**
   * That of PRICES_FILE; null without one.
   */
  currency: string | null;
  /**
   * Of a spend limit; null for credits.
   */
  per: 'day' | 'week' | 'month' | null;
  /**
   * When the day, week or month of a spend limit ends, as a Unix time in seconds; null for credits, which need a grant.
   */
  opens_at: number | null;
}
/**
 * The key or the group.
 */
export interface AlertedAccount {
  /**
   * Which of the two it is.
   */
  object: 'key' | 'group';
  /**
   * Its id.
   */
  id: string;
  /**
   * Its name.
   */
  name: string;
  /**
   * The name of the group of a key; null for a key without one, and for a group.
   */
  group: string | null;
}
/**
 * A backend has failed and is left alone for a while.
 */
export interface BackendAlertData {
  /**
   * Its name in BACKENDS_FILE, or upstream.
   */
  backend: string;
  /**
   * The code of the error.
   */
  reason: string;
  /**
   * After this time a request tries it again.
   */
  rest_ms: number;
}
/**
 * The gateway cannot write its records.
 */
export interface StoreAlertData {
  /**
   * The kind of the database.
   */
  store: 'sqlite' | 'postgres';
}
/**
 * What this server is, with links.
 */
export interface Landing {
  name: string;
  version: string;
  description: string;
  /**
   * The base URL for clients of the Responses API and of chat completions.
   */
  base_url: string;
  /**
   * The model that the operator recommends; null when there is none.
   */
  default_model: string | null;
  /**
   * Whether the embedded demo backend answers instead of a model.
   */
  demo: boolean;
  links: {
    [k: string]: string;
  };
}
export interface Health {
  status: 'ok';
}
export interface Readiness {
  status: 'ready' | 'not ready';
  checks: {
    /**
     * False while the gateway drains.
     */
    accepting: boolean;
    /**
     * False while clients have all connections that the limit of open files allows, or no file can be opened.
     */
    connections: boolean;
    /**
     * Whether a record can be written.
     */
    store: boolean;
    /**
     * False when the database belongs to another GATEWAY_SECRET, so that no key would be found.
     */
    secret: boolean;
    /**
     * False while every backend rests after failures.
     */
    backend: boolean;
  };
  /**
   * How many backends there are by their state, as this process has seen them. If the name of one has several addresses, each of them counts.
   */
  backends: {
    up: number;
    /**
     * Their rest is over, and the next request tries them.
     */
    trial: number;
    /**
     * They have failed and are left alone for a while.
     */
    resting: number;
    /**
     * They are no longer in BACKENDS_FILE, and their last requests run.
     */
    draining: number;
  };
}
