/** Which backends may answer a request, and in which order they are tried. */

import type { FailoverPolicy } from '../contract/settings-types.ts';
import type { Dialect } from './dialects.ts';
import { ApiError } from './errors.ts';
import { isList, isObject } from './json.ts';
import { toModelMatcher } from './model-patterns.ts';

/** What a request is made for. */
interface Kind {
  readonly dialect: Dialect;
  readonly upstreamDialect: string;
  /** `MODEL_ALIASES` and those of the backend, each to a name that the backend knows. */
  readonly modelAliases: ReadonlyMap<string, string>;
}

export interface RoutedBackend extends Kind {
  readonly name: string;
  /** Names and patterns; null takes every model. */
  readonly models: readonly string[] | null;
  readonly weight: number;
}

/** What of a backend says how to reach it. */
export interface Egress {
  readonly tls?: TlsFiles;
  /** Between the gateway and it. */
  readonly proxy?: Proxy;
}

export interface Reachable extends Egress {
  /** Has no slash at its end. */
  readonly baseUrl: string;
}

export interface BackendSpec extends RoutedBackend, Reachable {
  /** Where its name has several addresses: the one of this replica, which has the name of the backend all the same. */
  readonly address?: string;
  /** Null sends the caller's own key, if that is known. */
  readonly apiKey: string | null;
  /** The variable with the key, where the file names one. */
  readonly apiKeyEnv?: string;
  /** The file with the key, in its place. */
  readonly apiKeyFile?: string;
  /** Null sets no limit. */
  readonly maxConcurrent: number | null;
  /** In the place of those of the settings. */
  readonly timeouts: BackendTimeouts;
  /** Sent with each request, their names in small letters. They are secret, and `${file:…}` in them is yet to be read. */
  readonly headers?: Readonly<Record<string, string>>;
  /** That of UPSTREAM_BASE_URL has no name, and is asked even after failures. */
  readonly isOnly: boolean;
}

/** Paths of files in PEM format. */
export interface TlsFiles {
  /** Of the authorities that count, in the place of the public ones. */
  readonly ca?: string;
  /** Of the gateway, with its key. */
  readonly cert?: string;
  readonly key?: string;
}

/** A forward proxy, which a variable of the environment names. */
export interface Proxy {
  readonly variable: string;
  /** It may have a user name and a password. */
  readonly url: string;
}

/** What holds for all backends. */
export interface BackendPolicy extends ShownPolicy {
  /** With `safe` no other backend is asked after one that may have run the request. */
  readonly failover: FailoverPolicy;
  readonly queueTimeoutMs: number;
}

export interface ShownPolicy {
  /** Whether callers are told which backend answers. */
  readonly exposesUpstream: boolean;
}

export interface BackendTimeouts {
  readonly connectTimeoutMs?: number;
  readonly firstByteTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
}

/** The backends that have a model. */
export interface RouteToAsk {
  /** As the caller names it. */
  readonly model: string;
  readonly upstreamDialect: string;
  /** Their names, the first choice first. */
  readonly backends: readonly string[];
  /** Those that get the request as it was made. For the others it must be made again. */
  readonly alike: readonly string[];
}

/** A route, and what a request is made for. */
export interface Route extends RouteToAsk, Kind {}

export interface Routes {
  /**
   * Requests with the same affinity get the same order. Throws ApiError `model_not_found` if no
   * backend has the model.
   */
  choose(model: string, affinity: () => string): Route;
}

interface Candidate {
  readonly backend: RoutedBackend;
  readonly hash: number;
  readonly alone: Omit<Route, 'model'>;
  readonly serves: (model: string) => boolean;
}

/**
 * Returns the routes to these backends. `isAvailable` says who would take a request now: where
 * backends differ in dialect or in the model's name, a request is made for the best available one.
 */
export function createRoutes(
  backends: readonly RoutedBackend[],
  isAvailable: (name: string, model: string) => boolean = () => true,
): Routes {
  const all = backends.map(toCandidate);
  const isOnly = all.length === 1;
  const [first] = all;
  const servesAll = backends.every(({ models }) => models === null);
  const isOneKind = new Set(backends.map(kindOf)).size === 1;

  return {
    choose(model, affinity) {
      if (isOnly && first?.backend.models === null) return { ...first.alone, model };
      const fit = servesAll ? all : all.filter(({ serves }) => serves(model));
      const [only] = fit;
      if (only === undefined) throw new ApiError('model_not_found', { param: 'model' });
      if (fit.length === 1) return { ...only.alone, model };
      const ranked = rank(fit, hashOf(affinity()));
      const best = ranked.find(({ backend }) => isAvailable(backend.name, model)) ?? ranked[0] ?? only;
      const names = ranked.map(nameOf);
      const isLikeBest = ({ backend }: Candidate): boolean => isAlike(backend, best.backend, model);
      return {
        ...best.alone,
        model,
        backends: names,
        alike: isOneKind ? names : ranked.filter(isLikeBest).map(nameOf),
      };
    },
  };
}

