import type { TranslationOptions } from '../core/request/request.ts';
import type { Sealer, SealPurpose } from '../identity/seal.ts';
import type { Identity } from '../identity/identities.ts';
import type { ImageUrlPolicy } from '../contract/types.ts';
import { URL_FAULTS } from './image-urls.ts';

/** How requests are translated, whoever sends them. */
export interface TranslationSettings extends Pick<
  TranslationOptions,
  'dialect' | 'upstreamDialect' | 'modelAliases' | 'hostedTools'
> {
  readonly sealers: Readonly<Record<SealPurpose, Sealer>>;
  readonly imageUrls: ImageUrlPolicy;
}

/** How those of this caller are, who can have nothing opened that was sealed for another. */
export function translationOptionsFor(caller: Identity, settings: TranslationSettings): TranslationOptions {
  const { dialect, upstreamDialect, modelAliases, hostedTools, sealers, imageUrls } = settings;
  return {
    dialect,
    upstreamDialect,
    modelAliases,
    hostedTools,
    openSeal: (sealed) => sealers.reasoning.open(caller, sealed),
    openCompaction: (sealed) => sealers.compaction.open(caller, sealed),
    urlFault: URL_FAULTS[imageUrls],
  };
}
