import type { Identity } from '../../core/ids.ts';
import { fieldsOf, readString, type Edit } from '../../core/json-bytes.ts';
import { parseJson, refuseExcess } from '../../core/parse-json.ts';
import { isObject } from '../../core/json.ts';
import { affinityOf, type Route } from '../../core/routes.ts';
import type { ChatSettings } from './chat.ts';
import { chatUrlFaultOf, checkUrls } from './chat-urls.ts';
import { modelEdits } from './chat-body.ts';

export type RouteSettings = Pick<ChatSettings, 'routes' | 'imageUrls' | 'authMode'>;

export interface RoutedChat {
  readonly route?: Route;
  /** They put the name that the backends of the route know into the place of the model's. */
  readonly edits: readonly Edit[];
}

/**
 * Routes a body that is passed through and names a model. Throws ApiError if no backend has the
 * model, if it may not fetch what the body names, or if the body has too much to be read; the backend
 * judges the rest of it.
 */
export function routeChat(bytes: Buffer, caller: Identity, settings: RouteSettings): RoutedChat {
  const { routes } = settings;
  const urlFault = chatUrlFaultOf(settings);
  refuseExcess(bytes);
  if (urlFault !== undefined) {
    const body = parseJson(bytes);
    if (isObject(body)) checkUrls(body['messages'], urlFault);
  }
  const model = modelIn(bytes);
  if (model === '') return { edits: [] };
  const route = routes.choose(model, () => affinityOf(caller[0], parseJson(bytes)));
  return { route, edits: modelEdits(bytes, route.modelAliases) };
}

/** Backends take the last one of several. */
function modelIn(bytes: Buffer): string {
  let model = '';
  for (const { name, start, end } of fieldsOf(bytes, 0)) {
    if (name === 'model') model = readString(bytes.subarray(start, end)) ?? '';
  }
  return model;
}
