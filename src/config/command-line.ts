/** What a person types before a command, for messages and examples: a clone has no `responses-gateway` on its path. */
export const COMMAND_LINE = import.meta.filename.endsWith('.ts') ? 'npm run -s cli --' : 'responses-gateway';
