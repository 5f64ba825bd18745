import { CONSTANTS } from '../../src/config/constants.ts';
import { readConfig, type Config } from '../../src/config/config.ts';

/** Settings as texts, and as numbers what replaces a constant that a test cannot wait for. */
export type TestSettings = Readonly<Record<string, string | number | undefined>>;

/** Reads what a gateway in a test is opened with. Throws ConfigError, and TypeError for a number that replaces nothing. */
export function readTestConfig(settings: TestSettings): Config {
  const { env, constants } = splitSettings(settings);
  return { ...readConfig(env), ...constants };
}

export function splitSettings(settings: TestSettings) {
  const env: Record<string, string | undefined> = {};
  const constants: Record<string, number> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== 'number') env[name] = value;
    else if (name in CONSTANTS) constants[name] = value;
    else throw new TypeError(`${name} is none of the constants`);
  }
  return { env, constants };
}
