/** The files in src/deploy, as the tests look into them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../docs/documents.ts';

export const DEPLOY = join(ROOT, 'src/deploy');
export const MANIFESTS = ['kubernetes.yaml', 'autoscaler.yaml'] as const;

/** An object of Kubernetes. What its kind says of the rest is checked by deploy.system.ts. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec: any;
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
}

export interface Service {
  readonly image: string;
  readonly env_file?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly privileged?: boolean;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
}

export function readDeployed(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8');
}

export function readYaml(name: string): unknown {
  return parse(readDeployed(name), { merge: true });
}

export function readManifests(name: string): readonly Manifest[] {
  const documents = parseAllDocuments(readDeployed(name));
  const [mistake] = documents.flatMap(({ errors }) => errors);
  if (mistake !== undefined) throw mistake;
  return documents.map((document) => document.toJS() as Manifest);
}
