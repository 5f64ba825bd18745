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

  for (const line of [
    'start',
    'demo',
    'init',
    'doctor',
    'run',
    'keys create',
    'keys list',
    'keys show',
    'keys update',
    'keys rotate',
    'keys disable',
    'keys enable',
    'keys delete',
    'keys secret accept',
    'groups create',
    'groups list',
    'groups show',
    'groups update',
    'groups disable',
    'groups enable',
    'groups delete',
    'credits grant',
    'credits adjust',
    'credits list',
    'credits check',
    'usage',
    'requests list',
    'requests show',
    'requests cancel',
    'requests watch',
    'db check',
    'db migrate',
    'db backup',
    'config print',
  ]) {
    it(`shows an example and the options that hold everywhere in the help of ${line}`, async () => {
      const { status, stdout } = await run(`${line} --help`);
      expect(stdout).to.match(new RegExp(`Examples:\n {2}npm run -s cli -- ${line}`));
      expect(stdout).to.contain('--json');
      expect(status).to.equal(0);
    });
  }

  it('says its version', async () => {
    expect(await run('--version')).to.deep.include({ status: 0, stdout: `${packageJson.version}\n` });
  });

  for (const { line, says } of [
    { line: 'nonsense', says: /unknown command 'nonsense'/ },
    { line: 'run vim', says: /'agent'.*Allowed choices are codex, opencode, pi\./ },
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
