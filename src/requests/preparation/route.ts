import type { Identity } from '../../identity/identities.ts';
import { fieldsOf, readString, type Edit } from '../../core/json-bytes.ts';
import { parseJson, refuseExcess } from '../../core/parse-json.ts';
import { affinityOf, type Route, type Routes } from '../../core/routes.ts';
import { modelEdits } from './chat-body.ts';

export interface RoutedChat {
  readonly route?: Route;
  /** They put the name that the backends of the route know into the place of the model's. */
  readonly edits: readonly Edit[];
}

/**
 * Routes a body that is passed through and names a model. Throws ApiError if no backend has the
 * model, or if the body has too much to be read; the backend judges the rest of it.
 */
export function routeChat(bytes: Buffer, caller: Identity, routes: Routes): RoutedChat {
  refuseExcess(bytes);
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
