/** The way of a request for a response, from its body to its record, over any transport. */

import type { RoutedChatBackend } from '../backend/failover.ts';
import { readSummary } from '../core/compaction/summary.ts';
import { initialResponse } from '../core/reply/initial-response.ts';
import { thinkTagsFor } from '../core/reply/think-tags.ts';
import type { OutputWriterOptions } from '../core/reply/output-writer.ts';
import { createTranslator, type Translator } from '../core/reply/translator.ts';
import type { UniquePart } from '../core/ids.ts';
import { maxCallsOf } from '../core/request/tool-choice.ts';
import { wantsLogprobs, wantsSealedReasoning } from '../core/request/request.ts';
import type { UsedFields } from '../core/request/used-fields.ts';
import { createStopController } from '../core/stop-signal.ts';
import { toSeconds } from '../core/time.ts';
import type { ReasoningOutput } from '../contract/settings-types.ts';
import type { TokenEstimator } from '../core/tokens/estimate.ts';
import { accept, prepareOnce, type AcceptServices } from './accept.ts';
import { beginCompaction, type Compaction } from './compact.ts';
import { converse } from './converse.ts';
import type { IncomingCreate } from './incoming.ts';
import { writeItems, type ItemMemory } from './item-memory.ts';
import type { Ending } from './outcome.ts';
import { nameLeftOut, nameUnsealed } from './left-out.ts';
import { rerouterOf } from './reroute.ts';
import { yieldToEventLoop } from './soon.ts';
import type { ResponsePlan } from './plan.ts';
import type { PrepareServices } from './preparation/response.ts';
import { refuseWhileDraining } from './running.ts';
import { sendDuplicate } from './show-record.ts';
import { openTelling, tellEvents, tellUnrecorded } from './telling.ts';

export interface RespondServices extends AcceptServices {
  readonly sealers: PrepareServices['sealers'];
  readonly backend: RoutedChatBackend;
  readonly itemMemory: ItemMemory;
  readonly estimator: TokenEstimator;
  readonly usedFields: UsedFields;
  readonly reasoningOutput: ReasoningOutput;
}

/** Answers a request. Throws the ApiError of a failure that can still be sent as a status. */
export async function respond(incoming: IncomingCreate, services: RespondServices): Promise<void> {
  const plan = await prepareOnce(incoming, incoming.endpoint, services);
  if ('record' in plan) return sendDuplicate(incoming, plan.record, services);
  if (incoming.isWarmUp === true) return warmUp(incoming, plan, services);
  const accepted = await accept(incoming, plan, services, { mayWait: true });
  if (accepted.kind === 'duplicate') return sendDuplicate(incoming, accepted.record, services);
  const telling = openTelling(incoming, accepted);
  try {
    nameLeftOut(incoming, plan.leftOut);
    const translator = openTranslator(incoming, plan, accepted, services);
    const compaction = openCompaction(incoming, plan, accepted.unique, services);
    const reply = incoming.openReply(translator, plan, telling.signal);
    const events = tellEvents(telling, translator, { reply, incoming });
    await converse(plan, {
      incoming,
      translator,
      compaction,
      prompt: accepted.prompt,
      telling: events,
      reroute: rerouterOf(plan, {
        prepare: (backend) => incoming.prepare(backend),
        use(next) {
          if (next.compaction !== undefined || !accepted.bill.reroute(next)) return undefined;
          nameLeftOut(incoming, next.leftOut);
          translator.readFrom(readingOf(incoming, next, services));
          return next.translation.chat;
        },
      }),
      backend: services.backend,
      exposesUpstream: services.policy().exposesUpstream,
    });
    const end = await events.endRecord(endingOf(translator, compaction));
    await remember(incoming, plan, translator, services);
    await events.sendEnd(end);
  } catch (thrown) {
    throw await telling.endThrown(thrown);
  } finally {
    accepted.release();
  }
}

