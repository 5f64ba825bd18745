import type { ModelSettings, ModelTable } from '../contract/settings-types.ts';
import { patternsOf } from './model-patterns.ts';

/** What the operator says of models. */
export interface ModelFinder {
  find(model: string, backendModel: string): ModelSettings | undefined;
}

export interface Models extends ModelFinder {
  readonly table: ModelTable;
  readonly modelCount: number;
}

/** A name wins over every pattern, and a longer pattern over a shorter one. */
export function createModels(table: ModelTable): Models {
  const settings = new Map(Object.entries(table.models));
  const patterns = patternsOf(settings);
  return {
    table,
    modelCount: settings.size,
    find(model, backendModel) {
      const names = [model.toLowerCase(), backendModel.toLowerCase()];
      const byPattern = () => patterns.find(({ fits }) => names.some(fits))?.value;
      return settings.get(model) ?? settings.get(backendModel) ?? byPattern();
    },
  };
}
