/** What generate-validators.ts makes of the schemas. */
import type { ValidateFunction } from 'ajv';
import type { CompactResponse, CreateChatCompletion, CreateResponse, WebSocketCreate } from './types.ts';

export const isCreateResponse: ValidateFunction<CreateResponse>;
export const isWebSocketCreate: ValidateFunction<WebSocketCreate>;
export const isCompactResponse: ValidateFunction<CompactResponse>;
export const isCreateChatCompletion: ValidateFunction<CreateChatCompletion>;
