import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { createTokenizer, type Tokenizer, type TokenizerOptions } from '../../src/tokenizer/tokenizer.ts';

/** More than any count here takes on a machine that is busy. */
const PATIENT_MS = 50_000;
const NEVER = new AbortController().signal;
const LINES = 'const x = { a: 1 };\n'.repeat(300);
const ENDLESS = 'a'.repeat(3_000_000);

describe('the tokenizer', () => {
  let tokenizer: Tokenizer;
  let workers: Worker[];
  let deaths: string[];

  // One thread for those that need no other: it takes a second to be ready.
  before(() => {
    tokenizer = create();
  });
  after(() => tokenizer.close());

  function create(options: Partial<TokenizerOptions> = {}): Tokenizer {
    workers = [];
    deaths = [];
    return createTokenizer({
      timeLimitMs: PATIENT_MS,
      onDeath: (message) => void deaths.push(message),
      startWorker(...args) {
        const worker = new Worker(...args);
        workers.push(worker);
        return worker;
      },
      ...options,
    });
  }

  function count(text: string, signal = NEVER, by = tokenizer): Promise<number | undefined> {
    return by.count([text], { vocabulary: 'o200k_base', signal });
  }

  it('starts no thread before there is something to count', async () => {
    expect(await count('')).to.equal(0);
    expect(workers).to.have.length(0);
    expect(await count('Hello')).to.equal(1);
    expect(workers).to.have.length(1);
  });

  it('counts what is ordinary as tiktoken does', async () => {
    const counted = { 'Hello, world!': 4, [LINES]: 2700, '我们家里到处都找过了。': 10, '{"type":"object"}': 5 };
    for (const [text, tokens] of Object.entries(counted)) expect(await count(text)).to.equal(tokens);
    const together = await tokenizer.count(Object.keys(counted), { vocabulary: 'o200k_base', signal: NEVER });
    expect(together).to.equal(2719);
  });

  it('counts with the vocabulary that it is told', async () => {
    const ask = { signal: NEVER };
    expect(await tokenizer.count(['안녕하세요'], { ...ask, vocabulary: 'o200k_base' })).to.equal(2);
    expect(await tokenizer.count(['안녕하세요'], { ...ask, vocabulary: 'cl100k_base' })).to.equal(5);
  });

  it('takes special tokens for text', async () => {
    for (const text of ['<|endoftext|>', '<|endofprompt|>', '<|im_start|>system']) {
      expect(await count(text)).to.be.greaterThan(2);
    }
  });

  // Each is longer than a portion.
  const hostile: Readonly<Record<string, string>> = {
    'a letter': 'a'.repeat(5000),
    spaces: ' '.repeat(5000),
    'line ends and slashes': '/\n'.repeat(2500),
    emoji: '😀'.repeat(5000),
    'marks on one letter': `e${'\u0301'.repeat(5000)}`,
    'halves of characters': '\ud800'.repeat(5000),
    'controls such as NUL': '\0\u0007\u001b'.repeat(1700),
  };
  for (const [name, text] of Object.entries(hostile)) {
    it(`counts nothing but ${name} without standing still`, async () => {
      const order: string[] = [];
      const tokens = count(text).finally(() => order.push('long'));
      await count('Hello').finally(() => order.push('short'));
      // The long one has its turn portion by portion, so the short one that came later is not behind it.
      expect(await tokens).to.be.within(text.length / 100, text.length * 3);
      expect(order).to.deep.equal(['short', 'long']);
    });
  }

  it('leaves the event loop free', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const counted = await count('a'.repeat(30_000));
    clearInterval(timer);
    expect(counted).to.equal(3750);
    // Half a second of work or more, in which a blocked loop would have had one turn.
    expect(turns).to.be.greaterThan(8);
  });

  it('answers a hundred at once', async () => {
    // Several times, since what is over makes room for others.
    for (let round = 0; round < 3; round += 1) {
      const counts = await Promise.all(Array.from({ length: 100 }, (_, at) => count('Hello '.repeat(at + 1))));
      expect(counts).to.deep.equal(Array.from({ length: 100 }, (_, at) => at + 2));
    }
  });

  it('is done with a count as soon as nobody wants it', async () => {
    const gone = new AbortController();
    const long = count(ENDLESS, gone.signal);
    await count('Hello');
    gone.abort();
    expect(await long).to.equal(undefined);
    expect(await count('Hello', AbortSignal.abort())).to.equal(undefined);
    expect(await count('Hello')).to.equal(1);
  });

  describe('of its own', () => {
    let own: Tokenizer;

    afterEach(() => own.close());

    it('gives up at the time limit, and counts the next text', async () => {
      own = create({
        timeLimitMs: 100,
        startWorker() {
          const thread = startThread("setTimeout(() => parentPort.postMessage(['answer', id, 1]), 5)");
          workers.push(thread);
          return thread;
        },
      });
      expect(await count(ENDLESS, NEVER, own)).to.equal(undefined);
      // However slow the machine is.
      while ((await count('Hello', NEVER, own)) === undefined);
      expect(workers).to.have.length(1);
    });

    it('lets no more than 256 wait', async () => {
      own = create({ timeLimitMs: 100, startWorker: () => startThread('') });
      const waiting = Array.from({ length: 256 }, () => count('Hello', NEVER, own));
      const refused = count('Hello', NEVER, own).then(() => 'refused');
      expect(await Promise.race([refused, ...waiting])).to.equal('refused');
      expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([undefined]));
    });

    it('counts nothing with a time limit of 0', async () => {
      own = create({ timeLimitMs: 0 });
      expect(await count('Hello', NEVER, own)).to.equal(undefined);
      expect(workers).to.have.length(0);
    });

    it('outlives its thread', async () => {
      const threads: Worker[] = [];
      own = create({
        startWorker() {
          const thread = startThread(threads.length === 0 ? '' : "parentPort.postMessage(['answer', id, 1])");
          threads.push(thread);
          return thread;
        },
      });
      const lost = count('Hello', NEVER, own);
      await threads[0]?.terminate();
      expect(await lost).to.equal(undefined);
      expect(deaths).to.deep.equal(['the thread of the tokenizer ended']);
      expect(await count('Hello', NEVER, own)).to.equal(1);
      expect(threads).to.have.length(2);
    });

    it('ends what waits for it when it is closed', async () => {
      own = create({ startWorker: () => startThread('') });
      const lost = count('Hello', NEVER, own);
      await own.close();
      expect(await lost).to.equal(undefined);
      expect(deaths).to.deep.equal([]);
    });
  });
});

/** A thread that does this with all that it is asked, and has no vocabulary to read first. */
function startThread(answer: string): Worker {
  const program = `const { parentPort } = process.getBuiltinModule('node:worker_threads');
    parentPort.on('message', ([, id]) => { ${answer} });`;
  return new Worker(program, { eval: true });
}
