import schema from '../../schemas/models.json' with { type: 'json' };
import type { ModelTable } from '../contract/settings-types.ts';
import type { DialectParameters } from '../core/dialects.ts';
import { createModels, type Models } from '../core/models.ts';
import { isPassed } from '../core/request/parameters.ts';
import { compileBySize, pathOf, readTableFile, type TableFile } from './table-file.ts';

/** Reads and checks what the operator says of models. Does not throw. */
export function readModelsFile(path: string | undefined, dialect: DialectParameters): TableFile<Models> {
  return readTableFile({
    setting: 'MODELS_FILE',
    path,
    compile: compileModelTable,
    check: (table) => findUnusable(table, dialect),
    create: createModels,
  });
}

const compileModelTable = compileBySize<ModelTable>(schema);

/** Keys with funds or limits use the same models, so no parameter may go around what is reserved. */
function findUnusable({ models }: ModelTable, dialect: DialectParameters): readonly string[] {
  const problems: string[] = [];
  for (const [model, { defaults = {}, overrides = {} }] of Object.entries(models)) {
    for (const [part, parameters] of Object.entries({ defaults, overrides })) {
      for (const name of Object.keys(parameters)) {
        if (Object.hasOwn(RESPONSES_PARAMETERS, name)) continue;
        const path = pathOf('models', model, part);
        if (dialect.unboundedParameters.includes(name))
          problems.push(`${path} must not have ${name}, which may cost more than is reserved`);
        else if (!isPassed(name, dialect))
          problems.push(`${path} must not have ${name}, which the dialect does not list`);
      }
    }
  }
  return problems;
}

const RESPONSES_PARAMETERS = schema.$defs.ModelParameters.properties;
