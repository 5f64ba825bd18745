import type { RequestHandler } from 'express';
import { windowOf } from '../../core/compaction/compaction.ts';
import { estimateUsage, type TokenEstimator } from '../../core/tokens/estimate.ts';
import type { UniquePart } from '../../core/ids.ts';
import type { Translator } from '../../core/reply/translator.ts';
import { keptMessages } from '../../core/request/kept-input.ts';
import type { CompactionResource } from '../../contract/types.ts';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { httpClient } from './client.ts';
import { parseIdempotencyKey } from '../../requests/idempotency-key.ts';
import { validateCompactResponse } from '../../requests/validate.ts';
import type { ReplyJob } from '../../requests/prepare.ts';
import type { PostResponseOptions } from './post-response.ts';
import { createJsonReply } from './reply.ts';

export interface PostCompactionOptions extends Pick<
  PostResponseOptions,
  'serveResponse' | 'publicBaseUrl' | 'maxBodyBytes' | 'clientStallMs'
> {
  readonly estimator: TokenEstimator;
}

/** `POST /api/v1/responses/compact`: a response that is nothing but a compaction, told in a form of its own. */
export function postCompaction(options: PostCompactionOptions): RequestHandler {
  return async (req, res) => {
    const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
    const client = httpClient(req, res, options.publicBaseUrl);
    await options.serveResponse(client, {
      caller: callerOf(res),
      idempotencyKey,
      body: await readJsonBody(req, { maxBytes: options.maxBodyBytes }),
      endpoint: 'responses.compact',
      validate: validateCompactResponse,
      openReply: (translator, job) =>
        createJsonReply(res, translator, {
          stallMs: options.clientStallMs,
          toBody: () => toResource(translator, job, { unique: client.facts.unique, estimator: options.estimator }),
        }),
    });
  };
}

function toResource(
  { response, outputLength }: Translator,
  { request, submission }: ReplyJob,
  { unique, estimator }: { readonly unique: UniquePart; readonly estimator: TokenEstimator },
): CompactionResource {
  const { id, created_at, usage } = response;
  const compaction = response.output.filter((item) => item.type === 'compaction');
  return {
    id,
    object: 'response.compaction',
    created_at,
    output: [...keptMessages(windowOf(request), submission.body.length, unique), ...compaction],
    // It has to be there; where the backend has not counted, it is what the record says.
    usage: usage ?? estimateUsage(estimator, submission, outputLength),
  };
}
