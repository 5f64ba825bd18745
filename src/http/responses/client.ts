import type { Request, Response } from 'express';
import { ERRORS } from '../../core/errors.ts';
import type { DuplicateReply, ErrorFields, RequestRecord } from '../../contract/types.ts';
import { baseUrlOf } from '../records/record.ts';
import { factsOf, type RequestFacts } from '../../requests/facts.ts';

/**
 * Who waits for the answer to one request. What decides about requests knows him by this alone, so that it decides the same
 * whatever the transport is.
 */
export interface Client {
  readonly facts: RequestFacts;
  /** Where he reaches this gateway, without a slash at the end. */
  readonly baseUrl: string;
  /** Whether any of the reply has been sent, so that he cannot be told a status any more. */
  readonly replyBegan: boolean;
  /** Whether he has the whole reply, or is gone. */
  readonly isServed: boolean;
  /** Calls the listener once, when he has the whole reply or is gone before that; never where `isServed` is true already. */
  onceServed(listener: (hasWholeReply: boolean) => void): void;
  /** A header of the reply, which has not begun. */
  setHeader(name: string, value: string): void;
  /** The whole reply to a request that was made before, with the headers that were set. */
  sendDuplicate(record: RequestRecord, error: ErrorFields): void;
}

/** The client at the other end of a request over HTTP. */
export function httpClient(req: Request, res: Response, publicBaseUrl: string | null): Client {
  return new HttpClient(req, res, publicBaseUrl);
}

/** A class for its getters, which are no good in an object literal (core/writable.ts). */
class HttpClient implements Client {
  readonly facts: RequestFacts;
  readonly #req: Request;
  readonly #res: Response;
  readonly #publicBaseUrl: string | null;

  constructor(req: Request, res: Response, publicBaseUrl: string | null) {
    this.facts = factsOf(res);
    this.#req = req;
    this.#res = res;
    this.#publicBaseUrl = publicBaseUrl;
  }

  get baseUrl(): string {
    return baseUrlOf(this.#req, this.#publicBaseUrl);
  }

  get replyBegan(): boolean {
    return this.#res.headersSent;
  }

  get isServed(): boolean {
    return this.#res.closed;
  }

  onceServed(listener: (hasWholeReply: boolean) => void): void {
    const res = this.#res;
    res.once('close', () => listener(res.writableFinished));
  }

  setHeader(name: string, value: string): void {
    this.#res.setHeader(name, value);
  }

  sendDuplicate(record: RequestRecord, error: ErrorFields): void {
    // The record's own error gives way to the one which a client reads; the record at `status_url` shows it.
    this.#res.status(ERRORS.duplicate_request.status).json({ ...record, error } satisfies DuplicateReply);
  }
}
