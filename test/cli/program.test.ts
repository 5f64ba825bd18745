import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import { run } from '../support/cli.ts';

describe('the command line', () => {
  it('shows all commands, the settings and the exit statuses in its help', async () => {
    const { status, stdout, stderr } = await run('--help');
    expect(stdout).to.match(/start .*demo .*init .*doctor .*run .*keys .*credits .*requests .*usage .*db .*config /s);
    expect(stdout).to.contain('Exit status: 0 done, 1 failed, 2 wrong usage, 78 wrong settings.');
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
  });

  it('lists the arguments of a command as the help of that command does', async () => {
    const [list, own] = [await run('credits --help'), await run('credits grant --help')];
    expect(list.stdout).to.match(/^ {2}grant \[key\] <amount> {2,}add credits/m);
    expect(own.stdout).to.match(/^Usage: .* credits grant \[options\] \[key\] <amount>$/m);
  });

  it('says its version', async () => {
    expect(await run('--version')).to.deep.include({ status: 0, stdout: `${packageJson.version}\n` });
  });

  for (const { line, says } of [
    { line: 'nonsense', says: /unknown command 'nonsense'/ },
    { line: 'run vim', says: /'agent'.*Allowed choices are codex, opencode, pi, copilot, cline\./ },
    { line: 'requests lst', says: /Did you mean list\?/ },
    { line: 'requests list --lmit 3', says: /unknown option '--lmit'/ },
    { line: 'requests list --limit 101', says: /--limit.* It must be a whole number from 1 to 100\./ },
    { line: 'requests list --status odd', says: /--status.*processing, succeeded, failed, cancelled/ },
    { line: 'requests show nonsense', says: /It must be the id of a request/ },
    { line: 'requests show', says: /missing required argument 'id'/ },
    { line: 'db check extra', says: /too many arguments/ },
    { line: 'keys create', says: /required option '--name <name>' not specified/ },
    { line: 'keys create --name k --rpm 0', says: /--rpm.*It must be a whole number from 1 to/ },
    { line: 'keys create --name k --credits 1e3', says: /--credits.*It must be an amount such as 10\.00/ },
    { line: 'keys create --name k --credits -1', says: /--credits.*It must be an amount/ },
    { line: 'keys create --name k --spend-per-day 1.0000001', says: /--spend-per-day.*at most six decimals/ },
    {
      line: 'keys create --name k --expires tomorrow',
      says: /--expires.*It must be a duration such as 24h or 30d, or/,
    },
    { line: 'keys create --name k --expires 2027-02-30', says: /--expires.*It must be a duration/ },
    { line: 'keys rotate k --grace 400d', says: /--grace.*up to 365 days/ },
    { line: 'credits grant k -5', says: /'amount'.*It must be an amount/ },
    { line: 'credits adjust k five', says: /'amount'.*such as 10\.00 or -2\.50/ },
    { line: 'usage --from yesterday', says: /--from.*It must be a UTC time such as/ },
    { line: 'doctor --timeout 1h', says: /--timeout.*It must be a duration.*, up to 10 minutes\./ },
    { line: 'db migrate --dry-run', says: /--dry-run goes with --to or --from/ },
    { line: 'usage --from 2026-01-02 --until 2026-01-01', says: /--from must be earlier than --until/ },
    { line: 'usage --key a --group b', says: /'--key <key>' cannot be used with option '--group <group>'/ },
    { line: 'credits grant alice', says: /missing required argument 'amount'/ },
    { line: 'credits grant 5 --key alice --group research', says: /'--key <key>' cannot be used with option '--group/ },
    { line: 'keys list --csv --jsonl', says: /'--csv' cannot be used with option '--jsonl'/ },
    { line: 'usage --per week', says: /--per.*hour, day, month/ },
  ]) {
    it(`ends with 2 and a sentence for ${line}`, async () => {
      const { status, stdout, stderr } = await run(line);
      expect(stderr).to.match(says);
      expect(stderr).not.to.match(/^ {4}at /m);
      expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
    });
  }

  it('ends with 78 and every mistake in the settings', async () => {
    const { status, stderr } = await run('requests list', { env: { PORT: 'x', LOG_LEVEL: 'y' } });
    expect(stderr).to.match(/^PORT: must .*\nLOG_LEVEL: must .*\n$/);
    expect(status).to.equal(78);
  });
});
