/** What a client asks for, and what the model does; the name of a scenario is the name of its model. */

import { z } from 'zod';

export interface Scenario {
  /** The cities that the model asks about, one answer after the other. */
  readonly calls: readonly (readonly string[])[];
  /** What the client has at the end: the text, or what was called where that is all that it wants. */
  readonly result: string;
  readonly toolChoice?: 'get_weather' | 'none';
  /** The client wants JSON with a city, and offers no tools of its own. */
  readonly isStructured?: true;
  readonly effort?: 'none';
}

/** What a client is to ask, and whom. */
export interface Asked extends Scenario {
  readonly baseURL: string;
  readonly model: string;
}

/** The argument of each tool. */
export const PLACE = z.object({ city: z.string() });
export const DESCRIPTION = 'Tells about a city.';
export const PROMPT = 'What is the weather?';
export const ANSWER = 'It rains.';
export const STRUCTURED = '{"city":"Bonn"}';

export const SCENARIOS = {
  'tool-loop': { calls: [['Bonn'], ['Oslo'], ['Rome']], result: ANSWER },
  'parallel-calls': { calls: [['Bonn', 'Oslo']], result: ANSWER },
  'forced-tool': { calls: [['Bonn']], toolChoice: 'get_weather', result: 'get_weather Bonn' },
  'no-tool': { calls: [['Bonn']], toolChoice: 'none', result: ANSWER },
  'structured-output': { calls: [], isStructured: true, result: STRUCTURED },
  'thinking-off': { calls: [['Bonn']], effort: 'none', result: ANSWER },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

/** The names of the tools that a client offers. The first of two is there to be called by mistake. */
export function toolsOf({ toolChoice }: Scenario): readonly string[] {
  return toolChoice === 'get_weather' ? ['ask_somebody', 'get_weather'] : ['get_weather'];
}

/** What a tool says. */
export const rainIn = (city: string): string => `Rain in ${city}`;

/** The result of a scenario that ends with a call. */
export const toCalled = (name: string, { city }: { city: string }): string => `${name} ${city}`;

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}
