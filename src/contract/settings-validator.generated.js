// Made from schemas/*.json by `npm run types`, with ajv. Not to be edited.
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
"use strict";
export const isSettings = validate10;
const schema11 = {"$schema":"http://json-schema.org/draft-07/schema#","$id":"settings.json","title":"Settings","description":"The environment after each text is read as the type stated here and the defaults are filled in. Required settings have a default.","type":"object","properties":{"HOST":{"description":"The address to listen on. Other machines can reach every address that is not a loopback address.","type":"string","pattern":"^[^\\s/]{1,255}$","default":"127.0.0.1","examples":["127.0.0.1","0.0.0.0","::1"]},"PORT":{"description":"The TCP port to listen on; 0 takes any free one.","type":"integer","minimum":0,"maximum":65535,"default":8080},"PUBLIC_BASE_URL":{"description":"The address under which clients reach the gateway, for the links in its replies. Without it the gateway makes links from the address of the request.","type":"string","examples":["https://gateway.example.com"]},"ALLOWED_HOSTS":{"description":"Further names in the Host header that are served while HOST is a loopback address and neither PUBLIC_BASE_URL nor TRUST_PROXY is set, separated by commas. Local names are always served; others could come from web pages on the internet (DNS rebinding).","type":"array","items":{"type":"string","pattern":"^(?:[\\w.-]+|\\[[0-9A-Fa-f:.]+\\])$","maxLength":255},"maxItems":1000,"default":[],"examples":["gateway.test, my-machine"]},"TRUST_PROXY":{"description":"The proxies in front whose word about the address and the host of the caller is believed: their number, or their addresses and subnets, separated by commas (also loopback, linklocal and uniquelocal). With 0 no proxy is believed.","type":"string","maxLength":4096,"default":"0","examples":["1","loopback, 10.0.0.0/8"]},"UPSTREAM_BASE_URL":{"description":"The base URL of the chat completions backend, with its /v1. Without it an embedded demo backend answers, on loopback only.","type":"string","examples":["https://api.example.com/v1","http://127.0.0.1:8000/v1"]},"BACKENDS_FILE":{"description":"A JSON file that names several backends, in the place of UPSTREAM_BASE_URL, as the guide on several backends shows it. SIGHUP reads it again.","type":"string","minLength":1,"maxLength":4096,"examples":["./backends.json"]},"FAILOVER":{"title":"FailoverPolicy","description":"When a request goes on to another backend of BACKENDS_FILE before any output: safe where nothing can have run (no connection, 429, 503), any also after every other failure of a backend and after its share of FIRST_BYTE_TIMEOUT_MS, which may pay for a generation twice.","enum":["safe","any"],"default":"safe"},"QUEUE_TIMEOUT_MS":{"description":"How long a request waits for a backend of BACKENDS_FILE when all that have its model are at their max_concurrent. Callers take turns.","type":"integer","minimum":1,"maximum":600000,"default":2000},"EXPOSE_UPSTREAM":{"description":"Whether callers are told the name of the backend of BACKENDS_FILE that answers, in the x-upstream header and in their records.","enum":["false","true"],"default":"false"},"UPSTREAM_API_KEY":{"description":"The key that the gateway sends to the backend. It is refused with AUTH_MODE=passthrough, where it would let every stranger in.","type":"string","pattern":"^[\\x21-\\x7e]{1,4096}$","writeOnly":true},"UPSTREAM_DIALECT":{"description":"The kind of backend. Kinds differ in the name of the token limit, the field for reasoning and the order of messages. One of generic, openai, azure, vllm, sglang, llamacpp, ollama, lmstudio, deepseek, moonshot, google, mistral, groq, openrouter, together, or one that DIALECTS_FILE describes.","type":"string","pattern":"^\\S{1,64}$","default":"generic","examples":["vllm","my-backend"]},"DIALECTS_FILE":{"description":"A JSON file with your own kinds of backends. Each one extends a built-in kind.","type":"string","minLength":1,"maxLength":4096,"examples":["./dialects.json"]},"MODEL_ALIASES":{"description":"Other names for the models of the backend, as a JSON object. They hold on both endpoints, and /models lists them.","type":"object","propertyNames":{"minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$"},"additionalProperties":{"type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$"},"maxProperties":1000,"default":{},"examples":["{\"gpt-5\": \"llama-3.3-70b\"}"],"tsType":"Readonly<Record<string, string>>"},"DEFAULT_MODEL_ID":{"description":"The model that the docs, the landing page and the console recommend. It never replaces a missing `model`.","type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$","examples":["llama-3.3-70b"]},"PASSTHROUGH_PATHS":{"description":"More paths that are passed on to the backend unchanged, with everything below them, separated by commas.","type":"array","items":{"type":"string","pattern":"^/v1(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$","maxLength":256},"maxItems":64,"default":[],"examples":["/v1/embeddings, /v1/audio"]},"AUTH_MODE":{"title":"AuthMode","description":"Says what checks the key of the caller: the backend (passthrough), or the gateway, against API_KEYS (static) or the keys that it issues itself, with models, limits and credits (managed).","enum":["passthrough","static","managed"],"default":"passthrough"},"API_KEYS":{"description":"The keys that AUTH_MODE=static accepts, separated by commas or white space.","type":"array","items":{"type":"string","pattern":"^[\\x21-\\x7e]+$","maxLength":512},"maxItems":10000,"default":[],"writeOnly":true},"API_KEYS_FILE":{"description":"A file with more keys for AUTH_MODE=static, one on each line. A line that begins with # is a comment.","type":"string","minLength":1,"examples":["/run/secrets/api-keys"]},"ADMIN_TOKEN":{"description":"The bearer token of the admin API at /admin/v1, which manages the keys and shows the backends. At least 16 characters. Without it there is no such path.","type":"string","pattern":"^[\\x21-\\x7e]{16,4096}$","minLength":16,"writeOnly":true},"CORS_ORIGINS":{"description":"The origins of web pages that may call the gateway, separated by commas. * stands for all. Browsers send no cookies with such calls.","type":"array","items":{"type":"string","pattern":"^(?:\\*|[a-z][a-z0-9+.-]*://(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?)$","maxLength":512},"maxItems":1000,"default":[],"examples":["https://app.example.com, http://localhost:3000","*"]},"DATABASE_URL":{"description":"The database for records, keys and ledgers: file: and a path, :memory: for as long as the process lives, or postgres:// and a server, which several gateways can share.","type":"string","pattern":"^(?::memory:|file:(?!//(?!/))[^:?#][^?#]*(?<!/)|postgres(?:ql)?://\\S+)$","maxLength":4096,"default":"file:./data/gateway.db","examples":["file:./data/gateway.db",":memory:","postgres://gateway:password@db.example.com/gateway"]},"DATABASE_POOL_SIZE":{"description":"The most connections to PostgreSQL that each process opens. One of them writes, and the others read.","type":"integer","minimum":2,"maximum":100,"default":5},"WORKERS":{"description":"The number of processes that share the port. With more than one, a first process keeps the records and restarts the others when they die. More than one per core does not help.","type":"integer","minimum":1,"maximum":64,"default":1},"GATEWAY_SECRET":{"description":"The secret that hashes keys and bodies, and seals reasoning. At least 16 characters. Without it the gateway makes one and keeps it beside the database. With PostgreSQL you must set it, to the same value for all gateways. The database knows its secret: a start with another one is refused.","type":"string","minLength":16,"maxLength":4096,"writeOnly":true},"GATEWAY_SECRET_PREVIOUS":{"description":"The secret before the present one. Set it while you change the secret, so that older records and seals can still be read. If several gateways share a database, first set the next secret here on all of them.","type":"string","minLength":16,"maxLength":4096,"writeOnly":true},"RECORD_RETENTION_DAYS":{"description":"How long a record is kept after its request has ended, in days.","type":"integer","minimum":1,"maximum":36500,"default":30},"DEFAULT_GROUP":{"description":"The name of the group of new keys that name no other, with AUTH_MODE=managed.","type":"string","minLength":1,"maxLength":100,"pattern":"^\\P{Cc}+$","examples":["default"]},"PRICES_FILE":{"description":"A JSON file with the prices of the models, as the guide on managed keys shows it. SIGHUP reads it again.","type":"string","minLength":1,"maxLength":4096,"examples":["./prices.json"]},"MODELS_FILE":{"description":"A JSON file with defaults and overrides of parameters for each model, and what the model takes, as the guide on operation shows it. SIGHUP reads it again.","type":"string","minLength":1,"maxLength":4096,"examples":["./models.json"]},"DEFAULT_MAX_OUTPUT_TOKENS":{"description":"How many tokens of output are reserved for a request that names no limit. For keys with credits, a spend limit or tokens per minute the backend is told this limit, so it cuts longer answers.","type":"integer","minimum":1,"maximum":1000000000,"default":4096},"COMPACTION_MODEL":{"description":"The model that writes the summaries of compactions, by the name that callers use. Without it the model of the request does.","type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$","examples":["llama-3.3-70b"]},"COMPACTION_MAX_OUTPUT_TOKENS":{"description":"The most tokens of output for a summary, the thoughts of the model included.","type":"integer","minimum":16,"maximum":131072,"default":4096},"HOSTED_TOOLS":{"title":"HostedToolsPolicy","description":"What happens to tools that only a server can execute, such as web_search: drop leaves them out and names them in the x-dropped-tools header, reject refuses the request.","enum":["drop","reject"],"default":"drop"},"HISTORY":{"title":"HistoryPolicy","description":"What happens to items of the input that no model can be told of: keep leaves them out, names them in the x-dropped-items header and keeps the rest, reject refuses the request.","enum":["keep","reject"],"default":"keep"},"IMAGE_URLS":{"title":"ImageUrlPolicy","description":"Which URLs of images, files and audio a request to the Responses endpoint may have, since the backend fetches them: any, those of public hosts over https and data: URLs (https-public), or data: URLs alone (data). The network of the backend must stop a public name that leads to a private address.","enum":["any","https-public","data"],"default":"any"},"REASONING_OUTPUT":{"title":"ReasoningOutput","description":"How the reasoning of the backend is shown: as summary, as content, or hidden. Hidden reasoning travels sealed if the backend takes it back.","enum":["summary","content","hidden"],"default":"summary"},"ITEM_MEMORY_TTL_S":{"description":"How long this process remembers the items of a reply for clients that send references to them (item_reference), in seconds. 0 remembers nothing. It needs WORKERS=1, since another process does not know the items.","type":"integer","minimum":0,"maximum":604800,"default":0},"MAX_BODY_BYTES":{"description":"The largest request body after decompression, in bytes.","type":"integer","minimum":1,"maximum":268435456,"default":33554432},"MAX_BODY_BYTES_IN_FLIGHT":{"description":"The most bytes that the bodies of all running requests may have together, after decompression. The answers of clients that do not read count too. A request beyond it gets 503 server_overloaded.","type":"integer","minimum":1,"maximum":1099511627776,"default":536870912},"MAX_CONCURRENT_REQUESTS":{"description":"The most requests that may run at once. One caller alone may have three quarters of them. A request beyond it gets 503 server_overloaded, or 429 concurrency_limit_exceeded.","type":"integer","minimum":1,"maximum":1000000,"default":2000},"CALLER_SHARE":{"description":"The most that one caller may have of what all callers share (requests at once, bytes of bodies, WebSockets), in percent. 100 sets no limit beyond the shares that the guide on limits describes.","type":"integer","minimum":1,"maximum":100,"default":100},"MAX_REQUESTS_PER_SOCKET":{"description":"The number of requests after which a connection is closed, so that clients spread over the gateways behind a load balancer. 0 means never.","type":"integer","minimum":0,"maximum":1000000000,"default":0},"MAX_WEBSOCKETS":{"description":"The most WebSockets that may be open at once, idle ones included. A handshake beyond it gets 503 with Retry-After.","type":"integer","minimum":0,"maximum":1000000,"default":2000},"WEBSOCKET_IDLE_TIMEOUT_MS":{"description":"How long a WebSocket may be without a request before it is closed, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":600000},"WEBSOCKET_MAX_AGE_MS":{"description":"How old a WebSocket may become, in milliseconds. It then gets websocket_connection_limit_reached, and is closed when the running response ends.","type":"integer","minimum":1,"maximum":86400000,"default":3600000},"CONNECT_TIMEOUT_MS":{"description":"How long a connection to the backend may take, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":5000},"FIRST_BYTE_TIMEOUT_MS":{"description":"How long the backend may take to begin its answer, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":600000},"IDLE_TIMEOUT_MS":{"description":"How long the backend may be silent in the middle of its answer, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":300000},"HEADER_HOLD_MS":{"description":"How long the headers of a stream wait for its first event, in milliseconds. A failure until then is an ordinary HTTP error.","type":"integer","minimum":0,"maximum":86400000,"default":10000},"KEEPALIVE_COMMENT_MS":{"description":"How long a stream may be silent before it gets a comment line, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":15000},"KEEPALIVE_EVENT_MS":{"description":"How long a stream may be silent before it gets response.in_progress again, in milliseconds.","type":"integer","minimum":1,"maximum":86400000,"default":60000},"DRAIN_DELAY_MS":{"description":"How long after SIGTERM requests are still taken, while /readyz is 503 already, in milliseconds. Set it to what a load balancer needs to see that, such as 5000. 0 refuses new requests at once.","type":"integer","minimum":0,"maximum":86400000,"default":0},"SETTLE_TIMEOUT_MS":{"description":"How long the end of a reply waits until its record is final on disk, in milliseconds. If the database takes longer, the reply goes out and the record follows.","type":"integer","minimum":100,"maximum":600000,"default":1000},"DUPLICATE_STATUS":{"description":"The status of the reply to a repeated Idempotency-Key. With 409 SDKs throw an error. With 200 or 202 the record comes without an error, and SDKs take it for a response without text.","type":"integer","enum":[409,200,202],"default":409},"DRAIN_TIMEOUT_MS":{"description":"How long running requests may go on after SIGTERM and DRAIN_DELAY_MS, in milliseconds.","type":"integer","minimum":0,"maximum":86400000,"default":30000},"TOKEN_COUNT_TIMEOUT_MS":{"description":"How long a count of input tokens may take, in milliseconds. A longer one is replaced by an estimate by arithmetic; 0 always estimates. The first count loads a vocabulary, which takes about a second, and 70 MB until a minute has passed without another count.","type":"integer","minimum":0,"maximum":60000,"default":3000},"LOG_LEVEL":{"title":"LogLevel","description":"The least severe log lines that are written.","enum":["fatal","error","warn","info","debug","trace","silent"],"default":"info"},"LOG_FORMAT":{"title":"LogFormat","description":"How log lines are written: pretty for people, json for programs. auto is pretty in a terminal and json elsewhere, and with NODE_ENV=production.","enum":["auto","json","pretty"],"default":"auto"},"METRICS_TOKEN":{"description":"The bearer token of /metrics. At least 16 characters. Without it, metrics are served on METRICS_PORT only.","type":"string","minLength":16,"pattern":"^[\\x21-\\x7e]{16,4096}$","writeOnly":true},"METRICS_PORT":{"description":"A TCP port that serves /metrics alone; they are then not served beside the API. 0 takes any free port.","type":"integer","minimum":0,"maximum":65535},"METRICS_HOST":{"description":"The address that METRICS_PORT listens on. An address that is not a loopback address needs METRICS_TOKEN.","type":"string","pattern":"^[^\\s/]{1,255}$","default":"127.0.0.1","examples":["127.0.0.1","0.0.0.0"]},"ALERT_WEBHOOK_URL":{"description":"Where alerts are posted, as the guide on alerts says: an https:// URL of the public internet, or one that ALERT_WEBHOOK_PRIVATE allows.","type":"string","pattern":"^https?://[^\\s\\\\]{1,4000}$","examples":["https://hooks.example.com/gateway"],"writeOnly":true},"ALERT_WEBHOOK_SECRET":{"description":"The secret that signs alerts: whsec_ and at least 24 random bytes in base64. Required with ALERT_WEBHOOK_URL.","type":"string","pattern":"^[\\x21-\\x7e]{1,400}$","writeOnly":true},"ALERT_WEBHOOK_PRIVATE":{"description":"Whether ALERT_WEBHOOK_URL may lead to a private address, and begin with http:// there.","enum":["false","true"],"default":"false"},"ALERT_THRESHOLDS":{"description":"The shares of credits and of spend limits, in percent, that are told once each.","type":"string","pattern":"^(?:100|[1-9]\\d?)(?:\\s*,\\s*(?:100|[1-9]\\d?)){0,9}$","default":"80, 95, 100","examples":["80, 95, 100"]},"NODE_ENV":{"description":"The kind of environment. With production only the command demo starts the demo backend.","type":"string","maxLength":64,"examples":["production"]}},"required":["HOST","PORT","ALLOWED_HOSTS","TRUST_PROXY","FAILOVER","QUEUE_TIMEOUT_MS","EXPOSE_UPSTREAM","UPSTREAM_DIALECT","MODEL_ALIASES","PASSTHROUGH_PATHS","AUTH_MODE","API_KEYS","CORS_ORIGINS","DATABASE_URL","DATABASE_POOL_SIZE","WORKERS","RECORD_RETENTION_DAYS","DEFAULT_MAX_OUTPUT_TOKENS","COMPACTION_MAX_OUTPUT_TOKENS","HOSTED_TOOLS","HISTORY","IMAGE_URLS","REASONING_OUTPUT","ITEM_MEMORY_TTL_S","MAX_BODY_BYTES","MAX_BODY_BYTES_IN_FLIGHT","MAX_CONCURRENT_REQUESTS","CALLER_SHARE","MAX_REQUESTS_PER_SOCKET","MAX_WEBSOCKETS","WEBSOCKET_IDLE_TIMEOUT_MS","WEBSOCKET_MAX_AGE_MS","CONNECT_TIMEOUT_MS","FIRST_BYTE_TIMEOUT_MS","IDLE_TIMEOUT_MS","HEADER_HOLD_MS","KEEPALIVE_COMMENT_MS","KEEPALIVE_EVENT_MS","DRAIN_DELAY_MS","SETTLE_TIMEOUT_MS","DUPLICATE_STATUS","DRAIN_TIMEOUT_MS","TOKEN_COUNT_TIMEOUT_MS","LOG_LEVEL","LOG_FORMAT","METRICS_HOST","ALERT_WEBHOOK_PRIVATE","ALERT_THRESHOLDS"]};
const pattern0 = new RegExp("^[^\\s/]{1,255}$", "u");
const pattern1 = new RegExp("^(?:[\\w.-]+|\\[[0-9A-Fa-f:.]+\\])$", "u");
const pattern2 = new RegExp("^[\\x21-\\x7e]{1,4096}$", "u");
const pattern3 = new RegExp("^\\S{1,64}$", "u");
const pattern4 = new RegExp("^\\P{Cc}+$", "u");
const pattern7 = new RegExp("^/v1(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$", "u");
const pattern8 = new RegExp("^[\\x21-\\x7e]+$", "u");
const pattern9 = new RegExp("^[\\x21-\\x7e]{16,4096}$", "u");
const pattern10 = new RegExp("^(?:\\*|[a-z][a-z0-9+.-]*://(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?)$", "u");
const pattern11 = new RegExp("^(?::memory:|file:(?!//(?!/))[^:?#][^?#]*(?<!/)|postgres(?:ql)?://\\S+)$", "u");
const pattern16 = new RegExp("^https?://[^\\s\\\\]{1,4000}$", "u");
const pattern17 = new RegExp("^[\\x21-\\x7e]{1,400}$", "u");
const pattern18 = new RegExp("^(?:100|[1-9]\\d?)(?:\\s*,\\s*(?:100|[1-9]\\d?)){0,9}$", "u");
const func2 = ucs2length.default;

