import type { IncomingMessage, ServerOptions } from 'node:http';
import type { Express } from 'express';
import { nodeHttp } from '../wire/node-http.ts';

export type ServerClasses = Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>>;

/**
 * Returns classes whose objects have the prototypes of the application from the start. Express
 * would change the prototype of each object, which slows down all code that reads it.
 */
export function serverClassesOf(app: Express): ServerClasses {
  class AppRequest extends nodeHttp.IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends nodeHttp.ServerResponse<Request> {}
  // Express then sets the prototype that each object has already, which costs nothing.
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
