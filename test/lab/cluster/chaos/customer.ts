import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { AccountId } from '../../../../src/contract/ids.ts';
import type { RequestRecord } from '../../../../src/contract/types.ts';
import { callerOf, expectRecord, type Caller } from '../../../records/caller.ts';
import { administrate, type Key } from '../open-cluster.ts';
import { attempt, type Attempt } from './attempts.ts';
import type { Node } from './nodes.ts';
import { makePlan, type Plan } from './plans.ts';
import type { Random } from './random.ts';

/** What all customers were told, for the verdict at the end. */
export interface Diary {
  readonly attempts: Attempt[];
  /** Records as they were seen in their final state. */
  readonly finals: Map<string, RequestRecord>;
  /** Requests whose cancel got a 202, and how many milliseconds after that their client had its end. */
  readonly cancels: Map<string, Promise<number>>;
}

/** A key, or the group of several. */
export interface Account {
  readonly id: AccountId;
  /** Where the admin API has it. */
  readonly path: string;
  /** What was paid in all, in millionths. Known once all payments have arrived. */
  paidMicro: number;
}

export interface Customer {
  /** Sends one request after the other until this time. */
  run(untilMs: number): Promise<void>;
  /** Sees to it that every payment has arrived. */
  settle(): Promise<void>;
}

interface CustomerOptions {
  readonly name: string;
  readonly key: Key;
  /** That of the key, and that of its group if it has one. */
  readonly accounts: readonly Account[];
  readonly nodes: readonly Node[];
  readonly diary: Diary;
  readonly plans: Map<string, Plan>;
  readonly random: Random;
}

const TOP_UP_MICRO = 500;
/** Of a request whose reply never came, or said that nobody could serve it. */
const TRIES = 4;
/** How many of his requests he remembers, to send them again. */
const REMEMBERED = 40;

/** Somebody with a prepaid key, who pays for more from time to time. */
export function createCustomer({ name, key, accounts, nodes, diary, plans, random }: CustomerOptions): Customer {
  const unpaid = new Map<number, Account>();
  const earlier: Plan[] = [];
  let payments = 0;
  let requests = 0;

  const at = ({ url }: Node): Caller => callerOf(url, key.secret);

  async function send(plan: Plan, node: Node, leaving?: AbortSignal): Promise<Attempt> {
    const made = await attempt(plan, node, at(node), leaving);
    diary.attempts.push(made);
    return made;
  }

  /** Until somebody has answered, as clients and load balancers do: always with the same idempotency key. */
  async function insist(plan: Plan, leaving?: AbortSignal): Promise<Attempt> {
    for (let turn = 1; ; turn += 1) {
      const made = await send(plan, random.pick(nodes), leaving);
      const isServed = made.end.kind !== 'no reply' && !(made.end.kind === 'error' && made.end.status === 503);
      if (isServed || turn === TRIES || leaving?.aborted === true) return made;
      await delay(random.between(50, 400));
    }
  }

  async function live(plan: Plan): Promise<void> {
    switch (plan.twist) {
      case 'asked at all at once':
        await Promise.all(nodes.map((node) => send(plan, node)));
        break;
      case 'left': {
        const leaving = new AbortController();
        const timer = setTimeout(() => leaving.abort(), plan.twistMs);
        await insist(plan, leaving.signal);
        clearTimeout(timer);
        break;
      }
      case 'cancelled': {
        const over = insist(plan);
        const overAtMs = over.then(() => Date.now());
        await Promise.all([over, delay(plan.twistMs).then(() => cancel(plan, overAtMs))]);
        break;
      }
      default:
        await insist(plan);
    }
  }

  /** Finds the request by its key, as who has no reply yet must, and cancels it, each through whichever gateway. */
  async function cancel(plan: Plan, overAtMs: Promise<number>): Promise<void> {
    const isOver = overAtMs.then(() => true);
    while (!(await Promise.race([isOver, delay(random.between(20, 200), false)]))) {
      const record = await look(at(random.pick(nodes)), '/api/v1/requests', { 'idempotency-key': plan.name });
      if (record === undefined) continue;
      const node = random.pick(nodes);
      const reply = await ask(() => at(node).cancel(record.request_id));
      if (reply === undefined || reply.status === 503) continue;
      const answeredAtMs = Date.now();
      expect(reply.status, `the answer to the cancel of ${record.request_id}`).to.be.oneOf([200, 202]);
      if (reply.status === 202) {
        const tookMs = overAtMs.then((ms) => Math.max(0, ms - answeredAtMs));
        diary.cancels.set(record.request_id, tookMs);
      }
      return;
    }
  }

  async function look(caller: Caller, path: string, headers = {}): Promise<RequestRecord | undefined> {
    const reply = await ask(() => caller.get(path, headers));
    if (reply?.status !== 200) return undefined;
    expectRecord(reply.body);
    if (reply.body.status !== 'processing') noteFinal(reply.body);
    return reply.body;
  }

  function noteFinal(record: RequestRecord): void {
    const known = diary.finals.get(record.request_id);
    expect(record, 'a final record, seen again').to.deep.equal(known ?? record);
    diary.finals.set(record.request_id, record);
  }

  async function pay(time: number, { path }: Account): Promise<void> {
    const entry = { amount: (TOP_UP_MICRO / 1e6).toFixed(6), note: '', reference: `payment ${time} of ${name}` };
    const { url } = random.pick(nodes);
    const reply = await ask(() => administrate(`${url}/admin/v1/${path}/credits`, entry));
    // With the same reference it is not added twice.
    if (reply?.status === 200 || reply?.status === 201 || reply?.status === 409) unpaid.delete(time);
  }

  return {
    async run(untilMs) {
      while (Date.now() < untilMs) {
        const repeated = earlier.length > 0 && random.happens(0.2) ? random.pick(earlier) : undefined;
        const plan = repeated ?? makePlan(`${name} r${(requests += 1)}`, random);
        plans.set(plan.name, plan);
        if (repeated === undefined) await live(plan);
        else await insist(plan);
        earlier.splice(REMEMBERED - 1);
        earlier.unshift(plan);
        const last = diary.attempts.findLast((made) => made.plan === plan)?.requestId;
        if (last !== undefined) await look(at(random.pick(nodes)), `/api/v1/requests/${last}`);
        if (random.happens(0.1)) {
          const account = random.pick(accounts);
          account.paidMicro += TOP_UP_MICRO;
          unpaid.set((payments += 1), account);
        }
        for (const [time, account] of unpaid) await pay(time, account);
        await delay(random.between(0, 300));
      }
    },
    async settle() {
      for (let turn = 0; unpaid.size > 0; turn += 1) {
        expect(turn, 'tries to pay').to.be.below(100);
        for (const [time, account] of unpaid) await pay(time, account);
      }
    },
  };
}

/** Longer than the store may take to say that it cannot be reached. */
const ANSWER_WITHIN_MS = 10_000;

/** Undefined when there was no answer: who asks does so again, elsewhere. */
async function ask(send: () => Promise<Response>): Promise<{ status: number; body: unknown } | undefined> {
  const answer = send().then(
    async (reply): Promise<{ status: number; body: unknown }> => ({ status: reply.status, body: await reply.json() }),
    () => undefined,
  );
  return Promise.race([answer.catch(() => undefined), delay(ANSWER_WITHIN_MS, undefined, { ref: false })]);
}
