import { accessSync, constants, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { DIALECTS } from '../../src/core/dialects.ts';
import { ROOT } from './documents.ts';

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly 'timeout-minutes'?: number;
        readonly steps: readonly { readonly run?: string; readonly uses?: string }[];
      }
    >
  >;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes: { readonly label?: string; readonly value?: string; readonly options?: readonly string[] };
    readonly validations?: { readonly required: boolean };
  }[];
}

const WORKFLOWS = globSync('.github/workflows/*', { cwd: ROOT });
const FORMS = globSync('.github/ISSUE_TEMPLATE/*', { cwd: ROOT }).filter((path) => basename(path) !== 'config.yml');

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function commandsOf(path: string): readonly string[] {
  const { jobs } = parse(read(path)) as Workflow;
  return Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run?.trim().split('\n') ?? []));
}

for (const path of WORKFLOWS) {
  describe(path, () => {
    it('runs nothing but npm ci, scripts of package.json and programs that are here', () => {
      const strange = commandsOf(path).filter((command) => !isHere(command));
      expect(strange).to.deep.equal([]);
    });

    it('reads the repository and nothing else, for a limited time', () => {
      const { permissions, jobs } = parse(read(path)) as Workflow;
      expect(permissions).to.deep.equal({ contents: 'read' });
      for (const job of Object.values(jobs)) {
        expect(job['timeout-minutes']).to.be.greaterThan(0);
        const uses = job.steps.flatMap(({ uses }) => uses ?? []);
        expect(uses.filter((name) => !/^actions\/[\w-]+@v\d+$/.test(name))).to.deep.equal([]);
      }
    });
  });
}

describe('the workflows together', () => {
  it('have lint, types and tests for a change, and all checks in the night', () => {
    expect(commandsOf('.github/workflows/check.yml')).to.include.members([
      'npm run lint',
      'npm run typecheck',
      'npm test',
    ]);
    expect(commandsOf('.github/workflows/nightly.yml')).to.deep.equal(['.ci/run']);
  });
});

for (const path of FORMS) {
  describe(path, () => {
    const { name, description, body } = parse(read(path)) as Form;

    it('has what a form of issues needs', () => {
      expect([name, description]).to.satisfy((texts: readonly unknown[]) => texts.every(isText));
      for (const { type, id, attributes } of body) {
        expect(type).to.be.oneOf(['markdown', 'input', 'textarea', 'dropdown', 'checkboxes']);
        expect(type === 'markdown' ? attributes.value : attributes.label).to.satisfy(isText);
        expect(id === undefined).to.equal(type === 'markdown');
      }
      const ids = body.flatMap(({ id }) => id ?? []);
      expect(new Set(ids).size).to.equal(ids.length);
    });
  });
}

describe('the form for what goes wrong', () => {
  const { body } = parse(read('.github/ISSUE_TEMPLATE/bug.yml')) as Form;

  it('asks for the version, the kind of backend, and what doctor says', () => {
    const required = body.filter(({ validations }) => validations?.required === true).map(({ id }) => id);
    expect(required).to.include.members(['version', 'dialect', 'doctor']);
  });

  it('lists every kind of backend', () => {
    const options = body.find(({ id }) => id === 'dialect')?.attributes.options;
    expect(options?.slice(0, -1)).to.have.members(Object.keys(DIALECTS));
  });
});

describe('CODEOWNERS', () => {
  it('has an owner for every file', () => {
    expect(read('.github/CODEOWNERS')).to.match(/^\* @[\w-]+\/[\w-]+$/m);
  });
});

function isHere(command: string): boolean {
  if (command === 'npm ci') return true;
  const [, script] = /^npm (?:run )?([\w:]+)$/.exec(command) ?? [];
  if (script !== undefined) return script in packageJson.scripts;
  try {
    accessSync(join(ROOT, command), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
