/** What most people would write: express with http-proxy-middleware. */
import { Agent, createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { listenMeasured } from './measured.ts';

const [upstream = ''] = process.argv.slice(2);
const app = express();
app.use(createProxyMiddleware({ target: upstream, agent: new Agent({ keepAlive: true }) }));
listenMeasured(createServer(app));
