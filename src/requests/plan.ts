import type { RelayRequest } from '../backend/chat.ts';
import type { Identity, RecordedEndpoint } from '../core/ids.ts';
import type { Route } from '../core/routes.ts';
import type { ChatBody } from '../core/encoded-chat.ts';
import type { Translation } from '../core/request/request.ts';
import type { ReplyTools } from '../core/request/tools.ts';
import type { ModelCall } from '../core/tokens/estimate.ts';
import type { InputSize } from '../core/tokens/input-size.ts';
import type { RequestWithoutInput } from '../core/reply/initial-response.ts';

/** What a request can cost at most. */
export interface PlannedLoad {
  readonly inputSize: InputSize;
  /** Limits one choice; null without a limit. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
}

export interface Plan extends PlannedLoad {
  readonly endpoint: RecordedEndpoint;
  readonly model: string;
  readonly backendModel: string;
  readonly route: Route;
  readonly stream: boolean;
  /** As the backend is asked. */
  readonly serviceTier?: string | undefined;
  /** The SHA-256 of what the requests of one conversation share. */
  readonly conversation: Uint8Array;
}

export interface ChatPlan extends Plan {
  readonly request: RelayRequest;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ResponsePlan extends Plan {
  /** The input is in the chat request. */
  readonly request: RequestWithoutInput;
  /** The JSON of what the response repeats, which then is not in the request. */
  readonly echo?: Uint8Array;
  /** The JSON of the messages that an explicit compaction keeps, without brackets. */
  readonly kept?: Uint8Array;
  readonly leftOut: LeftOut;
  /** The items of the request as JSON, where a later one may continue it. */
  readonly turn?: Uint8Array<ArrayBuffer>;
  readonly continues?: string;
  readonly translation: PlannedTranslation;
  readonly compaction: PlannedCompaction | undefined;
}

/** The names of what was left out, by the header that tells them. */
export type LeftOut = Readonly<Record<string, string>>;

export interface PlannedTranslation {
  readonly usedCallIds: Translation['usedCallIds'];
  readonly chat: ChatBody;
  readonly tools: ReplyTools;
}

export interface PlannedCompaction {
  readonly chat: ChatBody;
  readonly route: Route;
  /** Returns the request that the summary precedes; absent if only the summary is asked for. */
  readonly resume?: (encryptedContent: string) => ChatBody | Promise<ChatBody>;
}

/** Returns what an estimate is made from. `outputLength` is in UTF-16 code units. */
export function modelCallOf(plan: Plan, caller: Identity, outputLength: number): ModelCall {
  const { backendModel, inputSize, maxOutputTokens, choices } = plan;
  return {
    model: backendModel,
    caller: caller[0],
    inputSize,
    outputLength,
    allowedOutputTokens: maxOutputTokens === null ? null : choices * maxOutputTokens,
  };
}
