/** The bare proxy which all others are compared with. */
import { Agent, createServer } from 'node:http';
import httpProxy from 'http-proxy';
import { listenMeasured } from './measured.ts';

const [upstream = ''] = process.argv.slice(2);
const proxy = httpProxy.createProxyServer({ target: upstream, agent: new Agent({ keepAlive: true }) });
// A client that goes takes its request to the backend with it; what is left of the two is no error.
proxy.on('error', (_error, _req, res) => void res.destroy());
listenMeasured(createServer((req, res) => proxy.web(req, res)));
