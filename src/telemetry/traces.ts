/** Without a registered SDK the caller's `traceparent` goes to the backend unchanged. */

import type { IncomingHttpHeaders } from 'node:http';
import {
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import packageJson from '../../package.json' with { type: 'json' };
import { routeOf } from './endpoints.ts';
import { isModelCall, OPERATION } from './gen-ai.ts';
import type { TracedRequest } from './observe.ts';
import { isFault, type RequestEnd, type RequestFacts, type RequestTrace } from './facts.ts';

export interface TracingOptions extends TracedBackend {
  readonly backendNamed: (name: string) => TracedBackend | undefined;
}

export interface TracedBackend {
  readonly baseUrl: string;
  readonly providerName: string;
}

const NO_TRACE: RequestTrace = { callBackend: () => ({}), end: () => undefined };

/**
 * Returns a function that starts the trace of a request. Without an SDK it only reads two headers.
 */
export function createTracing({ backendNamed, ...first }: TracingOptions): (request: TracedRequest) => RequestTrace {
  // The tracer looks up the SDK at each call, so it may be registered later.
  const tracer = trace.getTracer(packageJson.name, packageJson.version);
  const firstServer = serverOf(first);

  return ({ endpoint, method, headers }) => {
    // Probes would be most of the traces.
    const route = routeOf(endpoint);
    if (route === undefined) return NO_TRACE;
    const parent = parentOf(headers);
    const attributes = { 'http.request.method': method, 'http.route': route };
    const plainName = `${method} ${route}`;
    const span = tracer.startSpan(plainName, { kind: SpanKind.SERVER, attributes }, parent);
    // Without an SDK the span is its parent, so without a parent there is no trace.
    if (!isSpanContextValid(span.spanContext())) return NO_TRACE;
    const inSpan = trace.setSpan(parent, span);
    let call: Span | undefined;

    return {
      callBackend(facts) {
        call = tracer.startSpan(
          nameOf(facts, plainName),
          { kind: SpanKind.CLIENT, attributes: { ...firstServer, ...requestAttributes(facts) } },
          inSpan,
        );
        return toHeaders(call.spanContext());
      },
      end(facts, end) {
        if (call !== undefined) {
          if (call.isRecording()) call.setAttributes({ ...placeNamed(facts.upstream), ...requestAttributes(facts) });
          finish(call, facts, end);
        }
        if (span.isRecording()) {
          span.updateName(nameOf(facts, plainName));
          span.setAttributes({ ...requestAttributes(facts), 'http.response.status_code': end.status });
        }
        finish(span, facts, end);
      },
    };
  };

  /** Which backend is asked is known only after the span has begun. */
  function placeNamed(upstream: string | undefined): Attributes {
    const backend = named(upstream);
    return backend === undefined ? {} : { ...serverOf(backend), 'responses_gateway.backend': upstream };
  }

  function named(upstream: string | undefined): TracedBackend | undefined {
    return upstream === undefined ? undefined : backendNamed(upstream);
  }

  /** Follows https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
  function requestAttributes(facts: RequestFacts): Attributes {
    if (!isModelCall(facts)) return {};
    return {
      'gen_ai.operation.name': OPERATION,
      'gen_ai.provider.name': (named(facts.upstream) ?? first).providerName,
      ...(facts.model !== undefined && { 'gen_ai.request.model': facts.model }),
    };
  }
}

function serverOf({ baseUrl }: TracedBackend): Attributes {
  const { hostname, port, protocol } = new URL(baseUrl);
  return {
    'server.address': hostname,
    'server.port': Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port),
  };
}

function parentOf(headers: IncomingHttpHeaders): Context {
  const active = context.active();
  if (trace.getSpanContext(active) !== undefined) return active;
  const remote = readTraceParent(headers);
  return remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
}

/** A later version may have more fields (https://www.w3.org/TR/trace-context/). */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_CHARACTERS = 512;

function readTraceParent({ traceparent, tracestate }: IncomingHttpHeaders): SpanContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_TRACEPARENT_CHARACTERS) return undefined;
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const remote: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    // This drops entries that are not valid, and more than 512 characters.
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(remote) ? remote : undefined;
}

function toHeaders(call: SpanContext): Readonly<Record<string, string>> {
  if (!isSpanContextValid(call)) return {};
  const flags = (call.traceFlags & 0xff).toString(16).padStart(2, '0');
  const state = call.traceState?.serialize() ?? '';
  return {
    traceparent: `00-${call.traceId}-${call.spanId}-${flags}`,
    ...(state !== '' && { tracestate: state }),
  };
}

function nameOf(facts: RequestFacts, plainName: string): string {
  if (!isModelCall(facts)) return plainName;
  return facts.model === undefined ? OPERATION : `${OPERATION} ${facts.model}`;
}

function finish(span: Span, facts: RequestFacts, end: RequestEnd): void {
  if (span.isRecording()) {
    const { usage, errorCode } = facts;
    if (usage !== null) {
      span.setAttributes({
        'gen_ai.usage.input_tokens': usage.input_tokens,
        'gen_ai.usage.output_tokens': usage.output_tokens,
      });
    }
    if (end.outcome !== 'answered') span.setAttribute('error.type', errorCode ?? String(end.status));
    if (isFault(facts, end)) span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
