/**
 * The module `node:http` as CommonJS has it. An `import` reads all that it exports, and so loads the WebSocket client of Node,
 * which nothing here uses: 14 MB, and a twentieth of the CPU of a start.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
