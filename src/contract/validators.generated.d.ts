/** What generate-validators.ts makes of the schemas. */
import type { ValidateFunction } from 'ajv';
import type { CompactResponse, CreateChatCompletion, CreateResponse, WebSocketCreate } from './types.ts';
import type { Settings } from './settings-types.ts';

export const isCreateResponse: ValidateFunction<CreateResponse>;
export const isWebSocketCreate: ValidateFunction<WebSocketCreate>;
export const isCompactResponse: ValidateFunction<CompactResponse>;
export const isCreateChatCompletion: ValidateFunction<CreateChatCompletion>;
export const isSettings: ValidateFunction<Settings>;
