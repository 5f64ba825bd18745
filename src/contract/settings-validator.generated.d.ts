/** What generate-validators.ts makes of the schema of the settings. */
import type { ValidateFunction } from 'ajv';
import type { Settings } from './types.ts';

/** Puts defaults in the place of what is absent. */
export const isSettings: ValidateFunction<Settings>;
