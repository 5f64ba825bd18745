/** @import { CreateResponse, ReasoningEffort } from '../contract/types.ts' */

/**
 * @typedef {object} Fields
 * @property {string} model
 * @property {string} input
 * @property {string} instructions
 * @property {string} tools
 * @property {string} maxOutputTokens
 * @property {string} effort
 * @property {boolean} stream
 *
 * @typedef {{ readonly [Field in keyof Fields]?: string }} Problems
 */

/**
 * Returns the request of the valid fields, and what is wrong with the others. Empty fields are left
 * out, so that the backend chooses the defaults.
 * @type {(fields: Fields) => { readonly request: CreateResponse, readonly problems: Problems }}
 */
export function readFields({ model, input, instructions, tools, maxOutputTokens, effort, stream }) {
  const list = readTools(tools);
  const limit = maxOutputTokens.trim();
  const isLimit = /^[1-9]\d{0,8}$/.test(limit);
  const request = /** @type {CreateResponse} */ ({
    model: model.trim(),
    input,
    ...(instructions.trim() !== '' && { instructions }),
    ...(list !== null && list.length > 0 && { tools: list }),
    ...(isLimit && { max_output_tokens: Number(limit) }),
    ...(effort !== '' && { reasoning: { effort: /** @type {ReasoningEffort} */ (effort) } }),
    ...(stream && { stream }),
  });
  const problems = {
    ...(model.trim() === '' && { model: 'Name a model.' }),
    ...(input.trim() === '' && { input: 'Write something for the model to answer.' }),
    ...(list === null && { tools: 'Tools must be a JSON list of objects: [{"type": "function", …}].' }),
    ...(limit !== '' && !isLimit && { maxOutputTokens: 'A whole number, 1 or more.' }),
  };
  return { request, problems };
}

/** @param {string} text @returns {readonly object[] | null} null when it is no list of objects */
function readTools(text) {
  if (text.trim() === '') return [];
  try {
    /** @type {unknown} */
    const value = JSON.parse(text);
    return Array.isArray(value) && value.every((tool) => typeof tool === 'object' && tool !== null) ? value : null;
  } catch {
    return null;
  }
}
