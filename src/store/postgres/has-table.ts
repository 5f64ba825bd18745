import type { Client } from 'pg';

export async function hasTable(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ name: string | null }>('SELECT to_regclass($1) AS name', [name]);
  return typeof rows[0]?.name === 'string';
}