function validate10(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
/*# sourceURL="settings.json" */;
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.HOST === undefined){
data.HOST = "127.0.0.1";
}
if(data.PORT === undefined){
data.PORT = 8080;
}
if(data.ALLOWED_HOSTS === undefined){
data.ALLOWED_HOSTS = [];
}
if(data.TRUST_PROXY === undefined){
data.TRUST_PROXY = "0";
}
if(data.FAILOVER === undefined){
data.FAILOVER = "safe";
}
if(data.QUEUE_TIMEOUT_MS === undefined){
data.QUEUE_TIMEOUT_MS = 2000;
}
if(data.EXPOSE_UPSTREAM === undefined){
data.EXPOSE_UPSTREAM = "false";
}
if(data.UPSTREAM_DIALECT === undefined){
data.UPSTREAM_DIALECT = "generic";
}
if(data.MODEL_ALIASES === undefined){
data.MODEL_ALIASES = {};
}
if(data.PASSTHROUGH_PATHS === undefined){
data.PASSTHROUGH_PATHS = [];
}
if(data.AUTH_MODE === undefined){
data.AUTH_MODE = "passthrough";
}
if(data.API_KEYS === undefined){
data.API_KEYS = [];
}
if(data.CORS_ORIGINS === undefined){
data.CORS_ORIGINS = [];
}
if(data.DATABASE_URL === undefined){
data.DATABASE_URL = "file:./data/gateway.db";
}
if(data.DATABASE_POOL_SIZE === undefined){
data.DATABASE_POOL_SIZE = 5;
}
if(data.WORKERS === undefined){
data.WORKERS = 1;
}
if(data.RECORD_RETENTION_DAYS === undefined){
data.RECORD_RETENTION_DAYS = 30;
}
if(data.DEFAULT_MAX_OUTPUT_TOKENS === undefined){
data.DEFAULT_MAX_OUTPUT_TOKENS = 4096;
}
if(data.COMPACTION_MAX_OUTPUT_TOKENS === undefined){
data.COMPACTION_MAX_OUTPUT_TOKENS = 4096;
}
if(data.HOSTED_TOOLS === undefined){
data.HOSTED_TOOLS = "drop";
}
if(data.HISTORY === undefined){
data.HISTORY = "keep";
}
if(data.IMAGE_URLS === undefined){
data.IMAGE_URLS = "any";
}
if(data.REASONING_OUTPUT === undefined){
data.REASONING_OUTPUT = "summary";
}
if(data.ITEM_MEMORY_TTL_S === undefined){
data.ITEM_MEMORY_TTL_S = 0;
}
if(data.MAX_BODY_BYTES === undefined){
data.MAX_BODY_BYTES = 33554432;
}
if(data.MAX_BODY_BYTES_IN_FLIGHT === undefined){
data.MAX_BODY_BYTES_IN_FLIGHT = 536870912;
}
if(data.MAX_CONCURRENT_REQUESTS === undefined){
data.MAX_CONCURRENT_REQUESTS = 2000;
}
if(data.CALLER_SHARE === undefined){
data.CALLER_SHARE = 100;
}
if(data.MAX_REQUESTS_PER_SOCKET === undefined){
data.MAX_REQUESTS_PER_SOCKET = 0;
}
if(data.MAX_WEBSOCKETS === undefined){
data.MAX_WEBSOCKETS = 2000;
}
if(data.WEBSOCKET_IDLE_TIMEOUT_MS === undefined){
data.WEBSOCKET_IDLE_TIMEOUT_MS = 600000;
}
if(data.WEBSOCKET_MAX_AGE_MS === undefined){
data.WEBSOCKET_MAX_AGE_MS = 3600000;
}
if(data.CONNECT_TIMEOUT_MS === undefined){
data.CONNECT_TIMEOUT_MS = 5000;
}
if(data.FIRST_BYTE_TIMEOUT_MS === undefined){
data.FIRST_BYTE_TIMEOUT_MS = 600000;
}
if(data.IDLE_TIMEOUT_MS === undefined){
data.IDLE_TIMEOUT_MS = 300000;
}
if(data.HEADER_HOLD_MS === undefined){
data.HEADER_HOLD_MS = 10000;
}
if(data.KEEPALIVE_COMMENT_MS === undefined){
data.KEEPALIVE_COMMENT_MS = 15000;
}
if(data.KEEPALIVE_EVENT_MS === undefined){
data.KEEPALIVE_EVENT_MS = 60000;
}
if(data.DRAIN_DELAY_MS === undefined){
data.DRAIN_DELAY_MS = 0;
}
if(data.SETTLE_TIMEOUT_MS === undefined){
data.SETTLE_TIMEOUT_MS = 1000;
}
if(data.DUPLICATE_STATUS === undefined){
data.DUPLICATE_STATUS = 409;
}
if(data.DRAIN_TIMEOUT_MS === undefined){
data.DRAIN_TIMEOUT_MS = 30000;
}
if(data.TOKEN_COUNT_TIMEOUT_MS === undefined){
data.TOKEN_COUNT_TIMEOUT_MS = 3000;
}
if(data.LOG_LEVEL === undefined){
data.LOG_LEVEL = "info";
}
if(data.LOG_FORMAT === undefined){
data.LOG_FORMAT = "auto";
}
if(data.METRICS_HOST === undefined){
data.METRICS_HOST = "127.0.0.1";
}
if(data.ALERT_WEBHOOK_PRIVATE === undefined){
data.ALERT_WEBHOOK_PRIVATE = "false";
}
if(data.ALERT_THRESHOLDS === undefined){
data.ALERT_THRESHOLDS = "80, 95, 100";
}
if(data.HOST === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "HOST"},message:"must have required property '"+"HOST"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.PORT === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "PORT"},message:"must have required property '"+"PORT"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.ALLOWED_HOSTS === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "ALLOWED_HOSTS"},message:"must have required property '"+"ALLOWED_HOSTS"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.TRUST_PROXY === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "TRUST_PROXY"},message:"must have required property '"+"TRUST_PROXY"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.FAILOVER === undefined){
const err4 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "FAILOVER"},message:"must have required property '"+"FAILOVER"+"'"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(data.QUEUE_TIMEOUT_MS === undefined){
const err5 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "QUEUE_TIMEOUT_MS"},message:"must have required property '"+"QUEUE_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data.EXPOSE_UPSTREAM === undefined){
const err6 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "EXPOSE_UPSTREAM"},message:"must have required property '"+"EXPOSE_UPSTREAM"+"'"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data.UPSTREAM_DIALECT === undefined){
const err7 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "UPSTREAM_DIALECT"},message:"must have required property '"+"UPSTREAM_DIALECT"+"'"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data.MODEL_ALIASES === undefined){
const err8 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MODEL_ALIASES"},message:"must have required property '"+"MODEL_ALIASES"+"'"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data.PASSTHROUGH_PATHS === undefined){
const err9 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "PASSTHROUGH_PATHS"},message:"must have required property '"+"PASSTHROUGH_PATHS"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data.AUTH_MODE === undefined){
const err10 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "AUTH_MODE"},message:"must have required property '"+"AUTH_MODE"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data.API_KEYS === undefined){
const err11 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "API_KEYS"},message:"must have required property '"+"API_KEYS"+"'"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data.CORS_ORIGINS === undefined){
const err12 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "CORS_ORIGINS"},message:"must have required property '"+"CORS_ORIGINS"+"'"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data.DATABASE_URL === undefined){
const err13 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DATABASE_URL"},message:"must have required property '"+"DATABASE_URL"+"'"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if(data.DATABASE_POOL_SIZE === undefined){
const err14 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DATABASE_POOL_SIZE"},message:"must have required property '"+"DATABASE_POOL_SIZE"+"'"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
if(data.WORKERS === undefined){
const err15 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "WORKERS"},message:"must have required property '"+"WORKERS"+"'"};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
if(data.RECORD_RETENTION_DAYS === undefined){
const err16 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "RECORD_RETENTION_DAYS"},message:"must have required property '"+"RECORD_RETENTION_DAYS"+"'"};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if(data.DEFAULT_MAX_OUTPUT_TOKENS === undefined){
const err17 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DEFAULT_MAX_OUTPUT_TOKENS"},message:"must have required property '"+"DEFAULT_MAX_OUTPUT_TOKENS"+"'"};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if(data.COMPACTION_MAX_OUTPUT_TOKENS === undefined){
const err18 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "COMPACTION_MAX_OUTPUT_TOKENS"},message:"must have required property '"+"COMPACTION_MAX_OUTPUT_TOKENS"+"'"};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
if(data.HOSTED_TOOLS === undefined){
const err19 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "HOSTED_TOOLS"},message:"must have required property '"+"HOSTED_TOOLS"+"'"};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if(data.HISTORY === undefined){
const err20 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "HISTORY"},message:"must have required property '"+"HISTORY"+"'"};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
if(data.IMAGE_URLS === undefined){
const err21 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "IMAGE_URLS"},message:"must have required property '"+"IMAGE_URLS"+"'"};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
if(data.REASONING_OUTPUT === undefined){
const err22 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "REASONING_OUTPUT"},message:"must have required property '"+"REASONING_OUTPUT"+"'"};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(data.ITEM_MEMORY_TTL_S === undefined){
const err23 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "ITEM_MEMORY_TTL_S"},message:"must have required property '"+"ITEM_MEMORY_TTL_S"+"'"};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
if(data.MAX_BODY_BYTES === undefined){
const err24 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MAX_BODY_BYTES"},message:"must have required property '"+"MAX_BODY_BYTES"+"'"};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
if(data.MAX_BODY_BYTES_IN_FLIGHT === undefined){
const err25 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MAX_BODY_BYTES_IN_FLIGHT"},message:"must have required property '"+"MAX_BODY_BYTES_IN_FLIGHT"+"'"};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
if(data.MAX_CONCURRENT_REQUESTS === undefined){
const err26 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MAX_CONCURRENT_REQUESTS"},message:"must have required property '"+"MAX_CONCURRENT_REQUESTS"+"'"};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
if(data.CALLER_SHARE === undefined){
const err27 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "CALLER_SHARE"},message:"must have required property '"+"CALLER_SHARE"+"'"};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
if(data.MAX_REQUESTS_PER_SOCKET === undefined){
const err28 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MAX_REQUESTS_PER_SOCKET"},message:"must have required property '"+"MAX_REQUESTS_PER_SOCKET"+"'"};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
if(data.MAX_WEBSOCKETS === undefined){
const err29 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "MAX_WEBSOCKETS"},message:"must have required property '"+"MAX_WEBSOCKETS"+"'"};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
if(data.WEBSOCKET_IDLE_TIMEOUT_MS === undefined){
const err30 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "WEBSOCKET_IDLE_TIMEOUT_MS"},message:"must have required property '"+"WEBSOCKET_IDLE_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
if(data.WEBSOCKET_MAX_AGE_MS === undefined){
const err31 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "WEBSOCKET_MAX_AGE_MS"},message:"must have required property '"+"WEBSOCKET_MAX_AGE_MS"+"'"};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
if(data.CONNECT_TIMEOUT_MS === undefined){
const err32 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "CONNECT_TIMEOUT_MS"},message:"must have required property '"+"CONNECT_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
if(data.FIRST_BYTE_TIMEOUT_MS === undefined){
const err33 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "FIRST_BYTE_TIMEOUT_MS"},message:"must have required property '"+"FIRST_BYTE_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
if(data.IDLE_TIMEOUT_MS === undefined){
const err34 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "IDLE_TIMEOUT_MS"},message:"must have required property '"+"IDLE_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
if(data.HEADER_HOLD_MS === undefined){
const err35 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "HEADER_HOLD_MS"},message:"must have required property '"+"HEADER_HOLD_MS"+"'"};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
if(data.KEEPALIVE_COMMENT_MS === undefined){
const err36 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "KEEPALIVE_COMMENT_MS"},message:"must have required property '"+"KEEPALIVE_COMMENT_MS"+"'"};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
if(data.KEEPALIVE_EVENT_MS === undefined){
const err37 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "KEEPALIVE_EVENT_MS"},message:"must have required property '"+"KEEPALIVE_EVENT_MS"+"'"};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
if(data.DRAIN_DELAY_MS === undefined){
const err38 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DRAIN_DELAY_MS"},message:"must have required property '"+"DRAIN_DELAY_MS"+"'"};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
if(data.SETTLE_TIMEOUT_MS === undefined){
const err39 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "SETTLE_TIMEOUT_MS"},message:"must have required property '"+"SETTLE_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
if(data.DUPLICATE_STATUS === undefined){
const err40 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DUPLICATE_STATUS"},message:"must have required property '"+"DUPLICATE_STATUS"+"'"};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
if(data.DRAIN_TIMEOUT_MS === undefined){
const err41 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "DRAIN_TIMEOUT_MS"},message:"must have required property '"+"DRAIN_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
if(data.TOKEN_COUNT_TIMEOUT_MS === undefined){
const err42 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "TOKEN_COUNT_TIMEOUT_MS"},message:"must have required property '"+"TOKEN_COUNT_TIMEOUT_MS"+"'"};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
if(data.LOG_LEVEL === undefined){
const err43 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "LOG_LEVEL"},message:"must have required property '"+"LOG_LEVEL"+"'"};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
if(data.LOG_FORMAT === undefined){
const err44 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "LOG_FORMAT"},message:"must have required property '"+"LOG_FORMAT"+"'"};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
if(data.METRICS_HOST === undefined){
const err45 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "METRICS_HOST"},message:"must have required property '"+"METRICS_HOST"+"'"};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if(data.ALERT_WEBHOOK_PRIVATE === undefined){
const err46 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "ALERT_WEBHOOK_PRIVATE"},message:"must have required property '"+"ALERT_WEBHOOK_PRIVATE"+"'"};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
if(data.ALERT_THRESHOLDS === undefined){
const err47 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "ALERT_THRESHOLDS"},message:"must have required property '"+"ALERT_THRESHOLDS"+"'"};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
let data0 = data.HOST;
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err48 = {instancePath:instancePath+"/HOST",schemaPath:"#/properties/HOST/pattern",keyword:"pattern",params:{pattern: "^[^\\s/]{1,255}$"},message:"must match pattern \""+"^[^\\s/]{1,255}$"+"\""};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
}
else {
const err49 = {instancePath:instancePath+"/HOST",schemaPath:"#/properties/HOST/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
let data1 = data.PORT;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err50 = {instancePath:instancePath+"/PORT",schemaPath:"#/properties/PORT/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 65535 || isNaN(data1)){
const err51 = {instancePath:instancePath+"/PORT",schemaPath:"#/properties/PORT/maximum",keyword:"maximum",params:{comparison: "<=", limit: 65535},message:"must be <= 65535"};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
if(data1 < 0 || isNaN(data1)){
const err52 = {instancePath:instancePath+"/PORT",schemaPath:"#/properties/PORT/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(data.PUBLIC_BASE_URL !== undefined){
if(typeof data.PUBLIC_BASE_URL !== "string"){
const err53 = {instancePath:instancePath+"/PUBLIC_BASE_URL",schemaPath:"#/properties/PUBLIC_BASE_URL/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
let data3 = data.ALLOWED_HOSTS;
if(Array.isArray(data3)){
if(data3.length > 1000){
const err54 = {instancePath:instancePath+"/ALLOWED_HOSTS",schemaPath:"#/properties/ALLOWED_HOSTS/maxItems",keyword:"maxItems",params:{limit: 1000},message:"must NOT have more than 1000 items"};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
if(typeof data4 === "string"){
if(func2(data4) > 255){
const err55 = {instancePath:instancePath+"/ALLOWED_HOSTS/" + i0,schemaPath:"#/properties/ALLOWED_HOSTS/items/maxLength",keyword:"maxLength",params:{limit: 255},message:"must NOT have more than 255 characters"};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
if(!pattern1.test(data4)){
const err56 = {instancePath:instancePath+"/ALLOWED_HOSTS/" + i0,schemaPath:"#/properties/ALLOWED_HOSTS/items/pattern",keyword:"pattern",params:{pattern: "^(?:[\\w.-]+|\\[[0-9A-Fa-f:.]+\\])$"},message:"must match pattern \""+"^(?:[\\w.-]+|\\[[0-9A-Fa-f:.]+\\])$"+"\""};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
else {
const err57 = {instancePath:instancePath+"/ALLOWED_HOSTS/" + i0,schemaPath:"#/properties/ALLOWED_HOSTS/items/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
}
}
else {
const err58 = {instancePath:instancePath+"/ALLOWED_HOSTS",schemaPath:"#/properties/ALLOWED_HOSTS/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
let data5 = data.TRUST_PROXY;
if(typeof data5 === "string"){
if(func2(data5) > 4096){
const err59 = {instancePath:instancePath+"/TRUST_PROXY",schemaPath:"#/properties/TRUST_PROXY/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
}
else {
const err60 = {instancePath:instancePath+"/TRUST_PROXY",schemaPath:"#/properties/TRUST_PROXY/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
if(data.UPSTREAM_BASE_URL !== undefined){
if(typeof data.UPSTREAM_BASE_URL !== "string"){
const err61 = {instancePath:instancePath+"/UPSTREAM_BASE_URL",schemaPath:"#/properties/UPSTREAM_BASE_URL/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
}
if(data.BACKENDS_FILE !== undefined){
let data7 = data.BACKENDS_FILE;
if(typeof data7 === "string"){
if(func2(data7) > 4096){
const err62 = {instancePath:instancePath+"/BACKENDS_FILE",schemaPath:"#/properties/BACKENDS_FILE/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
if(func2(data7) < 1){
const err63 = {instancePath:instancePath+"/BACKENDS_FILE",schemaPath:"#/properties/BACKENDS_FILE/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
}
else {
const err64 = {instancePath:instancePath+"/BACKENDS_FILE",schemaPath:"#/properties/BACKENDS_FILE/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
}
let data8 = data.FAILOVER;
if(!((data8 === "safe") || (data8 === "any"))){
const err65 = {instancePath:instancePath+"/FAILOVER",schemaPath:"#/properties/FAILOVER/enum",keyword:"enum",params:{allowedValues: schema11.properties.FAILOVER.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
let data9 = data.QUEUE_TIMEOUT_MS;
if(!(((typeof data9 == "number") && (!(data9 % 1) && !isNaN(data9))) && (isFinite(data9)))){
const err66 = {instancePath:instancePath+"/QUEUE_TIMEOUT_MS",schemaPath:"#/properties/QUEUE_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
if((typeof data9 == "number") && (isFinite(data9))){
if(data9 > 600000 || isNaN(data9)){
const err67 = {instancePath:instancePath+"/QUEUE_TIMEOUT_MS",schemaPath:"#/properties/QUEUE_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 600000},message:"must be <= 600000"};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
if(data9 < 1 || isNaN(data9)){
const err68 = {instancePath:instancePath+"/QUEUE_TIMEOUT_MS",schemaPath:"#/properties/QUEUE_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
}
let data10 = data.EXPOSE_UPSTREAM;
if(!((data10 === "false") || (data10 === "true"))){
const err69 = {instancePath:instancePath+"/EXPOSE_UPSTREAM",schemaPath:"#/properties/EXPOSE_UPSTREAM/enum",keyword:"enum",params:{allowedValues: schema11.properties.EXPOSE_UPSTREAM.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
if(data.UPSTREAM_API_KEY !== undefined){
let data11 = data.UPSTREAM_API_KEY;
if(typeof data11 === "string"){
if(!pattern2.test(data11)){
const err70 = {instancePath:instancePath+"/UPSTREAM_API_KEY",schemaPath:"#/properties/UPSTREAM_API_KEY/pattern",keyword:"pattern",params:{pattern: "^[\\x21-\\x7e]{1,4096}$"},message:"must match pattern \""+"^[\\x21-\\x7e]{1,4096}$"+"\""};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
}
else {
const err71 = {instancePath:instancePath+"/UPSTREAM_API_KEY",schemaPath:"#/properties/UPSTREAM_API_KEY/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
}
let data12 = data.UPSTREAM_DIALECT;
if(typeof data12 === "string"){
if(!pattern3.test(data12)){
const err72 = {instancePath:instancePath+"/UPSTREAM_DIALECT",schemaPath:"#/properties/UPSTREAM_DIALECT/pattern",keyword:"pattern",params:{pattern: "^\\S{1,64}$"},message:"must match pattern \""+"^\\S{1,64}$"+"\""};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
}
}
else {
const err73 = {instancePath:instancePath+"/UPSTREAM_DIALECT",schemaPath:"#/properties/UPSTREAM_DIALECT/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
if(data.DIALECTS_FILE !== undefined){
let data13 = data.DIALECTS_FILE;
if(typeof data13 === "string"){
if(func2(data13) > 4096){
const err74 = {instancePath:instancePath+"/DIALECTS_FILE",schemaPath:"#/properties/DIALECTS_FILE/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
if(func2(data13) < 1){
const err75 = {instancePath:instancePath+"/DIALECTS_FILE",schemaPath:"#/properties/DIALECTS_FILE/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
else {
const err76 = {instancePath:instancePath+"/DIALECTS_FILE",schemaPath:"#/properties/DIALECTS_FILE/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
}
}
let data14 = data.MODEL_ALIASES;
if(data14 && typeof data14 == "object" && !Array.isArray(data14)){
if(Object.keys(data14).length > 1000){
const err77 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/maxProperties",keyword:"maxProperties",params:{limit: 1000},message:"must NOT have more than 1000 properties"};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
for(const key0 in data14){
const _errs29 = errors;
if(typeof key0 === "string"){
if(func2(key0) > 256){
const err78 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/propertyNames/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",propertyName:key0};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
if(func2(key0) < 1){
const err79 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",propertyName:key0};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
if(!pattern4.test(key0)){
const err80 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/propertyNames/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\"",propertyName:key0};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
}
var valid3 = _errs29 === errors;
if(!valid3){
const err81 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/propertyNames",keyword:"propertyNames",params:{propertyName: key0},message:"property name must be valid"};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
}
for(const key1 in data14){
let data15 = data14[key1];
if(typeof data15 === "string"){
if(func2(data15) > 256){
const err82 = {instancePath:instancePath+"/MODEL_ALIASES/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/MODEL_ALIASES/additionalProperties/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters"};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
if(func2(data15) < 1){
const err83 = {instancePath:instancePath+"/MODEL_ALIASES/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/MODEL_ALIASES/additionalProperties/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
}
if(!pattern4.test(data15)){
const err84 = {instancePath:instancePath+"/MODEL_ALIASES/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/MODEL_ALIASES/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\""};
if(vErrors === null){
vErrors = [err84];
}
else {
vErrors.push(err84);
}
errors++;
}
}
else {
const err85 = {instancePath:instancePath+"/MODEL_ALIASES/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/MODEL_ALIASES/additionalProperties/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err85];
}
else {
vErrors.push(err85);
}
errors++;
}
}
}
else {
const err86 = {instancePath:instancePath+"/MODEL_ALIASES",schemaPath:"#/properties/MODEL_ALIASES/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err86];
}
else {
vErrors.push(err86);
}
errors++;
}
if(data.DEFAULT_MODEL_ID !== undefined){
let data16 = data.DEFAULT_MODEL_ID;
if(typeof data16 === "string"){
if(func2(data16) > 256){
const err87 = {instancePath:instancePath+"/DEFAULT_MODEL_ID",schemaPath:"#/properties/DEFAULT_MODEL_ID/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters"};
if(vErrors === null){
vErrors = [err87];
}
else {
vErrors.push(err87);
}
errors++;
}
if(func2(data16) < 1){
const err88 = {instancePath:instancePath+"/DEFAULT_MODEL_ID",schemaPath:"#/properties/DEFAULT_MODEL_ID/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err88];
}
else {
vErrors.push(err88);
}
errors++;
}
if(!pattern4.test(data16)){
const err89 = {instancePath:instancePath+"/DEFAULT_MODEL_ID",schemaPath:"#/properties/DEFAULT_MODEL_ID/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\""};
if(vErrors === null){
vErrors = [err89];
}
else {
vErrors.push(err89);
}
errors++;
}
}
else {
const err90 = {instancePath:instancePath+"/DEFAULT_MODEL_ID",schemaPath:"#/properties/DEFAULT_MODEL_ID/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err90];
}
else {
vErrors.push(err90);
}
errors++;
}
}
let data17 = data.PASSTHROUGH_PATHS;
if(Array.isArray(data17)){
if(data17.length > 64){
const err91 = {instancePath:instancePath+"/PASSTHROUGH_PATHS",schemaPath:"#/properties/PASSTHROUGH_PATHS/maxItems",keyword:"maxItems",params:{limit: 64},message:"must NOT have more than 64 items"};
if(vErrors === null){
vErrors = [err91];
}
else {
vErrors.push(err91);
}
errors++;
}
const len1 = data17.length;
for(let i1=0; i1<len1; i1++){
let data18 = data17[i1];
if(typeof data18 === "string"){
if(func2(data18) > 256){
const err92 = {instancePath:instancePath+"/PASSTHROUGH_PATHS/" + i1,schemaPath:"#/properties/PASSTHROUGH_PATHS/items/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters"};
if(vErrors === null){
vErrors = [err92];
}
else {
vErrors.push(err92);
}
errors++;
}
if(!pattern7.test(data18)){
const err93 = {instancePath:instancePath+"/PASSTHROUGH_PATHS/" + i1,schemaPath:"#/properties/PASSTHROUGH_PATHS/items/pattern",keyword:"pattern",params:{pattern: "^/v1(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$"},message:"must match pattern \""+"^/v1(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$"+"\""};
if(vErrors === null){
vErrors = [err93];
}
else {
vErrors.push(err93);
}
errors++;
}
}
else {
const err94 = {instancePath:instancePath+"/PASSTHROUGH_PATHS/" + i1,schemaPath:"#/properties/PASSTHROUGH_PATHS/items/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err94];
}
else {
vErrors.push(err94);
}
errors++;
}
}
}
else {
const err95 = {instancePath:instancePath+"/PASSTHROUGH_PATHS",schemaPath:"#/properties/PASSTHROUGH_PATHS/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err95];
}
else {
vErrors.push(err95);
}
errors++;
}
let data19 = data.AUTH_MODE;
if(!(((data19 === "passthrough") || (data19 === "static")) || (data19 === "managed"))){
const err96 = {instancePath:instancePath+"/AUTH_MODE",schemaPath:"#/properties/AUTH_MODE/enum",keyword:"enum",params:{allowedValues: schema11.properties.AUTH_MODE.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err96];
}
else {
vErrors.push(err96);
}
errors++;
}
let data20 = data.API_KEYS;
if(Array.isArray(data20)){
if(data20.length > 10000){
const err97 = {instancePath:instancePath+"/API_KEYS",schemaPath:"#/properties/API_KEYS/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items"};
if(vErrors === null){
vErrors = [err97];
}
else {
vErrors.push(err97);
}
errors++;
}
const len2 = data20.length;
for(let i2=0; i2<len2; i2++){
let data21 = data20[i2];
if(typeof data21 === "string"){
if(func2(data21) > 512){
const err98 = {instancePath:instancePath+"/API_KEYS/" + i2,schemaPath:"#/properties/API_KEYS/items/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err98];
}
else {
vErrors.push(err98);
}
errors++;
}
if(!pattern8.test(data21)){
const err99 = {instancePath:instancePath+"/API_KEYS/" + i2,schemaPath:"#/properties/API_KEYS/items/pattern",keyword:"pattern",params:{pattern: "^[\\x21-\\x7e]+$"},message:"must match pattern \""+"^[\\x21-\\x7e]+$"+"\""};
if(vErrors === null){
vErrors = [err99];
}
else {
vErrors.push(err99);
}
errors++;
}
}
else {
const err100 = {instancePath:instancePath+"/API_KEYS/" + i2,schemaPath:"#/properties/API_KEYS/items/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err100];
}
else {
vErrors.push(err100);
}
errors++;
}
}
}
else {
const err101 = {instancePath:instancePath+"/API_KEYS",schemaPath:"#/properties/API_KEYS/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err101];
}
else {
vErrors.push(err101);
}
errors++;
}
if(data.API_KEYS_FILE !== undefined){
let data22 = data.API_KEYS_FILE;
if(typeof data22 === "string"){
if(func2(data22) < 1){
const err102 = {instancePath:instancePath+"/API_KEYS_FILE",schemaPath:"#/properties/API_KEYS_FILE/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err102];
}
else {
vErrors.push(err102);
}
errors++;
}
}
else {
const err103 = {instancePath:instancePath+"/API_KEYS_FILE",schemaPath:"#/properties/API_KEYS_FILE/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err103];
}
else {
vErrors.push(err103);
}
errors++;
}
}
if(data.ADMIN_TOKEN !== undefined){
let data23 = data.ADMIN_TOKEN;
if(typeof data23 === "string"){
if(func2(data23) < 16){
const err104 = {instancePath:instancePath+"/ADMIN_TOKEN",schemaPath:"#/properties/ADMIN_TOKEN/minLength",keyword:"minLength",params:{limit: 16},message:"must NOT have fewer than 16 characters"};
if(vErrors === null){
vErrors = [err104];
}
else {
vErrors.push(err104);
}
errors++;
}
if(!pattern9.test(data23)){
const err105 = {instancePath:instancePath+"/ADMIN_TOKEN",schemaPath:"#/properties/ADMIN_TOKEN/pattern",keyword:"pattern",params:{pattern: "^[\\x21-\\x7e]{16,4096}$"},message:"must match pattern \""+"^[\\x21-\\x7e]{16,4096}$"+"\""};
if(vErrors === null){
vErrors = [err105];
}
else {
vErrors.push(err105);
}
errors++;
}
}
else {
const err106 = {instancePath:instancePath+"/ADMIN_TOKEN",schemaPath:"#/properties/ADMIN_TOKEN/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err106];
}
else {
vErrors.push(err106);
}
errors++;
}
}
let data24 = data.CORS_ORIGINS;
if(Array.isArray(data24)){
if(data24.length > 1000){
const err107 = {instancePath:instancePath+"/CORS_ORIGINS",schemaPath:"#/properties/CORS_ORIGINS/maxItems",keyword:"maxItems",params:{limit: 1000},message:"must NOT have more than 1000 items"};
if(vErrors === null){
vErrors = [err107];
}
else {
vErrors.push(err107);
}
errors++;
}
const len3 = data24.length;
for(let i3=0; i3<len3; i3++){
let data25 = data24[i3];
if(typeof data25 === "string"){
if(func2(data25) > 512){
const err108 = {instancePath:instancePath+"/CORS_ORIGINS/" + i3,schemaPath:"#/properties/CORS_ORIGINS/items/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err108];
}
else {
vErrors.push(err108);
}
errors++;
}
if(!pattern10.test(data25)){
const err109 = {instancePath:instancePath+"/CORS_ORIGINS/" + i3,schemaPath:"#/properties/CORS_ORIGINS/items/pattern",keyword:"pattern",params:{pattern: "^(?:\\*|[a-z][a-z0-9+.-]*://(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?)$"},message:"must match pattern \""+"^(?:\\*|[a-z][a-z0-9+.-]*://(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?)$"+"\""};
if(vErrors === null){
vErrors = [err109];
}
else {
vErrors.push(err109);
}
errors++;
}
}
else {
const err110 = {instancePath:instancePath+"/CORS_ORIGINS/" + i3,schemaPath:"#/properties/CORS_ORIGINS/items/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err110];
}
else {
vErrors.push(err110);
}
errors++;
}
}
}
else {
const err111 = {instancePath:instancePath+"/CORS_ORIGINS",schemaPath:"#/properties/CORS_ORIGINS/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err111];
}
else {
vErrors.push(err111);
}
errors++;
}
let data26 = data.DATABASE_URL;
if(typeof data26 === "string"){
if(func2(data26) > 4096){
const err112 = {instancePath:instancePath+"/DATABASE_URL",schemaPath:"#/properties/DATABASE_URL/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err112];
}
else {
vErrors.push(err112);
}
errors++;
}
if(!pattern11.test(data26)){
const err113 = {instancePath:instancePath+"/DATABASE_URL",schemaPath:"#/properties/DATABASE_URL/pattern",keyword:"pattern",params:{pattern: "^(?::memory:|file:(?!//(?!/))[^:?#][^?#]*(?<!/)|postgres(?:ql)?://\\S+)$"},message:"must match pattern \""+"^(?::memory:|file:(?!//(?!/))[^:?#][^?#]*(?<!/)|postgres(?:ql)?://\\S+)$"+"\""};
if(vErrors === null){
vErrors = [err113];
}
else {
vErrors.push(err113);
}
errors++;
}
}
else {
const err114 = {instancePath:instancePath+"/DATABASE_URL",schemaPath:"#/properties/DATABASE_URL/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err114];
}
else {
vErrors.push(err114);
}
errors++;
}
let data27 = data.DATABASE_POOL_SIZE;
if(!(((typeof data27 == "number") && (!(data27 % 1) && !isNaN(data27))) && (isFinite(data27)))){
const err115 = {instancePath:instancePath+"/DATABASE_POOL_SIZE",schemaPath:"#/properties/DATABASE_POOL_SIZE/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err115];
}
else {
vErrors.push(err115);
}
errors++;
}
if((typeof data27 == "number") && (isFinite(data27))){
if(data27 > 100 || isNaN(data27)){
const err116 = {instancePath:instancePath+"/DATABASE_POOL_SIZE",schemaPath:"#/properties/DATABASE_POOL_SIZE/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100},message:"must be <= 100"};
if(vErrors === null){
vErrors = [err116];
}
else {
vErrors.push(err116);
}
errors++;
}
if(data27 < 2 || isNaN(data27)){
const err117 = {instancePath:instancePath+"/DATABASE_POOL_SIZE",schemaPath:"#/properties/DATABASE_POOL_SIZE/minimum",keyword:"minimum",params:{comparison: ">=", limit: 2},message:"must be >= 2"};
if(vErrors === null){
vErrors = [err117];
}
else {
vErrors.push(err117);
}
errors++;
}
}
let data28 = data.WORKERS;
if(!(((typeof data28 == "number") && (!(data28 % 1) && !isNaN(data28))) && (isFinite(data28)))){
const err118 = {instancePath:instancePath+"/WORKERS",schemaPath:"#/properties/WORKERS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err118];
}
else {
vErrors.push(err118);
}
errors++;
}
if((typeof data28 == "number") && (isFinite(data28))){
if(data28 > 64 || isNaN(data28)){
const err119 = {instancePath:instancePath+"/WORKERS",schemaPath:"#/properties/WORKERS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},message:"must be <= 64"};
if(vErrors === null){
vErrors = [err119];
}
else {
vErrors.push(err119);
}
errors++;
}
if(data28 < 1 || isNaN(data28)){
const err120 = {instancePath:instancePath+"/WORKERS",schemaPath:"#/properties/WORKERS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err120];
}
else {
vErrors.push(err120);
}
errors++;
}
}
if(data.GATEWAY_SECRET !== undefined){
let data29 = data.GATEWAY_SECRET;
if(typeof data29 === "string"){
if(func2(data29) > 4096){
const err121 = {instancePath:instancePath+"/GATEWAY_SECRET",schemaPath:"#/properties/GATEWAY_SECRET/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err121];
}
else {
vErrors.push(err121);
}
errors++;
}
if(func2(data29) < 16){
const err122 = {instancePath:instancePath+"/GATEWAY_SECRET",schemaPath:"#/properties/GATEWAY_SECRET/minLength",keyword:"minLength",params:{limit: 16},message:"must NOT have fewer than 16 characters"};
if(vErrors === null){
vErrors = [err122];
}
else {
vErrors.push(err122);
}
errors++;
}
}
else {
const err123 = {instancePath:instancePath+"/GATEWAY_SECRET",schemaPath:"#/properties/GATEWAY_SECRET/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err123];
}
else {
vErrors.push(err123);
}
errors++;
}
}
if(data.GATEWAY_SECRET_PREVIOUS !== undefined){
let data30 = data.GATEWAY_SECRET_PREVIOUS;
if(typeof data30 === "string"){
if(func2(data30) > 4096){
const err124 = {instancePath:instancePath+"/GATEWAY_SECRET_PREVIOUS",schemaPath:"#/properties/GATEWAY_SECRET_PREVIOUS/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err124];
}
else {
vErrors.push(err124);
}
errors++;
}
if(func2(data30) < 16){
const err125 = {instancePath:instancePath+"/GATEWAY_SECRET_PREVIOUS",schemaPath:"#/properties/GATEWAY_SECRET_PREVIOUS/minLength",keyword:"minLength",params:{limit: 16},message:"must NOT have fewer than 16 characters"};
if(vErrors === null){
vErrors = [err125];
}
else {
vErrors.push(err125);
}
errors++;
}
}
else {
const err126 = {instancePath:instancePath+"/GATEWAY_SECRET_PREVIOUS",schemaPath:"#/properties/GATEWAY_SECRET_PREVIOUS/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err126];
}
else {
vErrors.push(err126);
}
errors++;
}
}
let data31 = data.RECORD_RETENTION_DAYS;
if(!(((typeof data31 == "number") && (!(data31 % 1) && !isNaN(data31))) && (isFinite(data31)))){
const err127 = {instancePath:instancePath+"/RECORD_RETENTION_DAYS",schemaPath:"#/properties/RECORD_RETENTION_DAYS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err127];
}
else {
vErrors.push(err127);
}
errors++;
}
if((typeof data31 == "number") && (isFinite(data31))){
if(data31 > 36500 || isNaN(data31)){
const err128 = {instancePath:instancePath+"/RECORD_RETENTION_DAYS",schemaPath:"#/properties/RECORD_RETENTION_DAYS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 36500},message:"must be <= 36500"};
if(vErrors === null){
vErrors = [err128];
}
else {
vErrors.push(err128);
}
errors++;
}
if(data31 < 1 || isNaN(data31)){
const err129 = {instancePath:instancePath+"/RECORD_RETENTION_DAYS",schemaPath:"#/properties/RECORD_RETENTION_DAYS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err129];
}
else {
vErrors.push(err129);
}
errors++;
}
}
if(data.DEFAULT_GROUP !== undefined){
let data32 = data.DEFAULT_GROUP;
if(typeof data32 === "string"){
if(func2(data32) > 100){
const err130 = {instancePath:instancePath+"/DEFAULT_GROUP",schemaPath:"#/properties/DEFAULT_GROUP/maxLength",keyword:"maxLength",params:{limit: 100},message:"must NOT have more than 100 characters"};
if(vErrors === null){
vErrors = [err130];
}
else {
vErrors.push(err130);
}
errors++;
}
if(func2(data32) < 1){
const err131 = {instancePath:instancePath+"/DEFAULT_GROUP",schemaPath:"#/properties/DEFAULT_GROUP/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err131];
}
else {
vErrors.push(err131);
}
errors++;
}
if(!pattern4.test(data32)){
const err132 = {instancePath:instancePath+"/DEFAULT_GROUP",schemaPath:"#/properties/DEFAULT_GROUP/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\""};
if(vErrors === null){
vErrors = [err132];
}
else {
vErrors.push(err132);
}
errors++;
}
}
else {
const err133 = {instancePath:instancePath+"/DEFAULT_GROUP",schemaPath:"#/properties/DEFAULT_GROUP/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err133];
}
else {
vErrors.push(err133);
}
errors++;
}
}
if(data.PRICES_FILE !== undefined){
let data33 = data.PRICES_FILE;
if(typeof data33 === "string"){
if(func2(data33) > 4096){
const err134 = {instancePath:instancePath+"/PRICES_FILE",schemaPath:"#/properties/PRICES_FILE/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err134];
}
else {
vErrors.push(err134);
}
errors++;
}
if(func2(data33) < 1){
const err135 = {instancePath:instancePath+"/PRICES_FILE",schemaPath:"#/properties/PRICES_FILE/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err135];
}
else {
vErrors.push(err135);
}
errors++;
}
}
else {
const err136 = {instancePath:instancePath+"/PRICES_FILE",schemaPath:"#/properties/PRICES_FILE/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err136];
}
else {
vErrors.push(err136);
}
errors++;
}
}
if(data.MODELS_FILE !== undefined){
let data34 = data.MODELS_FILE;
if(typeof data34 === "string"){
if(func2(data34) > 4096){
const err137 = {instancePath:instancePath+"/MODELS_FILE",schemaPath:"#/properties/MODELS_FILE/maxLength",keyword:"maxLength",params:{limit: 4096},message:"must NOT have more than 4096 characters"};
if(vErrors === null){
vErrors = [err137];
}
else {
vErrors.push(err137);
}
errors++;
}
if(func2(data34) < 1){
const err138 = {instancePath:instancePath+"/MODELS_FILE",schemaPath:"#/properties/MODELS_FILE/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err138];
}
else {
vErrors.push(err138);
}
errors++;
}
}
else {
const err139 = {instancePath:instancePath+"/MODELS_FILE",schemaPath:"#/properties/MODELS_FILE/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err139];
}
else {
vErrors.push(err139);
}
errors++;
}
}
let data35 = data.DEFAULT_MAX_OUTPUT_TOKENS;
if(!(((typeof data35 == "number") && (!(data35 % 1) && !isNaN(data35))) && (isFinite(data35)))){
const err140 = {instancePath:instancePath+"/DEFAULT_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/DEFAULT_MAX_OUTPUT_TOKENS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err140];
}
else {
vErrors.push(err140);
}
errors++;
}
if((typeof data35 == "number") && (isFinite(data35))){
if(data35 > 1000000000 || isNaN(data35)){
const err141 = {instancePath:instancePath+"/DEFAULT_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/DEFAULT_MAX_OUTPUT_TOKENS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000000},message:"must be <= 1000000000"};
if(vErrors === null){
vErrors = [err141];
}
else {
vErrors.push(err141);
}
errors++;
}
if(data35 < 1 || isNaN(data35)){
const err142 = {instancePath:instancePath+"/DEFAULT_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/DEFAULT_MAX_OUTPUT_TOKENS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err142];
}
else {
vErrors.push(err142);
}
errors++;
}
}
if(data.COMPACTION_MODEL !== undefined){
let data36 = data.COMPACTION_MODEL;
if(typeof data36 === "string"){
if(func2(data36) > 256){
const err143 = {instancePath:instancePath+"/COMPACTION_MODEL",schemaPath:"#/properties/COMPACTION_MODEL/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters"};
if(vErrors === null){
vErrors = [err143];
}
else {
vErrors.push(err143);
}
errors++;
}
if(func2(data36) < 1){
const err144 = {instancePath:instancePath+"/COMPACTION_MODEL",schemaPath:"#/properties/COMPACTION_MODEL/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err144];
}
else {
vErrors.push(err144);
}
errors++;
}
if(!pattern4.test(data36)){
const err145 = {instancePath:instancePath+"/COMPACTION_MODEL",schemaPath:"#/properties/COMPACTION_MODEL/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\""};
if(vErrors === null){
vErrors = [err145];
}
else {
vErrors.push(err145);
}
errors++;
}
}
else {
const err146 = {instancePath:instancePath+"/COMPACTION_MODEL",schemaPath:"#/properties/COMPACTION_MODEL/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err146];
}
else {
vErrors.push(err146);
}
errors++;
}
}
let data37 = data.COMPACTION_MAX_OUTPUT_TOKENS;
if(!(((typeof data37 == "number") && (!(data37 % 1) && !isNaN(data37))) && (isFinite(data37)))){
const err147 = {instancePath:instancePath+"/COMPACTION_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/COMPACTION_MAX_OUTPUT_TOKENS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err147];
}
else {
vErrors.push(err147);
}
errors++;
}
if((typeof data37 == "number") && (isFinite(data37))){
if(data37 > 131072 || isNaN(data37)){
const err148 = {instancePath:instancePath+"/COMPACTION_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/COMPACTION_MAX_OUTPUT_TOKENS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 131072},message:"must be <= 131072"};
if(vErrors === null){
vErrors = [err148];
}
else {
vErrors.push(err148);
}
errors++;
}
if(data37 < 16 || isNaN(data37)){
const err149 = {instancePath:instancePath+"/COMPACTION_MAX_OUTPUT_TOKENS",schemaPath:"#/properties/COMPACTION_MAX_OUTPUT_TOKENS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 16},message:"must be >= 16"};
if(vErrors === null){
vErrors = [err149];
}
else {
vErrors.push(err149);
}
errors++;
}
}
let data38 = data.HOSTED_TOOLS;
if(!((data38 === "drop") || (data38 === "reject"))){
const err150 = {instancePath:instancePath+"/HOSTED_TOOLS",schemaPath:"#/properties/HOSTED_TOOLS/enum",keyword:"enum",params:{allowedValues: schema11.properties.HOSTED_TOOLS.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err150];
}
else {
vErrors.push(err150);
}
errors++;
}
let data39 = data.HISTORY;
if(!((data39 === "keep") || (data39 === "reject"))){
const err151 = {instancePath:instancePath+"/HISTORY",schemaPath:"#/properties/HISTORY/enum",keyword:"enum",params:{allowedValues: schema11.properties.HISTORY.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err151];
}
else {
vErrors.push(err151);
}
errors++;
}
let data40 = data.IMAGE_URLS;
if(!(((data40 === "any") || (data40 === "https-public")) || (data40 === "data"))){
const err152 = {instancePath:instancePath+"/IMAGE_URLS",schemaPath:"#/properties/IMAGE_URLS/enum",keyword:"enum",params:{allowedValues: schema11.properties.IMAGE_URLS.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err152];
}
else {
vErrors.push(err152);
}
errors++;
}
let data41 = data.REASONING_OUTPUT;
if(!(((data41 === "summary") || (data41 === "content")) || (data41 === "hidden"))){
const err153 = {instancePath:instancePath+"/REASONING_OUTPUT",schemaPath:"#/properties/REASONING_OUTPUT/enum",keyword:"enum",params:{allowedValues: schema11.properties.REASONING_OUTPUT.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err153];
}
else {
vErrors.push(err153);
}
errors++;
}
let data42 = data.ITEM_MEMORY_TTL_S;
if(!(((typeof data42 == "number") && (!(data42 % 1) && !isNaN(data42))) && (isFinite(data42)))){
const err154 = {instancePath:instancePath+"/ITEM_MEMORY_TTL_S",schemaPath:"#/properties/ITEM_MEMORY_TTL_S/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err154];
}
else {
vErrors.push(err154);
}
errors++;
}
if((typeof data42 == "number") && (isFinite(data42))){
if(data42 > 604800 || isNaN(data42)){
const err155 = {instancePath:instancePath+"/ITEM_MEMORY_TTL_S",schemaPath:"#/properties/ITEM_MEMORY_TTL_S/maximum",keyword:"maximum",params:{comparison: "<=", limit: 604800},message:"must be <= 604800"};
if(vErrors === null){
vErrors = [err155];
}
else {
vErrors.push(err155);
}
errors++;
}
if(data42 < 0 || isNaN(data42)){
const err156 = {instancePath:instancePath+"/ITEM_MEMORY_TTL_S",schemaPath:"#/properties/ITEM_MEMORY_TTL_S/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err156];
}
else {
vErrors.push(err156);
}
errors++;
}
}
let data43 = data.MAX_BODY_BYTES;
if(!(((typeof data43 == "number") && (!(data43 % 1) && !isNaN(data43))) && (isFinite(data43)))){
const err157 = {instancePath:instancePath+"/MAX_BODY_BYTES",schemaPath:"#/properties/MAX_BODY_BYTES/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err157];
}
else {
vErrors.push(err157);
}
errors++;
}
if((typeof data43 == "number") && (isFinite(data43))){
if(data43 > 268435456 || isNaN(data43)){
const err158 = {instancePath:instancePath+"/MAX_BODY_BYTES",schemaPath:"#/properties/MAX_BODY_BYTES/maximum",keyword:"maximum",params:{comparison: "<=", limit: 268435456},message:"must be <= 268435456"};
if(vErrors === null){
vErrors = [err158];
}
else {
vErrors.push(err158);
}
errors++;
}
if(data43 < 1 || isNaN(data43)){
const err159 = {instancePath:instancePath+"/MAX_BODY_BYTES",schemaPath:"#/properties/MAX_BODY_BYTES/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err159];
}
else {
vErrors.push(err159);
}
errors++;
}
}
let data44 = data.MAX_BODY_BYTES_IN_FLIGHT;
if(!(((typeof data44 == "number") && (!(data44 % 1) && !isNaN(data44))) && (isFinite(data44)))){
const err160 = {instancePath:instancePath+"/MAX_BODY_BYTES_IN_FLIGHT",schemaPath:"#/properties/MAX_BODY_BYTES_IN_FLIGHT/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err160];
}
else {
vErrors.push(err160);
}
errors++;
}
if((typeof data44 == "number") && (isFinite(data44))){
if(data44 > 1099511627776 || isNaN(data44)){
const err161 = {instancePath:instancePath+"/MAX_BODY_BYTES_IN_FLIGHT",schemaPath:"#/properties/MAX_BODY_BYTES_IN_FLIGHT/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1099511627776},message:"must be <= 1099511627776"};
if(vErrors === null){
vErrors = [err161];
}
else {
vErrors.push(err161);
}
errors++;
}
if(data44 < 1 || isNaN(data44)){
const err162 = {instancePath:instancePath+"/MAX_BODY_BYTES_IN_FLIGHT",schemaPath:"#/properties/MAX_BODY_BYTES_IN_FLIGHT/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err162];
}
else {
vErrors.push(err162);
}
errors++;
}
}
let data45 = data.MAX_CONCURRENT_REQUESTS;
if(!(((typeof data45 == "number") && (!(data45 % 1) && !isNaN(data45))) && (isFinite(data45)))){
const err163 = {instancePath:instancePath+"/MAX_CONCURRENT_REQUESTS",schemaPath:"#/properties/MAX_CONCURRENT_REQUESTS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err163];
}
else {
vErrors.push(err163);
}
errors++;
}
if((typeof data45 == "number") && (isFinite(data45))){
if(data45 > 1000000 || isNaN(data45)){
const err164 = {instancePath:instancePath+"/MAX_CONCURRENT_REQUESTS",schemaPath:"#/properties/MAX_CONCURRENT_REQUESTS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000},message:"must be <= 1000000"};
if(vErrors === null){
vErrors = [err164];
}
else {
vErrors.push(err164);
}
errors++;
}
if(data45 < 1 || isNaN(data45)){
const err165 = {instancePath:instancePath+"/MAX_CONCURRENT_REQUESTS",schemaPath:"#/properties/MAX_CONCURRENT_REQUESTS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err165];
}
else {
vErrors.push(err165);
}
errors++;
}
}
let data46 = data.CALLER_SHARE;
if(!(((typeof data46 == "number") && (!(data46 % 1) && !isNaN(data46))) && (isFinite(data46)))){
const err166 = {instancePath:instancePath+"/CALLER_SHARE",schemaPath:"#/properties/CALLER_SHARE/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err166];
}
else {
vErrors.push(err166);
}
errors++;
}
if((typeof data46 == "number") && (isFinite(data46))){
if(data46 > 100 || isNaN(data46)){
const err167 = {instancePath:instancePath+"/CALLER_SHARE",schemaPath:"#/properties/CALLER_SHARE/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100},message:"must be <= 100"};
if(vErrors === null){
vErrors = [err167];
}
else {
vErrors.push(err167);
}
errors++;
}
if(data46 < 1 || isNaN(data46)){
const err168 = {instancePath:instancePath+"/CALLER_SHARE",schemaPath:"#/properties/CALLER_SHARE/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err168];
}
else {
vErrors.push(err168);
}
errors++;
}
}
let data47 = data.MAX_REQUESTS_PER_SOCKET;
if(!(((typeof data47 == "number") && (!(data47 % 1) && !isNaN(data47))) && (isFinite(data47)))){
const err169 = {instancePath:instancePath+"/MAX_REQUESTS_PER_SOCKET",schemaPath:"#/properties/MAX_REQUESTS_PER_SOCKET/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err169];
}
else {
vErrors.push(err169);
}
errors++;
}
if((typeof data47 == "number") && (isFinite(data47))){
if(data47 > 1000000000 || isNaN(data47)){
const err170 = {instancePath:instancePath+"/MAX_REQUESTS_PER_SOCKET",schemaPath:"#/properties/MAX_REQUESTS_PER_SOCKET/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000000},message:"must be <= 1000000000"};
if(vErrors === null){
vErrors = [err170];
}
else {
vErrors.push(err170);
}
errors++;
}
if(data47 < 0 || isNaN(data47)){
const err171 = {instancePath:instancePath+"/MAX_REQUESTS_PER_SOCKET",schemaPath:"#/properties/MAX_REQUESTS_PER_SOCKET/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err171];
}
else {
vErrors.push(err171);
}
errors++;
}
}
let data48 = data.MAX_WEBSOCKETS;
if(!(((typeof data48 == "number") && (!(data48 % 1) && !isNaN(data48))) && (isFinite(data48)))){
const err172 = {instancePath:instancePath+"/MAX_WEBSOCKETS",schemaPath:"#/properties/MAX_WEBSOCKETS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err172];
}
else {
vErrors.push(err172);
}
errors++;
}
if((typeof data48 == "number") && (isFinite(data48))){
if(data48 > 1000000 || isNaN(data48)){
const err173 = {instancePath:instancePath+"/MAX_WEBSOCKETS",schemaPath:"#/properties/MAX_WEBSOCKETS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000},message:"must be <= 1000000"};
if(vErrors === null){
vErrors = [err173];
}
else {
vErrors.push(err173);
}
errors++;
}
if(data48 < 0 || isNaN(data48)){
const err174 = {instancePath:instancePath+"/MAX_WEBSOCKETS",schemaPath:"#/properties/MAX_WEBSOCKETS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err174];
}
else {
vErrors.push(err174);
}
errors++;
}
}
let data49 = data.WEBSOCKET_IDLE_TIMEOUT_MS;
if(!(((typeof data49 == "number") && (!(data49 % 1) && !isNaN(data49))) && (isFinite(data49)))){
const err175 = {instancePath:instancePath+"/WEBSOCKET_IDLE_TIMEOUT_MS",schemaPath:"#/properties/WEBSOCKET_IDLE_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err175];
}
else {
vErrors.push(err175);
}
errors++;
}
if((typeof data49 == "number") && (isFinite(data49))){
if(data49 > 86400000 || isNaN(data49)){
const err176 = {instancePath:instancePath+"/WEBSOCKET_IDLE_TIMEOUT_MS",schemaPath:"#/properties/WEBSOCKET_IDLE_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err176];
}
else {
vErrors.push(err176);
}
errors++;
}
if(data49 < 1 || isNaN(data49)){
const err177 = {instancePath:instancePath+"/WEBSOCKET_IDLE_TIMEOUT_MS",schemaPath:"#/properties/WEBSOCKET_IDLE_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err177];
}
else {
vErrors.push(err177);
}
errors++;
}
}
let data50 = data.WEBSOCKET_MAX_AGE_MS;
if(!(((typeof data50 == "number") && (!(data50 % 1) && !isNaN(data50))) && (isFinite(data50)))){
const err178 = {instancePath:instancePath+"/WEBSOCKET_MAX_AGE_MS",schemaPath:"#/properties/WEBSOCKET_MAX_AGE_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err178];
}
else {
vErrors.push(err178);
}
errors++;
}
if((typeof data50 == "number") && (isFinite(data50))){
if(data50 > 86400000 || isNaN(data50)){
const err179 = {instancePath:instancePath+"/WEBSOCKET_MAX_AGE_MS",schemaPath:"#/properties/WEBSOCKET_MAX_AGE_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err179];
}
else {
vErrors.push(err179);
}
errors++;
}
if(data50 < 1 || isNaN(data50)){
const err180 = {instancePath:instancePath+"/WEBSOCKET_MAX_AGE_MS",schemaPath:"#/properties/WEBSOCKET_MAX_AGE_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err180];
}
else {
vErrors.push(err180);
}
errors++;
}
}
let data51 = data.CONNECT_TIMEOUT_MS;
if(!(((typeof data51 == "number") && (!(data51 % 1) && !isNaN(data51))) && (isFinite(data51)))){
const err181 = {instancePath:instancePath+"/CONNECT_TIMEOUT_MS",schemaPath:"#/properties/CONNECT_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err181];
}
else {
vErrors.push(err181);
}
errors++;
}
if((typeof data51 == "number") && (isFinite(data51))){
if(data51 > 86400000 || isNaN(data51)){
const err182 = {instancePath:instancePath+"/CONNECT_TIMEOUT_MS",schemaPath:"#/properties/CONNECT_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err182];
}
else {
vErrors.push(err182);
}
errors++;
}
if(data51 < 1 || isNaN(data51)){
const err183 = {instancePath:instancePath+"/CONNECT_TIMEOUT_MS",schemaPath:"#/properties/CONNECT_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err183];
}
else {
vErrors.push(err183);
}
errors++;
}
}
let data52 = data.FIRST_BYTE_TIMEOUT_MS;
if(!(((typeof data52 == "number") && (!(data52 % 1) && !isNaN(data52))) && (isFinite(data52)))){
const err184 = {instancePath:instancePath+"/FIRST_BYTE_TIMEOUT_MS",schemaPath:"#/properties/FIRST_BYTE_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err184];
}
else {
vErrors.push(err184);
}
errors++;
}
if((typeof data52 == "number") && (isFinite(data52))){
if(data52 > 86400000 || isNaN(data52)){
const err185 = {instancePath:instancePath+"/FIRST_BYTE_TIMEOUT_MS",schemaPath:"#/properties/FIRST_BYTE_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err185];
}
else {
vErrors.push(err185);
}
errors++;
}
if(data52 < 1 || isNaN(data52)){
const err186 = {instancePath:instancePath+"/FIRST_BYTE_TIMEOUT_MS",schemaPath:"#/properties/FIRST_BYTE_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err186];
}
else {
vErrors.push(err186);
}
errors++;
}
}
let data53 = data.IDLE_TIMEOUT_MS;
if(!(((typeof data53 == "number") && (!(data53 % 1) && !isNaN(data53))) && (isFinite(data53)))){
const err187 = {instancePath:instancePath+"/IDLE_TIMEOUT_MS",schemaPath:"#/properties/IDLE_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err187];
}
else {
vErrors.push(err187);
}
errors++;
}
if((typeof data53 == "number") && (isFinite(data53))){
if(data53 > 86400000 || isNaN(data53)){
const err188 = {instancePath:instancePath+"/IDLE_TIMEOUT_MS",schemaPath:"#/properties/IDLE_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err188];
}
else {
vErrors.push(err188);
}
errors++;
}
if(data53 < 1 || isNaN(data53)){
const err189 = {instancePath:instancePath+"/IDLE_TIMEOUT_MS",schemaPath:"#/properties/IDLE_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err189];
}
else {
vErrors.push(err189);
}
errors++;
}
}
let data54 = data.HEADER_HOLD_MS;
if(!(((typeof data54 == "number") && (!(data54 % 1) && !isNaN(data54))) && (isFinite(data54)))){
const err190 = {instancePath:instancePath+"/HEADER_HOLD_MS",schemaPath:"#/properties/HEADER_HOLD_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err190];
}
else {
vErrors.push(err190);
}
errors++;
}
if((typeof data54 == "number") && (isFinite(data54))){
if(data54 > 86400000 || isNaN(data54)){
const err191 = {instancePath:instancePath+"/HEADER_HOLD_MS",schemaPath:"#/properties/HEADER_HOLD_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err191];
}
else {
vErrors.push(err191);
}
errors++;
}
if(data54 < 0 || isNaN(data54)){
const err192 = {instancePath:instancePath+"/HEADER_HOLD_MS",schemaPath:"#/properties/HEADER_HOLD_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err192];
}
else {
vErrors.push(err192);
}
errors++;
}
}
let data55 = data.KEEPALIVE_COMMENT_MS;
if(!(((typeof data55 == "number") && (!(data55 % 1) && !isNaN(data55))) && (isFinite(data55)))){
const err193 = {instancePath:instancePath+"/KEEPALIVE_COMMENT_MS",schemaPath:"#/properties/KEEPALIVE_COMMENT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err193];
}
else {
vErrors.push(err193);
}
errors++;
}
if((typeof data55 == "number") && (isFinite(data55))){
if(data55 > 86400000 || isNaN(data55)){
const err194 = {instancePath:instancePath+"/KEEPALIVE_COMMENT_MS",schemaPath:"#/properties/KEEPALIVE_COMMENT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err194];
}
else {
vErrors.push(err194);
}
errors++;
}
if(data55 < 1 || isNaN(data55)){
const err195 = {instancePath:instancePath+"/KEEPALIVE_COMMENT_MS",schemaPath:"#/properties/KEEPALIVE_COMMENT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err195];
}
else {
vErrors.push(err195);
}
errors++;
}
}
let data56 = data.KEEPALIVE_EVENT_MS;
if(!(((typeof data56 == "number") && (!(data56 % 1) && !isNaN(data56))) && (isFinite(data56)))){
const err196 = {instancePath:instancePath+"/KEEPALIVE_EVENT_MS",schemaPath:"#/properties/KEEPALIVE_EVENT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err196];
}
else {
vErrors.push(err196);
}
errors++;
}
if((typeof data56 == "number") && (isFinite(data56))){
if(data56 > 86400000 || isNaN(data56)){
const err197 = {instancePath:instancePath+"/KEEPALIVE_EVENT_MS",schemaPath:"#/properties/KEEPALIVE_EVENT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err197];
}
else {
vErrors.push(err197);
}
errors++;
}
if(data56 < 1 || isNaN(data56)){
const err198 = {instancePath:instancePath+"/KEEPALIVE_EVENT_MS",schemaPath:"#/properties/KEEPALIVE_EVENT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1"};
if(vErrors === null){
vErrors = [err198];
}
else {
vErrors.push(err198);
}
errors++;
}
}
let data57 = data.DRAIN_DELAY_MS;
if(!(((typeof data57 == "number") && (!(data57 % 1) && !isNaN(data57))) && (isFinite(data57)))){
const err199 = {instancePath:instancePath+"/DRAIN_DELAY_MS",schemaPath:"#/properties/DRAIN_DELAY_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err199];
}
else {
vErrors.push(err199);
}
errors++;
}
if((typeof data57 == "number") && (isFinite(data57))){
if(data57 > 86400000 || isNaN(data57)){
const err200 = {instancePath:instancePath+"/DRAIN_DELAY_MS",schemaPath:"#/properties/DRAIN_DELAY_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err200];
}
else {
vErrors.push(err200);
}
errors++;
}
if(data57 < 0 || isNaN(data57)){
const err201 = {instancePath:instancePath+"/DRAIN_DELAY_MS",schemaPath:"#/properties/DRAIN_DELAY_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err201];
}
else {
vErrors.push(err201);
}
errors++;
}
}
let data58 = data.SETTLE_TIMEOUT_MS;
if(!(((typeof data58 == "number") && (!(data58 % 1) && !isNaN(data58))) && (isFinite(data58)))){
const err202 = {instancePath:instancePath+"/SETTLE_TIMEOUT_MS",schemaPath:"#/properties/SETTLE_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err202];
}
else {
vErrors.push(err202);
}
errors++;
}
if((typeof data58 == "number") && (isFinite(data58))){
if(data58 > 600000 || isNaN(data58)){
const err203 = {instancePath:instancePath+"/SETTLE_TIMEOUT_MS",schemaPath:"#/properties/SETTLE_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 600000},message:"must be <= 600000"};
if(vErrors === null){
vErrors = [err203];
}
else {
vErrors.push(err203);
}
errors++;
}
if(data58 < 100 || isNaN(data58)){
const err204 = {instancePath:instancePath+"/SETTLE_TIMEOUT_MS",schemaPath:"#/properties/SETTLE_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 100},message:"must be >= 100"};
if(vErrors === null){
vErrors = [err204];
}
else {
vErrors.push(err204);
}
errors++;
}
}
let data59 = data.DUPLICATE_STATUS;
if(!(((typeof data59 == "number") && (!(data59 % 1) && !isNaN(data59))) && (isFinite(data59)))){
const err205 = {instancePath:instancePath+"/DUPLICATE_STATUS",schemaPath:"#/properties/DUPLICATE_STATUS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err205];
}
else {
vErrors.push(err205);
}
errors++;
}
if(!(((data59 === 409) || (data59 === 200)) || (data59 === 202))){
const err206 = {instancePath:instancePath+"/DUPLICATE_STATUS",schemaPath:"#/properties/DUPLICATE_STATUS/enum",keyword:"enum",params:{allowedValues: schema11.properties.DUPLICATE_STATUS.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err206];
}
else {
vErrors.push(err206);
}
errors++;
}
let data60 = data.DRAIN_TIMEOUT_MS;
if(!(((typeof data60 == "number") && (!(data60 % 1) && !isNaN(data60))) && (isFinite(data60)))){
const err207 = {instancePath:instancePath+"/DRAIN_TIMEOUT_MS",schemaPath:"#/properties/DRAIN_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err207];
}
else {
vErrors.push(err207);
}
errors++;
}
if((typeof data60 == "number") && (isFinite(data60))){
if(data60 > 86400000 || isNaN(data60)){
const err208 = {instancePath:instancePath+"/DRAIN_TIMEOUT_MS",schemaPath:"#/properties/DRAIN_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 86400000},message:"must be <= 86400000"};
if(vErrors === null){
vErrors = [err208];
}
else {
vErrors.push(err208);
}
errors++;
}
if(data60 < 0 || isNaN(data60)){
const err209 = {instancePath:instancePath+"/DRAIN_TIMEOUT_MS",schemaPath:"#/properties/DRAIN_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err209];
}
else {
vErrors.push(err209);
}
errors++;
}
}
let data61 = data.TOKEN_COUNT_TIMEOUT_MS;
if(!(((typeof data61 == "number") && (!(data61 % 1) && !isNaN(data61))) && (isFinite(data61)))){
const err210 = {instancePath:instancePath+"/TOKEN_COUNT_TIMEOUT_MS",schemaPath:"#/properties/TOKEN_COUNT_TIMEOUT_MS/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err210];
}
else {
vErrors.push(err210);
}
errors++;
}
if((typeof data61 == "number") && (isFinite(data61))){
if(data61 > 60000 || isNaN(data61)){
const err211 = {instancePath:instancePath+"/TOKEN_COUNT_TIMEOUT_MS",schemaPath:"#/properties/TOKEN_COUNT_TIMEOUT_MS/maximum",keyword:"maximum",params:{comparison: "<=", limit: 60000},message:"must be <= 60000"};
if(vErrors === null){
vErrors = [err211];
}
else {
vErrors.push(err211);
}
errors++;
}
if(data61 < 0 || isNaN(data61)){
const err212 = {instancePath:instancePath+"/TOKEN_COUNT_TIMEOUT_MS",schemaPath:"#/properties/TOKEN_COUNT_TIMEOUT_MS/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err212];
}
else {
vErrors.push(err212);
}
errors++;
}
}
let data62 = data.LOG_LEVEL;
if(!(((((((data62 === "fatal") || (data62 === "error")) || (data62 === "warn")) || (data62 === "info")) || (data62 === "debug")) || (data62 === "trace")) || (data62 === "silent"))){
const err213 = {instancePath:instancePath+"/LOG_LEVEL",schemaPath:"#/properties/LOG_LEVEL/enum",keyword:"enum",params:{allowedValues: schema11.properties.LOG_LEVEL.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err213];
}
else {
vErrors.push(err213);
}
errors++;
}
let data63 = data.LOG_FORMAT;
if(!(((data63 === "auto") || (data63 === "json")) || (data63 === "pretty"))){
const err214 = {instancePath:instancePath+"/LOG_FORMAT",schemaPath:"#/properties/LOG_FORMAT/enum",keyword:"enum",params:{allowedValues: schema11.properties.LOG_FORMAT.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err214];
}
else {
vErrors.push(err214);
}
errors++;
}
if(data.METRICS_TOKEN !== undefined){
let data64 = data.METRICS_TOKEN;
if(typeof data64 === "string"){
if(func2(data64) < 16){
const err215 = {instancePath:instancePath+"/METRICS_TOKEN",schemaPath:"#/properties/METRICS_TOKEN/minLength",keyword:"minLength",params:{limit: 16},message:"must NOT have fewer than 16 characters"};
if(vErrors === null){
vErrors = [err215];
}
else {
vErrors.push(err215);
}
errors++;
}
if(!pattern9.test(data64)){
const err216 = {instancePath:instancePath+"/METRICS_TOKEN",schemaPath:"#/properties/METRICS_TOKEN/pattern",keyword:"pattern",params:{pattern: "^[\\x21-\\x7e]{16,4096}$"},message:"must match pattern \""+"^[\\x21-\\x7e]{16,4096}$"+"\""};
if(vErrors === null){
vErrors = [err216];
}
else {
vErrors.push(err216);
}
errors++;
}
}
else {
const err217 = {instancePath:instancePath+"/METRICS_TOKEN",schemaPath:"#/properties/METRICS_TOKEN/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err217];
}
else {
vErrors.push(err217);
}
errors++;
}
}
if(data.METRICS_PORT !== undefined){
let data65 = data.METRICS_PORT;
if(!(((typeof data65 == "number") && (!(data65 % 1) && !isNaN(data65))) && (isFinite(data65)))){
const err218 = {instancePath:instancePath+"/METRICS_PORT",schemaPath:"#/properties/METRICS_PORT/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err218];
}
else {
vErrors.push(err218);
}
errors++;
}
if((typeof data65 == "number") && (isFinite(data65))){
if(data65 > 65535 || isNaN(data65)){
const err219 = {instancePath:instancePath+"/METRICS_PORT",schemaPath:"#/properties/METRICS_PORT/maximum",keyword:"maximum",params:{comparison: "<=", limit: 65535},message:"must be <= 65535"};
if(vErrors === null){
vErrors = [err219];
}
else {
vErrors.push(err219);
}
errors++;
}
if(data65 < 0 || isNaN(data65)){
const err220 = {instancePath:instancePath+"/METRICS_PORT",schemaPath:"#/properties/METRICS_PORT/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0"};
if(vErrors === null){
vErrors = [err220];
}
else {
vErrors.push(err220);
}
errors++;
}
}
}
let data66 = data.METRICS_HOST;
if(typeof data66 === "string"){
if(!pattern0.test(data66)){
const err221 = {instancePath:instancePath+"/METRICS_HOST",schemaPath:"#/properties/METRICS_HOST/pattern",keyword:"pattern",params:{pattern: "^[^\\s/]{1,255}$"},message:"must match pattern \""+"^[^\\s/]{1,255}$"+"\""};
if(vErrors === null){
vErrors = [err221];
}
else {
vErrors.push(err221);
}
errors++;
}
}
else {
const err222 = {instancePath:instancePath+"/METRICS_HOST",schemaPath:"#/properties/METRICS_HOST/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err222];
}
else {
vErrors.push(err222);
}
errors++;
}
if(data.ALERT_WEBHOOK_URL !== undefined){
let data67 = data.ALERT_WEBHOOK_URL;
if(typeof data67 === "string"){
if(!pattern16.test(data67)){
const err223 = {instancePath:instancePath+"/ALERT_WEBHOOK_URL",schemaPath:"#/properties/ALERT_WEBHOOK_URL/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s\\\\]{1,4000}$"},message:"must match pattern \""+"^https?://[^\\s\\\\]{1,4000}$"+"\""};
if(vErrors === null){
vErrors = [err223];
}
else {
vErrors.push(err223);
}
errors++;
}
}
else {
const err224 = {instancePath:instancePath+"/ALERT_WEBHOOK_URL",schemaPath:"#/properties/ALERT_WEBHOOK_URL/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err224];
}
else {
vErrors.push(err224);
}
errors++;
}
}
if(data.ALERT_WEBHOOK_SECRET !== undefined){
let data68 = data.ALERT_WEBHOOK_SECRET;
if(typeof data68 === "string"){
if(!pattern17.test(data68)){
const err225 = {instancePath:instancePath+"/ALERT_WEBHOOK_SECRET",schemaPath:"#/properties/ALERT_WEBHOOK_SECRET/pattern",keyword:"pattern",params:{pattern: "^[\\x21-\\x7e]{1,400}$"},message:"must match pattern \""+"^[\\x21-\\x7e]{1,400}$"+"\""};
if(vErrors === null){
vErrors = [err225];
}
else {
vErrors.push(err225);
}
errors++;
}
}
else {
const err226 = {instancePath:instancePath+"/ALERT_WEBHOOK_SECRET",schemaPath:"#/properties/ALERT_WEBHOOK_SECRET/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err226];
}
else {
vErrors.push(err226);
}
errors++;
}
}
let data69 = data.ALERT_WEBHOOK_PRIVATE;
if(!((data69 === "false") || (data69 === "true"))){
const err227 = {instancePath:instancePath+"/ALERT_WEBHOOK_PRIVATE",schemaPath:"#/properties/ALERT_WEBHOOK_PRIVATE/enum",keyword:"enum",params:{allowedValues: schema11.properties.ALERT_WEBHOOK_PRIVATE.enum},message:"must be equal to one of the allowed values"};
if(vErrors === null){
vErrors = [err227];
}
else {
vErrors.push(err227);
}
errors++;
}
let data70 = data.ALERT_THRESHOLDS;
if(typeof data70 === "string"){
if(!pattern18.test(data70)){
const err228 = {instancePath:instancePath+"/ALERT_THRESHOLDS",schemaPath:"#/properties/ALERT_THRESHOLDS/pattern",keyword:"pattern",params:{pattern: "^(?:100|[1-9]\\d?)(?:\\s*,\\s*(?:100|[1-9]\\d?)){0,9}$"},message:"must match pattern \""+"^(?:100|[1-9]\\d?)(?:\\s*,\\s*(?:100|[1-9]\\d?)){0,9}$"+"\""};
if(vErrors === null){
vErrors = [err228];
}
else {
vErrors.push(err228);
}
errors++;
}
}
else {
const err229 = {instancePath:instancePath+"/ALERT_THRESHOLDS",schemaPath:"#/properties/ALERT_THRESHOLDS/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err229];
}
else {
vErrors.push(err229);
}
errors++;
}
if(data.NODE_ENV !== undefined){
let data71 = data.NODE_ENV;
if(typeof data71 === "string"){
if(func2(data71) > 64){
const err230 = {instancePath:instancePath+"/NODE_ENV",schemaPath:"#/properties/NODE_ENV/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters"};
if(vErrors === null){
vErrors = [err230];
}
else {
vErrors.push(err230);
}
errors++;
}
}
else {
const err231 = {instancePath:instancePath+"/NODE_ENV",schemaPath:"#/properties/NODE_ENV/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err231];
}
else {
vErrors.push(err231);
}
errors++;
}
}
}
else {
const err232 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err232];
}
else {
vErrors.push(err232);
}
errors++;
}
validate10.errors = vErrors;
return errors === 0;
}

