import type { Client } from 'pg';
import type { MarkChange, Marking } from '../marking.ts';
import { POSTGRES } from '../sql/dialect.ts';
import * as steps from '../sql/secret-mark.ts';
import { explainFailure, withClient } from './client.ts';
import { migrate } from './migrate.ts';
import { toConnection } from './pool.ts';
import { runToEnd } from './steps.ts';

export function readMarking(url: string): Promise<Marking> {
  return use(url, (client) => runToEnd(toConnection(client), steps.readMarking(POSTGRES)));
}

export function changeMark(url: string, change: MarkChange): Promise<string | undefined> {
  return use(url, async (client) => {
    await migrate(url);
    await client.query('BEGIN');
    const mark = await runToEnd(toConnection(client), steps.changeMark(change));
    await client.query('COMMIT');
    return mark;
  });
}

function use<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  return explainFailure({ url, problem: 'cannot be used' }, () => withClient(url, work));
}
