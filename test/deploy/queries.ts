/** The queries of the dashboard and the rules in src/deploy. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../docs/documents.ts';

const DEPLOY = join(ROOT, 'src/deploy');

export interface Query {
  readonly title: string;
  readonly query: string;
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

/** As Grafana sends them, with all jobs and rates of a minute. */
export function readDashboard(): readonly Query[] {
  const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'dashboard.json'), 'utf8')) as Dashboard;
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      query: expr.replaceAll('$job', '.+').replaceAll('$__rate_interval', '1m'),
    })),
  );
}

export interface Rule extends Query {
  readonly severity: string;
  /** What is compared with the limit. */
  readonly value: string;
  /** Where to read what to do. */
  readonly runbook: string;
}

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly runbook_url: string };
    }[];
  }[];
}

export function readRules(): readonly Rule[] {
  const { groups } = parse(readFileSync(join(DEPLOY, 'alerts.yml'), 'utf8')) as RuleFile;
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, labels: { severity }, annotations }) => ({
      title: alert,
      query: expr,
      severity,
      runbook: annotations.runbook_url,
      value: expr.trim().replace(/ (?:>|==) [\d.]+$/, ''),
    })),
  );
}
