import type { Request, Response } from 'express';
import { ERRORS } from '../core/errors.ts';
import type { DuplicateReply, ErrorFields, RequestRecord } from '../types/contract.ts';
import { baseUrlOf } from './records/record.ts';
import { factsOf, type RequestFacts } from './telemetry/request-facts.ts';

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
  return {
    facts: factsOf(res),
    get baseUrl() {
      return baseUrlOf(req, publicBaseUrl);
    },
    get replyBegan() {
      return res.headersSent;
    },
    get isServed() {
      return res.closed;
    },
    onceServed: (listener) => void res.once('close', () => listener(res.writableFinished)),
    setHeader: (name, value) => void res.setHeader(name, value),
    // The record's own error gives way to the one which a client reads; the record at `status_url` shows it.
    sendDuplicate: (record, error) =>
      void res.status(ERRORS.duplicate_request.status).json({ ...record, error } satisfies DuplicateReply),
  };
}