export interface Routing {
  readonly backends: readonly RoutedBackend[];
  readonly unavailable: readonly string[];
}

/** Returns the routes as another thread sees them. */
export function routesOf({ backends, unavailable }: Routing): Routes {
  return createRoutes(backends, (name) => !unavailable.includes(name));
}

function toCandidate(backend: RoutedBackend): Candidate {
  const { name, dialect, upstreamDialect, modelAliases, models } = backend;
  const matchers = models?.map(toModelMatcher);
  return {
    backend,
    hash: hashOf(name),
    alone: { backends: [name], alike: [name], dialect, upstreamDialect, modelAliases },
    serves(model) {
      const known = modelAliases.get(model) ?? model;
      return matchers === undefined || matchers.some((fits) => fits(known));
    },
  };
}

/** Returns whether all backends of the route get the request as it was made. */
export function isOfOneKind({ backends, alike }: Route): boolean {
  return backends.length === alike.length;
}

function nameOf({ backend }: Candidate): string {
  return backend.name;
}

function isAlike(one: RoutedBackend, other: RoutedBackend, model: string): boolean {
  return one.upstreamDialect === other.upstreamDialect && one.modelAliases.get(model) === other.modelAliases.get(model);
}

/** Backends of one kind get every request as it was made. */
function kindOf({ upstreamDialect, modelAliases }: RoutedBackend): string {
  return JSON.stringify([upstreamDialect, ...[...modelAliases].map((pair) => pair.join(' ')).sort()]);
}

/**
 * Weighted rendezvous hashing: a backend that leaves or comes moves only its own part. Each candidate
 * is put in its place as it comes, which for 30 takes 1.6 µs; a sort with a comparator takes 3.9 µs.
 */
function rank(candidates: readonly Candidate[], affinity: number): readonly Candidate[] {
  const ranked: { readonly candidate: Candidate; readonly score: number }[] = [];
  for (const candidate of candidates) {
    const score = scoreOf(candidate, affinity);
    let rank = ranked.length;
    for (; rank > 0; rank -= 1) {
      const before = ranked[rank - 1];
      if (before === undefined || before.score >= score) break;
      ranked[rank] = before;
    }
    ranked[rank] = { candidate, score };
  }
  return ranked.map(({ candidate }) => candidate);
}

function scoreOf({ backend, hash }: Candidate, affinity: number): number {
  const fraction = (mix(affinity ^ hash) + 0.5) / 2 ** 32;
  return -backend.weight / Math.log(fraction);
}

/** The rest of a long text is told apart by its length alone. */
const MAX_HASHED_CHARACTERS = 4096;

/**
 * Returns what requests of a caller with a common prefix share: the cache key, else the items up to the first message of the user.
 * The body is that of either endpoint.
 */
export function affinityOf(caller: string, body: unknown): string {
  if (!isObject(body)) return caller;
  const { prompt_cache_key: cacheKey, messages, input = messages } = body;
  if (typeof cacheKey === 'string' && cacheKey !== '') return caller + cacheKey;
  const items = isList(input) ? input : [{ role: 'user', content: input }];
  const firstOfUser = items.findIndex((item) => isObject(item) && item['role'] === 'user');
  return caller + JSON.stringify(items.slice(0, Math.max(firstOfUser, 0) + 1).map(contentIn));
}

/** A text is the same in the history of the next turn, where it is the one part of a message. */
function contentIn(item: unknown): unknown {
  if (!isObject(item) || item['role'] === undefined) return item;
  const { role, content } = item;
  const [part, ...others] = isList(content) ? content : [];
  const isText = others.length === 0 && isObject(part) && typeof part['text'] === 'string';
  return [role, isText ? part['text'] : content];
}

/** FNV-1a with the last step of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  const length = Math.min(text.length, MAX_HASHED_CHARACTERS);
  for (let index = 0; index < length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mix(hash);
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
