import { parseGroupId, parseKeyId } from '../core/ids.ts';
import { labelCaller } from '../accounts/usage.ts';
import type { OpenStore } from './database.ts';

export interface Names {
  /** Returns the name of a key, or the beginning of the hash of a caller that has no key of the gateway. */
  ofCaller(caller: string): Promise<string>;
  ofGroup(groupId: string): Promise<string>;
}

/** Looks each key and each group up once. One that was deleted keeps its id. */
export function createNames(store: OpenStore): Names {
  const known = new Map<string, Promise<string>>();

  function remember(id: string, find: () => Promise<{ readonly name: string } | undefined>): Promise<string> {
    const name = known.get(id) ?? find().then((found) => found?.name ?? id);
    known.set(id, name);
    return name;
  }

  return {
    async ofCaller(caller) {
      const keyId = parseKeyId(caller);
      return keyId === undefined ? labelCaller(caller) : remember(keyId, () => store.findKey(keyId));
    },
    async ofGroup(text) {
      const groupId = parseGroupId(text);
      return groupId === undefined ? text : remember(groupId, () => store.findGroup(groupId));
    },
  };
}
