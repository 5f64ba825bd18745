import type { ChatRequest } from '../../core/chat.ts';
import type { ChatBody } from '../../core/encoded-chat.ts';
import { countedInputOf, type CountedInput } from '../../core/tokens/counted-input.ts';
import { inputSizeOf, type InputSize } from '../../core/tokens/input-size.ts';
import { affinityOf, type Route } from '../../core/routes.ts';
import { toChatRequest } from '../../core/request/request.ts';
import { leftOutOf } from '../left-out.ts';
import type { LeftOut } from '../plan.ts';
import { translationOptionsFor, type ParsedRequest, type PrepareServices } from './response.ts';
import { withItems } from './turns.ts';
import { validateCreateResponse } from './validate.ts';

export interface InputToCount {
  readonly model: string;
  readonly backendModel: string;
  readonly route: Route;
  /** Is absent where the backend has no counter and the request is large. */
  readonly chat?: ChatBody;
  readonly counted: CountedInput;
  readonly inputSize: InputSize;
  readonly leftOut: LeftOut;
}

/** Returns what a request says to the model. Throws the ApiError of one that is not valid. */
export function prepareCount(
  parsed: ParsedRequest,
  services: PrepareServices,
): InputToCount & { readonly chat: ChatRequest } {
  return withItems(parsed, services, () => {
    const request = validateCreateResponse(parsed.value);
    const route = services.routes.choose(request.model, () => affinityOf(parsed.identity[0], request));
    const translation = toChatRequest(request, translationOptionsFor(parsed.identity, route, services));
    const { chat } = translation;
    const inputSize = inputSizeOf(chat, services.models.present?.find(request.model, chat.model)?.media);
    return {
      model: request.model,
      backendModel: chat.model,
      route,
      chat,
      counted: countedInputOf(chat, inputSize),
      inputSize,
      leftOut: leftOutOf(translation),
    };
  });
}