/** `generate: false` asks for no output, only for an id that can be continued. */
async function warmUp(incoming: IncomingCreate, plan: ResponsePlan, services: RespondServices): Promise<void> {
  const { facts } = incoming;
  // `accept` refuses all other requests, because it finds duplicates first.
  refuseWhileDraining(services.running);
  const headers = await services.admission.admitFree(incoming.caller.key, plan);
  for (const [name, value] of Object.entries(headers)) incoming.setHeader(name, value);
  nameLeftOut(incoming, plan.leftOut);
  facts.model = plan.model;
  facts.stream = plan.stream;
  const created = { unique: facts.unique, createdAtMs: services.nowMs() };
  const translator = openTranslator(incoming, plan, created, services);
  const reply = incoming.openReply(translator, plan, createStopController().signal);
  const events = [...translator.start(), ...translator.feed([NOTHING_USED]), ...translator.endWithoutAnswer()];
  await remember(incoming, plan, translator, services);
  tellUnrecorded(reply, events);
}

const NOTHING_USED = { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } };

function openTranslator(
  incoming: IncomingCreate,
  plan: ResponsePlan,
  { unique, createdAtMs }: { readonly unique: UniquePart; readonly createdAtMs: number },
  services: RespondServices,
): Translator {
  const continues = incoming.continues?.responseId ?? plan.continues;
  return createTranslator({
    ...readingOf(incoming, plan, services),
    response: initialResponse(plan.request, plan.translation.tools, {
      unique,
      createdAtS: toSeconds(createdAtMs),
      ...(continues !== undefined && { previousResponseId: continues }),
    }),
    unique,
    nowS: () => toSeconds(services.nowMs()),
  });
}

function readingOf(
  { caller, facts }: IncomingCreate,
  { request, route, translation }: ResponsePlan,
  services: RespondServices,
): OutputWriterOptions {
  const origin = { dialect: route.upstreamDialect, model: translation.chat.model };
  return {
    tools: translation.tools,
    usedCallIds: translation.usedCallIds,
    reasoningOutput: services.reasoningOutput,
    state: {
      ...origin,
      seal: (state) => services.sealers.reasoning.seal(caller.identity, state),
      onLeftOut: () => nameUnsealed(facts),
      isAskedFor: wantsSealedReasoning(request),
      reasoningField: route.dialect.reasoningField,
      onThoughts: (form) => services.usedFields.note(origin, form),
    },
    thinkTags: thinkTagsFor(route.dialect.thinkTags, translation.chat),
    logprobs: wantsLogprobs(request),
    maxToolCalls: maxCallsOf(request),
  };
}

function openCompaction(
  { caller }: IncomingCreate,
  { compaction, request: { model } }: ResponsePlan,
  unique: UniquePart,
  { sealers, nowMs }: RespondServices,
): Compaction | undefined {
  if (compaction === undefined) return undefined;
  return beginCompaction(compaction, {
    summary: readSummary({
      model,
      unique,
      thinkTags: thinkTagsFor(compaction.route.dialect.thinkTags, compaction.chat),
      nowS: () => toSeconds(nowMs()),
    }),
    seal: (text) => sealers.compaction.seal(caller.identity, text),
  });
}

/** Keeps the response for those that continue it, and its items for those that refer to them. */
async function remember(
  { caller, endpoint, keep, continues: earlier }: IncomingCreate,
  { request, turn, continues = earlier?.responseId }: ResponsePlan,
  { failure, response, isLarge }: Translator,
  { itemMemory }: RespondServices,
): Promise<void> {
  const isShared = request.store !== false;
  if (failure !== null || turn === undefined || (!isShared && keep === undefined)) return;
  // A large answer was written for the client, and will be once more: each in an iteration of its own.
  if (isLarge) await yieldToEventLoop();
  const items = writeItems(response.output);
  if (isShared) itemMemory.remember(caller.identity, items);
  if (endpoint === 'responses') {
    const output = Buffer.from(`[${items.map(({ json }) => json).join(',')}]`);
    const kept = { responseId: response.id, turns: [turn, output], continues };
    keep?.(kept);
    if (isShared) itemMemory.rememberResponse(caller.identity, kept);
  }
  if (isLarge) await yieldToEventLoop();
}

function endingOf(
  { failure, response, reported, outputLength, unknownReason }: Translator,
  compaction: Compaction | undefined,
): Ending {
  // If the compaction is the whole answer, a summary that was cut short makes it incomplete.
  const last = compaction?.isAll === true ? compaction.summary.response : response;
  return {
    failure,
    incompleteReason: last.incomplete_details?.reason ?? null,
    reported,
    outputLength,
    hasOutput: outputLength > 0 || response.output.length > 0,
    unknownReason,
  };
}
