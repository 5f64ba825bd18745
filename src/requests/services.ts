import type { Preparation } from './preparation/preparation.ts';
import type { RelayServices } from './relay.ts';
import type { RespondServices } from './respond.ts';

/** What a request needs on its way from its body to its record. */
export interface RequestServices extends RespondServices, RelayServices {
  readonly preparation: Preparation;
}
